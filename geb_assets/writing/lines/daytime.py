"""EgoLife's ways to write a time in files: DAYn in names, HHMMSS and HHMMSSFF (spec 2.1)."""

from __future__ import annotations

import re

from geb_assets.clock import DAY_S
from geb_assets.errors import GebError

_DAY = re.compile(r"DAY\s*(\d{1,3})(?!\d)", re.IGNORECASE)
_DAY_HOUR = re.compile(r"DAY(\d{1,3})[_-](\d{6})(?:\d{2})?(?!\d)", re.IGNORECASE)


def day_in(name: str) -> int | None:
    """The day that a name carries (``DAY1_A1_JAKE_...``), from 1, or None."""
    found = _DAY.search(name)
    return int(found[1]) if found and int(found[1]) > 0 else None


def start_in(name: str) -> float | None:
    """Seconds on the recording clock of a name like ``A1_JAKE_DAY1_11000000.srt``, or None."""
    found = _DAY_HOUR.search(name)
    if found is None or int(found[1]) == 0:
        return None
    return at_day(int(found[1]), time_of_day(int(found[2]), name))


def time_of_day(hhmmss: int, where: str) -> float:
    """Seconds since midnight of HHMMSS as one integer; GebError where it is no time of day."""
    hours, rest = divmod(hhmmss, 10_000)
    minutes, seconds = divmod(rest, 100)
    if not (0 <= hours <= 24 and minutes < 60 and seconds < 60):
        raise GebError(f"{where}: {hhmmss} is no time HHMMSS; write 132038 for 13:20:38")
    return hours * 3600.0 + minutes * 60.0 + seconds


def at_day(day: int, seconds: float) -> float:
    """Seconds on the recording clock of a time of day."""
    return (day - 1) * DAY_S + seconds


def past_midnight(start_s: float, end_s: float) -> float:
    """The end of a line, moved to the next day where its clock passed midnight."""
    return end_s + DAY_S if start_s - end_s > DAY_S / 2 else end_s
