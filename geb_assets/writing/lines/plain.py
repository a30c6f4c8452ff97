"""Plain lines: a CSV table or a JSON list of start, end, text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from geb_assets.clock import Clock, day_of
from geb_assets.errors import GebError
from geb_assets.writing.lines.daytime import day_in, past_midnight
from geb_assets.writing.lines.imported import LineKind, LineRows, text_of

_NEEDED = ("start", "end", "text")
_NAMES = {"start_s": "start", "end_s": "end"}
_KINDS = {"caption": "caption", "narration": "caption", "transcript": "transcript"}
_KINDS |= {"dialogue": "transcript"}


def plain_json_lines(
    name: str, items: list[Any], kind: LineKind, clock: Clock, start_s: float | None
) -> LineRows:
    """Lines of a JSON list of objects with start, end, text and optional day, kind, speaker.

    A number is seconds since ``start_s``; a text is a time of the recording clock, on the row's
    ``day``, else the file name's, else that of ``start_s``. Raises GebError naming file and item.
    """
    rows = LineRows(name)
    for number, item in enumerate(items, 1):
        where = f"{name} item {number}"
        if not isinstance(item, dict):
            raise GebError(f"{where} is no object; give {{start, end, text}}")
        values = {_NAMES.get(str(key), str(key)): value for key, value in item.items()}
        _add(rows, values, kind, clock, start_s, where)
    return rows


def csv_lines(
    name: str, text: str, kind: LineKind, clock: Clock, start_s: float | None
) -> LineRows:
    """Lines of a table whose first row names start, end, text and optionally day, kind, speaker.

    Columns are parted by comma, semicolon or tab. Times as in :func:`plain_json_lines`.
    Raises GebError naming file and line number.
    """
    rows = LineRows(name)
    for where, values in _records(name, text):
        _add(rows, values, kind, clock, start_s, where)
    return rows


def _records(name: str, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    first = text.lstrip().splitlines()[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header: list[str] = []
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            where = f"{name} line {reader.line_num}"
            if not header:
                header = [_NAMES.get(key, key) for cell in cells if (key := cell.strip().lower())]
                missing = [column for column in _NEEDED if column not in header]
                if missing:
                    raise GebError(
                        f"{where}: no column {', '.join(missing)}; the first row has to name "
                        "start, end, text, and each line needs its times"
                    )
            elif len(cells) != len(header):
                raise GebError(
                    f"{where} has {len(cells)} columns where the first row has {len(header)}; "
                    "quote a text that holds the separator"
                )
            else:
                yield where, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise GebError(f"{name} line {reader.line_num}: {error}") from None


def _add(
    rows: LineRows,
    values: dict[str, Any],
    kind: LineKind,
    clock: Clock,
    start_s: float | None,
    where: str,
) -> None:
    named = str(values.get("kind") or kind).strip().lower()
    if named not in _KINDS:
        raise GebError(f"{where}: kind '{named}' is neither 'caption' nor 'transcript'")
    day = _day(values.get("day", values.get("date")), where) or day_in(rows.source)
    if day is None and start_s is not None:
        day = day_of(start_s)
    start, end = (_time(values.get(key), key, clock, day, start_s, where) for key in _NEEDED[:2])
    speaker = str(values.get("speaker") or "").strip()
    rows.add(
        start,
        past_midnight(start, end),
        _KINDS[named],
        text_of(values.get("text"), where),
        speaker=speaker or None,
    )


def _day(value: object, where: str) -> int | None:
    if value is None or value == "":
        return None
    text = str(value).strip()
    day = int(text) if text.isdecimal() else day_in(text)
    if not day:
        raise GebError(f"{where}: day '{text}' is no day; write 1 or DAY1")
    return day


def _time(
    value: object,
    key: str,
    clock: Clock,
    day: int | None,
    start_s: float | None,
    where: str,
) -> float:
    if value is None or isinstance(value, bool) or (isinstance(value, str) and not value.strip()):
        raise GebError(f"{where} has no {key}; give each line its start and end")
    try:
        seconds = float(str(value))
    except ValueError:
        try:
            return clock.seconds(str(value), default_day=day)
        except GebError as error:
            raise GebError(f"{where}: {error}") from None
    if start_s is None and clock.kind == "egolife":
        raise GebError(f"{where}: {value} counts from the start; give the recording's start")
    if not 0 <= seconds < float("inf"):
        raise GebError(f"{where}: {key} {value} is no time; give seconds from 0 on")
    return (start_s or 0.0) + seconds
