"""A variant's predictions by question: what each came to, as the mean over its runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evaluation.benchmarks.catalogue import Rules
from evaluation.benchmarks.question import Question
from evaluation.metrics.intervals import IOU_THRESHOLD, Mode, interval_scores, joined
from evaluation.metrics.judges import Judgement

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]
Judgements = Mapping[tuple[str, int], Judgement]
"""By question id and run."""

UNITS, RECEIVED, SECONDS = "units received", "seconds received", "seconds a question"
ANSWER_TOKENS = "answer tokens"
AMOUNTS: Mapping[str, Callable[[Mapping[str, Any]], float | None]] = {
    UNITS: lambda row: (row["units_after"] or [0])[-1],
    RECEIVED: lambda row: row["received_s"],
    "searches": lambda row: row["rounds"],
    ANSWER_TOKENS: lambda row: row["answer_prompt_tokens"],
    "answer tokens written": lambda row: row["answer_completion_tokens"],
    "controller tokens": lambda row: _less(row, "prompt_tokens"),
    "controller tokens written": lambda row: _less(row, "completion_tokens"),
    SECONDS: lambda row: row["seconds"],
}
"""What a run of a question received and cost; None where nobody counted."""

MEAN_IOU, IOU_AT = "mIoU", f"IoU@{IOU_THRESHOLD}"
OVERLAPS = (MEAN_IOU, "mIoP", "mIoG", IOU_AT)


@dataclass(frozen=True, eq=False)
class Graded:
    """A variant's rows of table ``predictions``, and what was made of their open answers."""

    predictions: pl.DataFrame
    judgements: Judgements | None = None
    """None: there is no judge."""
    similarities: Mapping[tuple[str, int], float] = field(default_factory=dict)
    """Of an answer and its reference, by question id and run."""
    embedder: str = ""
    """Who measured them."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Values by question [N], in the questions' order; NaN where there is none."""

    correct: Values
    """Mean over the runs; NaN without choices or accepted wordings, or where a call failed."""
    gradeable: Mask
    """Whether the rules alone can tell right from wrong."""
    letters: list[list[str]]
    """The letters chosen, by question and run."""
    hit: Values
    """Whether the evidence was reached; NaN without a window."""
    curve: Values
    """The same after each round: [N, rounds]."""
    units: Values
    """Units received after each round: [N, rounds]."""
    amounts: Mapping[str, Values]
    """What was received, and what it cost, by the names of :data:`AMOUNTS`."""
    intervals: list[list[list[list[float]]]]
    """The times named as evidence, by question and run."""
    marks: Values | None
    """The judge's; NaN where a judgement failed, None where there is no judge."""
    unread: NDArray[np.int64]
    """Judgements that failed."""
    alike: Values
    """Similarity of the answers to their reference."""
    embedder: str
    """Who measured it."""
    failed: Mask
    """Questions with a run whose model call failed."""
    outside: Mask
    """Questions that were not put to the memory: they lie outside the recording."""

    @classmethod
    def of(cls, rules: Rules, questions: Sequence[Question], graded: Graded) -> Answers:
        """The values of one variant's rows for these questions."""
        rows = graded.predictions
        by_question: dict[str, list[dict[str, Any]]] = {one.id: [] for one in questions}
        for row in rows.sort("place", "run").iter_rows(named=True):
            by_question[str(row["question"])].append(row)
        rounds = max([1, *rows["rounds"].to_list()])
        hits = np.full((len(questions), rounds), np.nan)
        correct = np.full(len(questions), np.nan)
        gradeable = np.zeros(len(questions), dtype=bool)
        amounts = {name: np.full(len(questions), np.nan) for name in AMOUNTS}
        units = np.full((len(questions), rounds), np.nan)
        failed, outside = np.zeros((2, len(questions)), dtype=bool)
        for place, question in enumerate(questions):
            own = by_question[question.id]
            states = {row["status"] for row in own}
            failed[place], outside[place] = "failed" in states, "outside" in states
            gradeable[place] = rules.correct(question, "", None) is not None
            if not own or failed[place]:
                continue
            if gradeable[place]:
                correct[place] = np.mean([bool(row["correct"]) for row in own])
            if outside[place]:
                continue
            if any(row["windows"] for row in own):
                curves = [_curve(row, rounds, complete=rules.complete) for row in own]
                hits[place] = np.mean(curves, axis=0)
            units[place] = np.mean([_held(row["units_after"], rounds) for row in own], axis=0)
            for name, of in AMOUNTS.items():
                counted = [amount for row in own if (amount := of(row)) is not None]
                amounts[name][place] = np.mean(counted) if counted else np.nan
        marks, unread = _marks(questions, failed, graded.judgements or {})
        return cls(
            correct,
            gradeable,
            [[str(row["choice"]) for row in by_question[one.id]] for one in questions],
            hits[:, -1],
            hits,
            units=units,
            amounts=amounts,
            intervals=[[r["intervals"] or [] for r in by_question[one.id]] for one in questions],
            marks=None if graded.judgements is None else marks,
            unread=unread,
            alike=_similarities(questions, failed, graded.similarities),
            embedder=graded.embedder,
            failed=failed,
            outside=outside,
        )

    def overlaps(
        self, questions: Sequence[Question], *, join_s: float, mode: Mode = "released"
    ) -> dict[str, Values]:
        """Named against marked evidence, by the names of :data:`OVERLAPS` (spec 5.4).

        The means are over the runs that named an interval, IoU@0.3 is over all of them; both are
        NaN where a call failed. Intervals less than ``join_s`` apart are one.
        """
        values = np.full((len(OVERLAPS), len(questions)), np.nan)
        for place, question in enumerate(questions):
            if self.failed[place] or not self.intervals[place]:
                continue
            named = [joined(one, join_s) for one in self.intervals[place]]
            found = np.array([interval_scores(one, question.evidence, mode=mode) for one in named])
            given = np.array([bool(one) for one in named])
            if given.any():
                values[:3, place] = found[given].mean(axis=0)
            values[3, place] = (found[:, 0] > IOU_THRESHOLD).mean()
        return dict(zip(OVERLAPS, values, strict=True))

    def note(self, within: Mask, outside: str) -> str:
        """What a figure over these questions does not tell; ``outside``: what became of those that
        lie outside the recording."""
        counts = {
            "with a failed run, left out": int((self.failed & within).sum()),
            f"outside the recording, {outside}": int((self.outside & ~self.failed & within).sum()),
        }
        return "; ".join(f"{count} questions {what}" for what, count in counts.items() if count)

    def without_interval(self, within: Mask, outside: str) -> str:
        """The same of answers that name no evidence, which are ``outside`` too."""
        asked = within & ~self.failed & ~self.outside
        count = sum(not one for place in np.flatnonzero(asked) for one in self.intervals[place])
        told = f"{count} answers without an interval, {outside}" if count else ""
        return "; ".join(filter(None, [told, self.note(within, outside)]))


