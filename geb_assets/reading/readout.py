"""Search by time: a query that names a time with its day reads that time out (spec 9.31).

Grammar, over tokens; anything else between two tokens breaks a form::

    moment  = [day ["at" | ","]] time  |  time ["on" | "of" | "in"] day
    range   = moment joiner moment            DAY1 12:30 - 12:41, between 12:30 and 12:41 on DAY1
            | lower moment ["and" | ","] upper moment        after 12:30 and before 12:41
    bound   = one-sided moment                before DAY1 12:30 (an ordinary search)
    point   = moment

The first range or point of the query is read out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from geb_assets.clock import DAY_S, Clock

LONGEST_S = 1800.0
"""A longer range is cut to this length."""

Kind = Literal["day", "time", "joiner", "bound", "link", "word"]

_JOINERS = frozenset({"-", "–", "—", "to", "and", "until", "till", "through"})
_LOWER = frozenset({"after", "since", "later than", "no earlier than", "not before"})
_UPPER = frozenset({"before", "until", "till", "by", "prior to", "earlier than", "no later than"})
_LINKS = frozenset({",", "at", "on", "of", "in"})

_TOKENS: dict[str, str] = {
    "day": r"(?<![^\W_])day\s*0*[1-9][0-9]{0,2}(?![0-9])",
    "time": r"(?<![0-9:.])[0-9]{1,3}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?![0-9:])"
    r"(?:\s*[ap]\.?m\b\.?)?",
    "phrase": r"\b(?:prior\s+to|(?:no\s+)?(?:later|earlier)\s+than|not\s+before)\b",
    "word": r"[^\W\d_]+|\d+",
    "mark": r"[-–—,]|[^\w\s]",
}
_TOKEN = re.compile("|".join(f"(?P<{kind}>{form})" for kind, form in _TOKENS.items()), re.I)
_WRITTEN = re.compile(
    r"(?P<h>\d+):(?P<m>\d+)(?::(?P<s>\d+(?:\.\d+)?))?\s*(?P<half>[ap])?", re.I | re.A
)


@dataclass(frozen=True)
class _Token:
    kind: Kind
    text: str
    value: float = 0.0
    """Day number of a day, seconds since midnight (or since the start) of a time."""


@dataclass(frozen=True)
class _Moment:
    day: int | None
    seconds: float


def parse_readout(
    query: str, *, clock: Clock, default_day: int | None = None
) -> tuple[float, float] | None:
    """Start and end, s on the recording clock, of the time that a query names; else None.

    A time without a day takes the day of the range's other end, else the one day that the query
    names, else ``default_day``; without any it is no readout. A ``seconds`` clock has no days and
    reads HH:MM:SS alone. A point gives ``(t, t)``; a reversed range is swapped, a range longer
    than 30 minutes is cut to its first 30. Times bounded on one side only give None.
    """
    tokens = list(_tokens(query, clock))
    days = {int(token.value) for token in tokens if token.kind == "day"}
    fallback = days.pop() if len(days) == 1 else default_day
    place = 0
    while place < len(tokens):
        start = tokens[place]
        if start.kind == "bound":
            bound = _moment(tokens, place + 1)
            if bound is not None:
                first, after = bound
                other = _joined(tokens, after) or _closed(tokens, start, after)
                if other is not None:
                    return _span(first, other, clock, fallback)
                place = after
                continue
        found = _moment(tokens, place)
        if found is None:
            place += 1
            continue
        first, after = found
        span = _span(first, _joined(tokens, after), clock, fallback)
        if span is not None:
            return span
        place = after
    return None


def _tokens(query: str, clock: Clock) -> Iterator[_Token]:
    for match in _TOKEN.finditer(query):
        text = re.sub(r"\s+", " ", match.group().lower())
        if match.lastgroup == "day":
            yield _Token("day", text, float(text.removeprefix("day")))
        elif match.lastgroup == "time":
            seconds = _seconds(text, clock)
            yield _Token("word", text) if seconds is None else _Token("time", text, seconds)
        elif text in _LOWER or text in _UPPER:
            yield _Token("bound", text)
        elif text in _JOINERS:
            yield _Token("joiner", text)
        elif text in _LINKS:
            yield _Token("link", text)
        else:
            yield _Token("word", text)


def _seconds(text: str, clock: Clock) -> float | None:
    """Seconds since midnight, or since the start on a ``seconds`` clock; None for no time."""
    found = _WRITTEN.match(text)
    assert found is not None
    hours, minutes, half = int(found["h"]), int(found["m"]), found["half"]
    if half is not None:
        if not 1 <= hours <= 12:
            return None
        hours = hours % 12 + (12 if half.lower() == "p" else 0)
    seconds = float(found["s"] or 0)
    if minutes > 59 or seconds >= 60 or (clock.kind == "egolife" and hours > 23):
        return None
    if clock.kind == "seconds" and found["s"] is None:
        return None
    return hours * 3600 + minutes * 60 + seconds


def _moment(tokens: list[_Token], place: int) -> tuple[_Moment, int] | None:
    """The moment that starts at a token, and the place after it."""

    def kind(at: int) -> str:
        return tokens[at].kind if at < len(tokens) else ""

    if kind(place) == "day":
        time = place + 2 if kind(place + 1) == "link" else place + 1
        if kind(time) == "time":
            return _Moment(int(tokens[place].value), tokens[time].value), time + 1
        return None
    if kind(place) != "time":
        return None
    day = place + 2 if kind(place + 1) == "link" else place + 1
    # A day that has a time of its own behind it belongs to that one: "12:00, DAY2 12:10".
    if kind(day) == "day" and _moment(tokens, day) is None:
        return _Moment(int(tokens[day].value), tokens[place].value), day + 1
    return _Moment(None, tokens[place].value), place + 1


def _joined(tokens: list[_Token], place: int) -> _Moment | None:
    """The moment that a joiner at this place joins."""
    if place >= len(tokens) or tokens[place].text not in _JOINERS:
        return None
    found = _moment(tokens, place + 1)
    return found[0] if found else None


def _closed(tokens: list[_Token], opening: _Token, place: int) -> _Moment | None:
    """The other bound of a time that is bounded on both sides: "after A and before B"."""
    if place < len(tokens) and tokens[place].text in {"and", "but", ","}:
        place += 1
    if place >= len(tokens) or tokens[place].kind != "bound":
        return None
    if (opening.text in _LOWER) == (tokens[place].text in _LOWER):
        return None
    found = _moment(tokens, place + 1)
    return found[0] if found else None


def _span(
    first: _Moment, second: _Moment | None, clock: Clock, fallback: int | None
) -> tuple[float, float] | None:
    day = first.day or (second.day if second else None) or fallback
    if clock.kind == "seconds":
        day = day or 1
    if day is None:
        return None
    start = (day - 1) * DAY_S + first.seconds
    if second is None:
        return start, start
    end = ((second.day or day) - 1) * DAY_S + second.seconds
    start, end = min(start, end), max(start, end)
    return start, min(end, start + LONGEST_S)
