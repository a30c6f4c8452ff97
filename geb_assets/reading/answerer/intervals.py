"""The times that an answer rests on: read strictly out of a reply, or off the units it rests on
(spec 5.4, 9.46)."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from geb_assets.reading.evidence import Evidence

Span = tuple[float, float]
Intervals = tuple[Span, ...]
"""First and last second of each interval, both inside, s on the recording clock."""

_LONGEST = 20_000
"""Characters of an evidence section beyond which it is not read."""


@dataclass(frozen=True)
class Sections:
    """A reply in words, in its three sections; one that is not there is empty."""

    answer: str
    evidence: str
    rationale: str


def read_sections(text: str) -> Sections:
    """The sections Answer, Evidence and Rationale, each behind its name, ``###`` or not."""
    return Sections(*(_section(text, name) for name in ("Answer", "Evidence", "Rationale")))


def read_literal(text: str) -> object:
    """The value of an evidence section; None where it is no literal. Nothing is evaluated."""
    try:
        return ast.literal_eval(text.strip()) if len(text) <= _LONGEST else None
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def read_intervals(value: object, within: Span) -> Intervals | None:
    """One [first, last] or a list of them, in whole seconds from the start of ``within``, by time.

    None for anything else: a single pair of no whole numbers, reversed or outside voids them all,
    for what such a reply meant can only be guessed. An empty list names no interval.
    """
    if not isinstance(value, list | tuple):
        return None
    listed = [value] if value and type(value[0]) is int else value
    start, end = within
    found: list[Span] = []
    for pair in listed:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            return None
        if any(type(second) is not int for second in pair):  # True is an int, and no second
            return None
        if not 0 <= pair[0] <= pair[1] <= end - start:
            return None
        found.append((start + pair[0], start + pair[1]))
    return tuple(sorted(found))


def rested_on(supports: Sequence[str], evidence: Evidence, within: Span) -> Intervals:
    """The whole seconds, within a stretch, of the units among ``supports``.

    Where only entities are among them: of all that is told of these. Empty without either.
    """
    spans = [(one.start_s, one.end_s) for one in evidence.units if one.id in supports]
    if not spans:
        spans = [
            (block.start_s, block.end_s)
            for excerpt in evidence.excerpts
            if excerpt.entity in supports
            for block in excerpt.blocks
        ]
    start, end = within
    found: set[Span] = set()
    for first, last in spans:
        opens = math.floor(max(first, start) - start)
        closes = max(math.ceil(min(last, end) - start) - 1, opens)
        if first < end and last >= start:
            found.add((start + opens, start + closes))
    return tuple(sorted(found))


def _section(text: str, name: str) -> str:
    """What stands behind a section's name, up to the next ``###`` or section."""
    found = re.search(rf"(?m)^[ \t#*]*{name}\b[ \t*]*:?[ \t*]*", text) or re.search(
        rf"{name}:[ \t*]*", text
    )
    if found is None:
        return ""
    rest = text[found.end() :]
    end = re.search(r"###|(?m:^[ \t#*]*(?:Question|Answer|Evidence|Rationale)\b[ \t*]*:)", rest)
    return rest[: end.start() if end else len(rest)].strip()
