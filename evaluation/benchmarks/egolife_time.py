"""How EgoLife's question files write times: HHMMSSFF, ranges and lists (spec 2.1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from geb_assets.clock import DAY_S
from geb_assets.errors import GebError

_DAYS = re.compile(r"(?:^|\s*)DAY\s*(\d{1,3})_?", re.IGNORECASE)


def day_number(date: object) -> int:
    """The day of ``DAY1`` (or ``Day1``), from 1; raises GebError for anything else."""
    found = re.fullmatch(r"\s*DAY\s*(\d{1,3})\s*", str(date), re.IGNORECASE)
    if found is None or int(found[1]) == 0:
        raise GebError(f"date {date!r} is no day; write it like DAY1")
    return int(found[1])


def instant(day: int, text: object) -> float:
    """Seconds on the recording clock of HHMMSSFF, whose FF counts as hundredths.

    FF is a frame number that can exceed 20; as hundredths it keeps the released order of instants.
    Leading zeros may be missing. Raises GebError for what is no time of day.
    """
    written = str(text).strip()
    digits = written.zfill(8)
    if not re.fullmatch(r"[0-9]{8}", digits):
        raise GebError(f"time {written!r:.40} is no HHMMSSFF; write 11210217 for 11:21:02")
    hours, minutes, seconds, hundredths = (int(digits[place : place + 2]) for place in (0, 2, 4, 6))
    if hours > 23 or minutes > 59 or seconds > 59:
        raise GebError(f"time {written!r} is no time of day; write 11210217 for 11:21:02")
    return (day - 1) * DAY_S + hours * 3600 + minutes * 60 + seconds + hundredths / 100


def query_time(query: object) -> float:
    """Seconds on the recording clock at which a question is asked; of a range "a-b" the later.

    Raises GebError for what is no ``{date, time}``.
    """
    if not isinstance(query, dict):
        raise GebError("field 'query_time' is no {date, time}; take it from the released file")
    day = day_number(query.get("date"))
    return max(instant(day, part) for part in str(query.get("time")).split("-"))


def target_spans(target: object) -> tuple[tuple[tuple[float, float], ...], tuple[str, ...]]:
    """The marked spans, sorted and each once, and what is odd about them.

    An instant has equal ends. A time is HHMMSSFF, ``HHMMSSFF-HHMMSSFF``, or
    ``HHMMSSFFDAYn_HHMMSSFF`` from the date's day to day n; ``time_list`` holds several. Three parts
    (``...DAYn_...DAYm_...``) mark no single range: no span. A time that cannot be read is told as
    an oddity and gives no span. Raises GebError for what is no ``{date, time or time_list}``.
    """
    if not isinstance(target, dict) or not (target.get("time") or target.get("time_list")):
        raise GebError("field 'target_time' is no {date, time or time_list}; see the released file")
    day = day_number(target.get("date"))
    odd = [] if str(target["date"]) == f"DAY{day}" else ["date not written DAYn"]
    times = [target["time"]] if target.get("time") else target["time_list"]
    if not isinstance(times, list):
        raise GebError("field 'time_list' is no list of times; see the released file")
    if not target.get("time"):
        odd.append("several times")
    spans = []
    for time in times:
        span, what = _span(day, str(time))
        spans += [span] if span else []
        odd += what
    if spans != sorted(spans):
        odd.append("times not in order")
    return tuple(sorted(set(spans))), tuple(dict.fromkeys(odd))


def _span(day: int, time: str) -> tuple[tuple[float, float] | None, list[str]]:
    parts = _DAYS.split(time.strip())
    if len(parts) > 3:
        return None, ["more than two parts in one time"]
    try:
        if len(parts) == 3:
            ends = instant(day, parts[0]), instant(day_number(f"DAY{parts[1]}"), parts[2])
            odd = ["range over days" if int(parts[1]) != day else "range"]
        elif "-" in time:
            first, last = time.split("-", 1)
            ends, odd = (instant(day, first), instant(day, last)), ["range"]
        else:
            ends, odd = (instant(day, time),) * 2, []
    except GebError:
        return None, ["time that cannot be read"]
    return (min(ends), max(ends)), odd + (["range written backwards"] if ends[0] > ends[1] else [])


def multiple_choice(item: Mapping[str, Any]) -> tuple[dict[str, str], str]:
    """The options, letter to text, and the gold letter, of ``choice_a`` ... ``answer``.

    An empty option is left out, as in the released script. Raises GebError where fewer than two
    remain or the gold answer is none of them.
    """
    choices = {
        letter.upper(): str(value).strip()
        for letter in "abcd"
        if (value := item.get(f"choice_{letter}")) not in (None, "")
    }
    if len(choices) < 2:
        raise GebError(
            "fewer than two of 'choice_a' to 'choice_d' are given; see the released file"
        )
    gold = str(item.get("answer", "")).strip().upper()
    if gold not in choices:
        raise GebError(f"gold answer {item.get('answer')!r} is none of {', '.join(choices)}")
    return choices, gold
