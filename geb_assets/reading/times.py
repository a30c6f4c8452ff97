"""Times as people say them, relative to the moment of the question: "about four hours ago"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from geb_assets.clock import DAY_S, Clock
from geb_assets.errors import GebError

HOUR_S = 3600.0

_UNITS = {"second": 1.0, "minute": 60.0, "hour": HOUR_S, "day": DAY_S, "week": 7 * DAY_S}
_NUMBERS = {
    word: float(value)
    for value, words in enumerate(
        ("zero", "a an one", "two couple", "three", "four", "five", "six", "seven", "eight", "nine",
         "ten", "eleven", "twelve")
    )
    for word in words.split()
} | {"few": 3.0, "several": 4.0, "half": 0.5, "fifteen": 15.0, "twenty": 20.0, "thirty": 30.0,
     "forty": 40.0, "fifty": 50.0}  # fmt: skip

_PARTS: dict[str, tuple[float, float]] = {
    "early morning": (4, 9),
    "morning": (5, 11.5),
    "noon": (11, 14),
    "midday": (11, 14),
    "afternoon": (12.5, 18),
    "evening": (17, 21.5),
    "midnight": (23, 26),
    "night": (18, 27),
}
"""Hours of the day; the night ends at three."""

_NUMBER = "|".join([r"\d+(?:\.\d+)?", *sorted(_NUMBERS, key=len, reverse=True)])
_LENGTH = re.compile(
    rf"(?P<n>{_NUMBER})\s*(?:of\s+)?(?:(?:and\s+)?(?P<half>(?:a\s+)?half)\s+)?(?:an?\s+)?"
    rf"(?P<unit>{'|'.join(_UNITS)}|min)s?\b(?P<later>\s+and\s+a\s+half)?",
    re.IGNORECASE,
)
_PART = re.compile("|".join(sorted(_PARTS, key=len, reverse=True)), re.IGNORECASE)
_PLAIN_LENGTH = re.sub(r"\?P<\w+>", "?:", _LENGTH.pattern)
_AT_PART = rf"(?:\s+(?:at\s+|in\s+the\s+)?(?:{_PART.pattern}))"
_SPOKEN = re.compile(
    rf"\b(?:(?:{_PLAIN_LENGTH})(?:\s+(?:and\s+)?(?:{_PLAIN_LENGTH}))*\s+ago"
    rf"|(?:day|{_PART.pattern})\s+before\s+yesterday{_AT_PART}?"
    rf"|yesterday{_AT_PART}?|last\s+(?:night|evening)|the\s+other\s+day|just\s+now|tonight"
    rf"|this\s+(?:{_PART.pattern})|today{_AT_PART}?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class When:
    """A stretch of time that words name, s on the recording clock, and how sharply."""

    start_s: float
    end_s: float

    def fits(self, time_s: float) -> float:
        """1 inside, falling with the distance in lengths of the stretch outside."""
        off = max(self.start_s - time_s, time_s - self.end_s, 0.0)
        return 1.0 / (1.0 + (2.0 * off / max(self.end_s - self.start_s, 60.0)) ** 2)


def named_times(text: str, *, clock: Clock, at: float) -> list[When]:
    """Every time that a text names relative to the moment ``at``, in the order named."""
    found = (parse_when(spoken.group(), clock=clock, at=at) for spoken in _SPOKEN.finditer(text))
    return [when for when in found if when is not None]


def parse_when(text: str, *, clock: Clock, at: float) -> When | None:
    """The stretch that a text names as seen ``at`` a time; None where it names none.

    Reads lengths ("an hour and a half ago", "2 days 3 hours ago"), days and their parts ("the
    afternoon before yesterday", "last night", "this morning") and clock times of the recording.
    Parts of a day need a clock with days.
    """
    words = " ".join(text.lower().replace("-", " ").split()).rstrip(".?!")
    ago = _ago(words)
    if ago is not None:
        return When(at - ago * 1.3, at - ago * 0.75)
    if re.search(r"\bjust now\b", words):
        return When(at - 600, at)
    if clock.kind == "egolife":
        named = _day_part(words, at)
        if named is not None:
            return named
    try:
        time = clock.seconds(text.strip().rstrip("."))
    except GebError:
        return None
    return When(time - 300, time + 300)


def _ago(words: str) -> float | None:
    if not re.search(r"\b(?:ago|earlier|before)\b", words):
        return None
    total = 0.0
    for found in _LENGTH.finditer(words):
        number = _NUMBERS.get(found["n"].lower())
        count = float(found["n"]) if number is None else number
        if found["half"] or found["later"]:
            count += 0.5
        unit = "minute" if found["unit"].lower() == "min" else found["unit"].lower()
        total += count * _UNITS[unit]
    return total or None


def _day_part(words: str, at: float) -> When | None:
    today = (at // DAY_S) * DAY_S
    part = _PART.search(words)
    if "before yesterday" in words or re.search(r"\bother day\b", words):
        back = 2
    elif "yesterday" in words or re.search(r"\blast (?:night|evening)\b", words):
        back = 1
    elif re.search(r"\b(?:today|this|tonight|earlier)\b", words) or (
        part and part.group() == words
    ):
        back = 0
    else:
        return None
    hours = _PARTS[part.group()] if part else (0.0, 24.0)
    if "tonight" in words:
        hours = _PARTS["night"]
    start = today - back * DAY_S + hours[0] * HOUR_S
    return When(start, min(today - back * DAY_S + hours[1] * HOUR_S, max(at, start)))
