"""Released caption files: JSON lists of captions at the scale their name says (spec 2.2, 2.3)."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import polars as pl

from geb_assets.clock import Clock
from geb_assets.errors import GebError
from geb_assets.writing.episodes.scales import SCALES
from geb_assets.writing.lines.daytime import at_day, day_in, past_midnight, time_of_day
from geb_assets.writing.lines.imported import EPISODES, FAILED_CAPTION, text_of

_SCALE = re.compile(rf"(?<![a-z0-9])({'|'.join(SCALES)})(?![a-z0-9])", re.IGNORECASE)
_HHMMSSFF = re.compile(r"\d{8}")


def is_released(items: list[Any]) -> bool:
    """Whether a JSON list is of the form ``[{start_time, end_time, text, ...}]``."""
    return isinstance(items[0], dict) and {"start_time", "end_time"} <= items[0].keys()


def released_episodes(
    name: str, items: list[Any], clock: Clock, dropped: Counter[str]
) -> pl.DataFrame:
    """The captions of one released file as EPISODES; failed ones are counted and left out.

    A time of eight digits is HHMMSSFF on the day of ``date``, FF counted as hundredths; a number
    is seconds on a ``seconds`` clock. Raises GebError naming file and caption for what is neither.
    """
    found = _SCALE.search(name)
    if found is None:
        raise GebError(
            f"{name} holds released captions but its name says no scale; "
            "end the name with 30sec, 3min, 10min or 1h"
        )
    scale = found[1].lower()
    starts, ends, texts = [], [], []
    for number, item in enumerate(items, 1):
        where = f"{name} caption {number}"
        if not isinstance(item, dict):
            raise GebError(f"{where} is no object; give {{start_time, end_time, text, date}}")
        text = " ".join(text_of(item.get("text"), where).split())
        if text == FAILED_CAPTION or not text:
            dropped["failed" if text else "empty"] += 1
            continue
        day = day_in(str(item.get("date", ""))) or day_in(name)
        start = _time(item.get("start_time"), day, clock, where)
        end = past_midnight(start, _time(item.get("end_time"), day, clock, where))
        if end < start:
            raise GebError(f"{where} ends before it starts; mend its start_time or end_time")
        starts.append(start)
        ends.append(end)
        texts.append(text)
    columns = {
        "scale": [scale] * len(texts),
        "start_s": starts,
        "end_s": ends,
        "text": texts,
    }
    return pl.DataFrame(columns, schema=EPISODES)


def _time(value: object, day: int | None, clock: Clock, where: str) -> float:
    if isinstance(value, str) and _HHMMSSFF.fullmatch(value) and clock.kind == "egolife":
        if day is None:
            raise GebError(f"{where} has no date; give it a date like DAY1")
        return at_day(day, time_of_day(int(value[:6]), where) + int(value[6:]) / 100)
    if clock.kind == "seconds" and isinstance(value, int | float | str):
        try:
            return float(value)
        except ValueError:
            pass
    expected = "HHMMSSFF" if clock.kind == "egolife" else "seconds"
    raise GebError(f"{where}: time {value!r} is not written as {expected}")
