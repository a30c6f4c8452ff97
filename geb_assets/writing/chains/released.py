"""MAGIC's released chains: topic files and step files of one recording (spec 3.1, 3.2)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from geb_assets.clock import DAY_S, Clock
from geb_assets.errors import GebError

Row = dict[str, Any]


def read_chains(path: Path, clock: Clock) -> list[Row]:
    """Rows (kind, label, text, start_s, end_s, visible_from) of one released file.

    A topic file holds ``{label: {facts: [{time, fact}]}}``, an event file chains with steps. A
    fact's time names a minute: it is visible from the minute's end. Raises GebError for any other
    file.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        rows = list(_topics(content, clock) if _is_topics(content) else _events(content, clock))
    except OSError as error:
        raise GebError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise GebError(f"{path} is no file of topic or event chains ({error})") from None
    return rows


def _is_topics(content: Any) -> bool:
    return isinstance(content, dict) and all(
        isinstance(one, dict) and "facts" in one for one in content.values()
    )


def _topics(content: Mapping[str, Any], clock: Clock) -> Iterator[Row]:
    for label, chain in content.items():
        for one in chain["facts"]:
            start = clock.seconds(_whole(str(one["time"])))
            yield _row("topic", str(chain.get("entity", label)), one["fact"], start, start + 60.0)


def _events(content: Any, clock: Clock) -> Iterator[Row]:
    for chain in content["chains"] if isinstance(content, dict) else content:
        for step in chain["steps"]:
            start, end = (
                clock.seconds(_whole(f"{step.get('day', '')} {step[name]}".strip()))
                for name in ("start_time", "end_time")
            )
            if end < start - DAY_S / 2:
                end += DAY_S  # a step tells the day on which it starts
            yield _row("event", chain["name"], step["description"], start, max(start, end))


def _whole(time: str) -> str:
    """A time of hours and minutes with its seconds."""
    return f"{time}:00" if time.count(":") == 1 else time


def _row(kind: str, label: str, text: str, start_s: float, end_s: float) -> Row:
    return {
        "kind": kind, "label": label, "text": " ".join(text.split()), "start_s": start_s,
        "end_s": end_s, "visible_from": end_s,
    }  # fmt: skip
