"""The one front door: any file of lines or captions, recognised by what is in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from geb_assets.clock import Clock
from geb_assets.errors import GebError
from geb_assets.writing.lines.daytime import start_in
from geb_assets.writing.lines.documents import Document, documents
from geb_assets.writing.lines.imported import (
    EPISODES,
    LINES,
    Imported,
    LineKind,
    LineRows,
    notes_of,
)
from geb_assets.writing.lines.plain import csv_lines, plain_json_lines
from geb_assets.writing.lines.released import is_released, released_episodes
from geb_assets.writing.lines.srt import ARROW, srt_lines
from geb_assets.writing.lines.sync import is_sync, sync_lines


def read_lines(
    path: Path | str, *, kind: LineKind, clock: Clock, start_s: float | None = None
) -> Imported:
    """Read a file, a folder, or a tar archive of lines or released captions.

    Knows EgoLife ``Sync`` JSON, released caption JSON, SRT, and plain CSV or JSON of start, end,
    text, in any mixture. ``kind`` is that of lines whose file does not say; ``start_s`` is the
    recording's start, from which cue times and plain seconds count.
    Raises GebError naming the file, the place in it and the mend.
    """
    path = Path(path)
    dropped: Counter[str] = Counter()
    lines: list[pl.DataFrame] = []
    episodes: list[pl.DataFrame] = []
    origin = start_s if start_s is not None or clock.kind == "egolife" else 0.0
    unnamed: list[str] = []
    for document in documents(path, dropped):
        items = _json(document)
        if items is not None and is_released(items):
            episodes.append(released_episodes(document.name, items, clock, dropped))
            continue
        if items is None and ARROW in document.text and start_in(document.name) is None:
            unnamed.append(document.name)
            if len(unnamed) > 1:
                raise GebError(
                    f"{path}: {unnamed[0]} and {unnamed[1]} would both start at the recording's "
                    "start; name each like NAME_DAY1_11000000.srt"
                )
        rows = _rows(document, items, kind, clock, origin)
        dropped.update(rows.dropped)
        lines.append(rows.frame())
    if not lines and not episodes:
        raise GebError(f"{path} holds no .json, .srt or .csv file; give one with lines in it")
    if not any(frame.height for frame in (*lines, *episodes)):
        raise GebError(f"{path} holds no lines; give a file with lines in it")
    return Imported(in_time_order(lines), _episodes(episodes), notes_of(dropped))


def in_time_order(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Frames of lines as one, LINES, ordered by every column, so that equal rows lie together."""
    order = ["start_s", "end_s", "kind", "speaker", "text", "source"]
    return pl.concat([pl.DataFrame(schema=LINES), *frames]).sort(order, maintain_order=True)


def _episodes(frames: list[pl.DataFrame]) -> pl.DataFrame:
    together = pl.concat([pl.DataFrame(schema=EPISODES), *frames])
    return together.unique().sort("start_s", "end_s", "scale", "text")


def _rows(
    document: Document,
    items: list[Any] | None,
    kind: LineKind,
    clock: Clock,
    start_s: float | None,
) -> LineRows:
    name = document.name
    if items is None:
        if ARROW in document.text:
            return srt_lines(name, document.text, kind, start_s)
        return csv_lines(name, document.text, kind, clock, start_s)
    if is_sync(items):
        return sync_lines(name, items)
    return plain_json_lines(name, items, kind, clock, start_s)


def _json(document: Document) -> list[Any] | None:
    """The items of a JSON document, or None where the document is no JSON."""
    if not document.text.lstrip().startswith(("[", "{")):
        return None
    try:
        content = json.loads(document.text)
    except ValueError as error:
        place = f" line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise GebError(f"{document.name}{place} is no valid JSON ({error}); mend it") from None
    if not isinstance(content, list):
        raise GebError(
            f"{document.name} is no list of lines with times; "
            "give a JSON list of {start, end, text}"
        )
    if not content:
        raise GebError(f"{document.name} is empty; give a file with lines in it")
    return content