def _marks(
    questions: Sequence[Question], failed: Mask, judgements: Judgements
) -> tuple[Values, NDArray[np.int64]]:
    """The judge's mark of each question, and how many of its judgements failed."""
    values = np.full(len(questions), np.nan)
    unread = np.zeros(len(questions), dtype=np.int64)
    given: dict[str, list[float | None]] = {one.id: [] for one in questions}
    for (name, _), judgement in judgements.items():
        given[name].append(judgement.score)
    for place, question in enumerate(questions):
        scores = [mark for mark in given[question.id] if mark is not None]
        unread[place] = len(given[question.id]) - len(scores)
        if scores and not unread[place] and not failed[place]:
            values[place] = np.mean(scores)
    return values, unread


def _similarities(
    questions: Sequence[Question], failed: Mask, similarities: Mapping[tuple[str, int], float]
) -> Values:
    given: dict[str, list[float]] = {one.id: [] for one in questions}
    for (name, _), similarity in similarities.items():
        given[name].append(similarity)
    values = np.full(len(questions), np.nan)
    for place, question in enumerate(questions):
        if given[question.id] and not failed[place]:
            values[place] = np.mean(given[question.id])
    return values


def _less(row: Mapping[str, Any], what: str) -> float | None:
    """What a run's controller counted: all but the answerer's; None where that is nothing."""
    return row[what] - (row[f"answer_{what}"] or 0) or None


def _curve(row: dict[str, Any], rounds: int, *, complete: bool) -> Values:
    """Whether the evidence was reached after each round; one that stopped keeps its last value."""
    counts = _held(row["reached"], rounds)
    return (counts >= len(row["windows"]) if complete else counts > 0).astype(np.float64)


def _held(values: Sequence[int], rounds: int) -> Values:
    """Values after each search, the last one kept for the rounds that were not needed."""
    known = list(values) or [0]
    return np.array([*known, *[known[-1]] * (rounds - len(known))], np.float64)
