"""MultiHop-EgoQA: 1,080 questions on 360 three-minute clips, with evidence intervals (spec 5.4)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.benchmarks.question import Question, read_questions, text_of, type_masks
from geb_assets.errors import GebError

DURATION_S = 180.0
"""Length of every clip."""

JOIN_S = 8.0
"""Predicted intervals less than this apart are one interval (released inference code)."""

SEVERAL = 3
"""`All, >= 3` is over questions with at least this many evidence intervals."""

_Seconds = tuple[tuple[int, int], ...]
"""First and last second of each interval, both inside."""


def load(path: str | Path) -> list[Question]:
    """The questions of ``MultiHop-EgoQA.json``, in its order.

    ``recording`` is the clip (``segment_id``), ``type`` the category, ``evidence`` the inclusive
    seconds of ``T``, which may be one bare pair. ``answer`` keeps its ``<Tn>`` marks.
    Raises GebError naming file and question for what is missing or malformed.
    """
    return read_questions(path, "sample_id", _question)


def windows(question: Question) -> list[tuple[float, float]]:
    """The evidence as spans (start_s, end_s) in which the last second lies: [9, 15] is (9, 16)."""
    return [(start, end + 1.0) for start, end in question.evidence]


def asks_when(question: Question) -> bool:
    """Whether the reference is only a time (an empty ``<Tn></Tn>``): such answers are not graded,
    which leaves 724 of the 1,080."""
    return re.search(r"<T(\d+)></T\d+>", question.answer) is not None


def reference(question: Question) -> str:
    """The reference answer without its ``<Tn>`` marks, as the judge reads it."""
    return re.sub(r"</?T\d+>", "", question.answer)


def masks(questions: Sequence[Question]) -> dict[str, NDArray[np.bool_]]:
    """The slices of every figure: all, each category, three or more intervals, with a reference."""
    several = np.array([len(q.evidence) >= SEVERAL for q in questions], dtype=bool)
    worded = np.array([not asks_when(q) for q in questions], dtype=bool)
    return type_masks(questions) | {f">= {SEVERAL} intervals": several, "with a reference": worded}


def _pairs(value: object) -> _Seconds:
    """One pair or a list of pairs of whole seconds, start <= end; empty for anything else."""
    if not isinstance(value, list | tuple) or not value:
        return ()
    listed = [value] if isinstance(value[0], int) else value
    pairs = tuple(tuple(pair) if isinstance(pair, list | tuple) else () for pair in listed)
    whole = all(
        len(pair) == 2
        and all(isinstance(t, int) and not isinstance(t, bool) for t in pair)
        and pair[0] <= pair[1]
        for pair in pairs
    )
    return tuple((pair[0], pair[1]) for pair in pairs) if whole else ()


def _question(item: dict[str, Any]) -> Question:
    name = item.get("sample_id")
    if isinstance(name, bool) or not isinstance(name, int | str) or str(name) == "":
        raise GebError("field 'sample_id' is missing; take it from the released file")
    evidence = _pairs(item.get("T"))
    if not evidence:
        raise GebError(f"evidence T {item.get('T')!r:.60} is no list of whole [start, end] seconds")
    outside = any(start < 0 or end > DURATION_S for start, end in evidence)
    return Question(
        id=str(name),
        question=text_of(item, "Q"),
        choices={},
        answer=text_of(item, "A"),
        at=None,
        type=text_of(item, "category"),
        recording=str(item.get("segment_id", "")),
        evidence=tuple((float(start), float(end)) for start, end in evidence),
        oddities=("evidence outside the clip",) if outside else (),
    )
