"""EgoLifeQA: 500 multiple-choice questions on A1's week (spec 5.1, 5.6; paper, Appendix C)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluation.benchmarks.egolife_time import multiple_choice, query_time, target_spans
from evaluation.benchmarks.question import Question, read_questions, text_of, type_masks
from evaluation.metrics.evidence import as_spans
from geb_assets.errors import GebError

Type = Literal["EntityLog", "EventRecall", "HabitInsight", "RelationMap", "TaskMaster"]

FORCED_WRONG = frozenset({"71", "73"})
"""Cannot be answered from their options; wrong for every system (paper, Appendix C)."""

AMBIGUOUS = frozenset({"118", "373", "395"})
"""The gold text stands at a second letter too, which the paper does not mention."""

WIDE_WINDOWS = frozenset({"50", "249", "250", "279"})
"""Marked windows of hours or days, which nearly any retrieval hits."""

Sensitivity = Literal["as published", "ambiguous wrong", "ambiguous by text"]


def load(path: str | Path) -> list[Question]:
    """The questions of an EgoLifeQA file, in its order; ids are the file's, as text.

    ``at`` is s on the recording clock: DAYn HH:MM:SS is (n - 1) * 86400 + seconds.
    Raises GebError naming file and question for a missing field, an unknown type, an id used
    twice, a question time that is none, or a gold answer that is not among the choices.
    """
    return read_questions(path, "ID", lambda item: question_of(item, get_args(Type)))


def question_of(item: dict[str, Any], types: Sequence[str] = ()) -> Question:
    """One question of EgoLife's file layout; raises GebError for what is wrong with it.

    ``types``: the types that exist; any is taken where none is given.
    """
    if not str(item.get("ID", "")).strip():
        raise GebError("field 'ID' is missing; take it from the released file")
    kind = text_of(item, "type")
    if types and kind not in types:
        raise GebError(f"type '{kind}' does not exist; it is one of {', '.join(types)}")
    choices, gold = multiple_choice(item)
    evidence, oddities = target_spans(item.get("target_time"))
    at = query_time(item.get("query_time"))
    if any(start > at for start, _ in evidence):
        oddities += ("evidence after the question",)
    if list(choices.values()).count(choices[gold]) > 1:
        oddities += ("gold text at two letters",)
    return Question(
        id=str(item["ID"]).strip(),
        question=text_of(item, "question"),
        choices=choices,
        answer=gold,
        at=at,
        type=kind,
        evidence=evidence,
        oddities=oddities,
    )


def windows(question: Question, units: ArrayLike) -> list[tuple[float, float]]:
    """The evidence windows (start_s, end_s) on the recording clock, in time order, each once.

    ``units``: the 30-second episodes [n, 2], sorted by start. The window of an instant is the
    first unit that holds it, ends included; an instant between units has none. A range is its own
    window.
    """
    spans = as_spans(units)
    found: list[tuple[float, float]] = []
    for start, end in question.evidence:
        if start < end:
            found.append((start, end))
        elif len(holding := np.flatnonzero((spans[:, 0] <= start) & (start <= spans[:, 1]))):
            first = spans[holding[0]]
            found.append((float(first[0]), float(first[1])))
    return sorted(set(found))


def correct(
    question: Question, letter: str | None, *, sensitivity: Sensitivity = "as published"
) -> bool:
    """Whether a chosen letter counts as right; 71 and 73 never do.

    ``sensitivity``: what becomes of 118, 373 and 395, whose gold text stands at two letters -
    scored by the gold letter as published, all wrong, or right at either letter.
    """
    if letter is None or question.id in FORCED_WRONG:
        return False
    if question.id in AMBIGUOUS and sensitivity != "as published":
        return sensitivity == "ambiguous by text" and (
            question.choices.get(letter) == question.choices[question.answer]
        )
    return letter == question.answer


def masks(questions: Sequence[Question]) -> dict[str, NDArray[np.bool_]]:
    """The slices of every figure: all, each type, and all without the four wide windows."""
    wide = np.array([question.id in WIDE_WINDOWS for question in questions], dtype=bool)
    return type_masks(questions) | {"without 50, 249, 250, 279": ~wide}
