"""EgoLife's ``Sync`` files: hourly JSON lists of units that hold lines (spec 2.2)."""

from __future__ import annotations

from typing import Any

from geb_assets.errors import GebError
from geb_assets.writing.lines.daytime import at_day, day_in, past_midnight, time_of_day
from geb_assets.writing.lines.imported import LineRows, text_of


def is_sync(items: list[Any]) -> bool:
    """Whether a JSON list is of the form ``[{video_file, data: [...]}]``."""
    return isinstance(items[0], dict) and {"video_file", "data"} <= items[0].keys()


def sync_lines(name: str, items: list[Any]) -> LineRows:
    """The lines of one ``Sync`` file; the day comes from each unit's ``video_file``, else ``name``.

    Raises GebError naming file, unit and line for what is no unit, no time or of no kind.
    """
    rows = LineRows(name)
    for number, unit in enumerate(items, 1):
        where = f"{name} unit {number}"
        if not isinstance(unit, dict) or not isinstance(unit.get("data"), list):
            raise GebError(f"{where} has no list 'data'; give [{{video_file, data: [...]}}]")
        day = day_in(str(unit.get("video_file", ""))) or day_in(name)
        if day is None:
            raise GebError(f"{where}: neither video_file nor the file's name carries a DAYn")
        for place, line in enumerate(unit["data"], 1):
            here = f"{where} line {place}"
            if not isinstance(line, dict) or not all(
                isinstance(line.get(key), int) for key in ("start", "end")
            ):
                raise GebError(f"{here} has no start and end; give both as HHMMSS integers")
            kind = line.get("type")
            if kind not in ("caption", "transcript"):
                raise GebError(f"{here}: type {kind!r} is neither 'caption' nor 'transcript'")
            start = at_day(day, time_of_day(line["start"], here))
            end = past_midnight(start, at_day(day, time_of_day(line["end"], here)))
            rows.add(start, end, kind, text_of(line.get("text"), here))
    return rows
