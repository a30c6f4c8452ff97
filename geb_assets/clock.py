"""Recording clocks: text times in, one internal unit out (seconds on the recording clock)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast, get_args

from geb_assets.errors import GebError

DAY_S = 86_400.0

ClockKind = Literal["egolife", "seconds"]

_CLOCK_TIME = re.compile(
    r"""(?:DAY\s*(?P<day>\d{1,3})[\s,T_-]*)?          # DAY1, Day 2
        (?P<h>\d{1,3}):(?P<m>\d{2})(?::(?P<s>\d{2})(?P<frac>[.,]\d+)?)?""",
    re.IGNORECASE | re.VERBOSE,
)
_PLAIN_SECONDS = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Clock:
    """How one recording writes its times.

    ``egolife`` shows ``DAYn HH:MM:SS``; ``seconds`` shows ``HH:MM:SS`` from the recording's start.
    Either way a time is held as float64 seconds: ``(n - 1) * 86400 + seconds`` (spec 2.1).
    """

    kind: ClockKind

    @classmethod
    def parse(cls, kind: str) -> Clock:
        """The clock of that kind; raises GebError for a kind that does not exist."""
        if kind not in get_args(ClockKind):
            raise GebError(
                f"clock '{kind}' does not exist; use one of {', '.join(get_args(ClockKind))}"
            )
        return cls(cast(ClockKind, kind))

    def seconds(self, text: str, *, default_day: int | None = None) -> float:
        """Seconds on the recording clock of a written time.

        Reads ``DAY1 13:20:38``, ``13:20:38.5``, ``00:41`` as HH:MM, and a plain number of seconds
        (``seconds`` clock only). An ``egolife`` time without a day takes ``default_day``.
        Raises GebError where the text is no time, or has no day and needs one.
        """
        stripped = text.strip()
        if self.kind == "seconds" and _PLAIN_SECONDS.fullmatch(stripped):
            return float(stripped)
        found = _CLOCK_TIME.fullmatch(stripped)
        example = "DAY1 13:20:38" if self.kind == "egolife" else "00:12:30"
        if found is None:
            raise GebError(f"'{text}' is no time of this recording; write it like '{example}'")
        hours, minutes, secs = (int(found[part] or 0) for part in ("h", "m", "s"))
        day = int(found["day"]) if found["day"] else default_day
        if minutes > 59 or secs > 59 or (self.kind == "egolife" and hours > 23) or day == 0:
            raise GebError(f"'{text}' is no time of day; write it like '{example}'")
        if self.kind == "egolife" and day is None:
            raise GebError(f"'{text}' names no day; write it like '{example}'")
        fraction = float("0" + found["frac"].replace(",", ".")) if found["frac"] else 0.0
        return ((day or 1) - 1) * DAY_S + hours * 3600 + minutes * 60 + secs + fraction

    def show(self, seconds: float) -> str:
        """The time as this recording writes it, cut to whole seconds."""
        day, rest = divmod(int(seconds), int(DAY_S))
        if self.kind == "seconds":
            day, rest = 0, int(seconds)
        text = f"{rest // 3600:02d}:{rest % 3600 // 60:02d}:{rest % 60:02d}"
        return f"DAY{day + 1} {text}" if self.kind == "egolife" else text


def day_of(seconds: float) -> int:
    """The day a time lies in, counted from 1."""
    return int(seconds // DAY_S) + 1


def stamp(seconds: float) -> str:
    """``d001-13:20:38.00``: a time as ids carry it, so that ids sort in time order."""
    centis = round(seconds * 100)
    day, rest = divmod(centis, int(DAY_S) * 100)
    secs, hundredths = divmod(rest, 100)
    minutes, seconds_ = divmod(secs, 60)
    hours, minutes = divmod(minutes, 60)
    return f"d{day + 1:03d}-{hours:02d}:{minutes:02d}:{seconds_:02d}.{hundredths:02d}"
