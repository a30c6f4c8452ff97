"""What predictions are worth: every figure with its interval, its questions, and its anchor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evaluation.anchors import GEB, anchors
from evaluation.benchmarks import egolifeqa
from evaluation.benchmarks.catalogue import Rules
from evaluation.benchmarks.question import Question
from evaluation.bootstrap import one_sample, paired
from evaluation.metrics.judges import Judgement

ACCURACY, DIFFERENCE = "accuracy", "minus full"
HIT, COVERAGE = "evidence hit", "complete coverage"
JUDGE = "judge"
UNITS = "units received"

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]
Judgements = Mapping[tuple[str, int], Judgement]
"""By question id and run."""


@dataclass(frozen=True)
class Score:
    """One figure over one slice of the questions."""

    metric: str
    slice: str
    value: float | None
    """None where it could not be measured; ``note`` says why."""
    n: int
    low: float | None = None
    high: float | None = None
    anchor: float | None = None
    note: str = ""


def score(
    rules: Rules,
    questions: Sequence[Question],
    predictions: pl.DataFrame,
    full: pl.DataFrame | None = None,
    judgements: Judgements | None = None,
) -> list[Score]:
    """All figures of one benchmark and variant.

    ``judgements`` are those of the open answers, by question and run; None: there is no judge.
    ``predictions`` and ``full``, those of the full system to compare with, are rows of table
    ``predictions`` for these questions. A question's value is the mean over its runs. A question
    with a run whose model call failed has no value, of any metric; one outside its recording
    counts as wrong, and reaches and receives nothing that could be counted. The note of each
    figure says how many of its slice these are.
    """
    masks = rules.masks(questions)
    own = _Answers.of(rules, questions, predictions)
    base = None if full is None else _Answers.of(rules, questions, full)
    found = [
        *_graded(rules, questions, masks, own, base),
        *_judged(rules, questions, masks, own, judgements),
        *_evidence(rules, masks, own, base),
    ]
    return [_beside_anchor(rules, one) for one in found]


@dataclass(frozen=True, eq=False)
class _Answers:
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
    received: Values
    searches: Values
    failed: Mask
    """Questions with a run whose model call failed."""
    outside: Mask
    """Questions that were not put to the memory: they lie outside the recording."""

    @classmethod
    def of(cls, rules: Rules, questions: Sequence[Question], rows: pl.DataFrame) -> _Answers:
        by_question: dict[str, list[dict[str, Any]]] = {one.id: [] for one in questions}
        for row in rows.sort("place", "run").iter_rows(named=True):
            by_question[str(row["question"])].append(row)
        rounds = max([1, *rows["rounds"].to_list()])
        hits = np.full((len(questions), rounds), np.nan)
        correct = np.full(len(questions), np.nan)
        gradeable = np.zeros(len(questions), dtype=bool)
        amounts = np.full((2, len(questions)), np.nan)
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
            amounts[:, place] = [
                np.mean([row["received_s"] for row in own]),
                np.mean([row["rounds"] for row in own]),
            ]
        return cls(
            correct,
            gradeable,
            [[str(row["choice"]) for row in by_question[one.id]] for one in questions],
            hits[:, -1],
            hits,
            units=units,
            received=amounts[0],
            searches=amounts[1],
            failed=failed,
            outside=outside,
        )

    def note(self, within: Mask, outside: str) -> str:
        """What a figure over these questions does not tell; ``outside``: what became of those that
        lie outside the recording."""
        counts = {
            "with a failed run, left out": int((self.failed & within).sum()),
            f"outside the recording, {outside}": int((self.outside & ~self.failed & within).sum()),
        }
        return "; ".join(f"{count} questions {what}" for what, count in counts.items() if count)


def _curve(row: dict[str, Any], rounds: int, *, complete: bool) -> Values:
    """Whether the evidence was reached after each round; one that stopped keeps its last value."""
    counts = _held(row["reached"], rounds)
    return (counts >= len(row["windows"]) if complete else counts > 0).astype(np.float64)


def _held(values: Sequence[int], rounds: int) -> Values:
    """Values after each search, the last one kept for the rounds that were not needed."""
    known = list(values) or [0]
    return np.array([*known, *[known[-1]] * (rounds - len(known))], np.float64)


def _graded(
    rules: Rules,
    questions: Sequence[Question],
    masks: dict[str, Mask],
    own: _Answers,
    base: _Answers | None,
) -> Iterator[Score]:
    for name, mask in masks.items():
        within = mask & own.gradeable
        if within.any():
            yield _mean(ACCURACY, name, own.correct[within], own.note(within, "wrong"))
        if base is not None and within.any():
            yield _difference(ACCURACY, name, own.correct[within], base.correct[within])
    told = "; ".join(filter(None, ["questions 118, 373 and 395", own.note(own.gradeable, "wrong")]))
    for sensitivity in rules.sensitivity:
        values = [
            np.mean(
                [
                    egolifeqa.correct(q, letter or None, sensitivity=sensitivity)
                    for letter in letters
                ]
            )
            for q, letters, failed in zip(questions, own.letters, own.failed, strict=True)
            if letters and not failed
        ]
        yield _mean(ACCURACY, sensitivity, np.array(values), told)


def _judged(
    rules: Rules,
    questions: Sequence[Question],
    masks: dict[str, Mask],
    own: _Answers,
    judgements: Judgements | None,
) -> Iterator[Score]:
    """The judge's mean over the open questions; a judgement that failed is no 0, and is told of."""
    open_: Mask = ~own.gradeable & np.array([rules.graded(one) for one in questions], dtype=bool)
    if not open_.any():
        return
    if judgements is None:
        note = "no judge is served by this profile"
        yield Score(JUDGE, "all", None, int(open_.sum()), note=note)
        return
    values = np.full(len(questions), np.nan)
    unread = np.zeros(len(questions), dtype=np.int64)
    given: dict[str, list[Judgement]] = {one.id: [] for one in questions}
    for (name, _), judgement in judgements.items():
        given[name].append(judgement)
    for place, question in enumerate(questions):
        scores = [one.score for one in given[question.id] if one.score is not None]
        unread[place] = len(given[question.id]) - len(scores)
        if scores and not unread[place] and not own.failed[place]:
            values[place] = np.mean(scores)
    for name, mask in masks.items():
        within = mask & open_
        if within.any():
            count = int(unread[within].sum())
            notes = [own.note(within, "judged without an answer")]
            notes += [f"{count} judgements failed and are left out"] if count else []
            yield _mean(JUDGE, name, values[within], "; ".join(filter(None, notes)))


def _evidence(
    rules: Rules,
    masks: dict[str, Mask],
    own: _Answers,
    base: _Answers | None,
) -> Iterator[Score]:
    metric = COVERAGE if rules.complete else HIT
    windowed = ~np.isnan(own.hit)
    for name, mask in masks.items():
        if (mask & windowed).any():
            yield _mean(metric, name, own.hit[mask & windowed], own.note(mask, "left out"))
        if base is not None and (mask & windowed).any():
            yield _difference(metric, name, own.hit[mask & windowed], base.hit[mask & windowed])
    note = own.note(np.ones_like(windowed), "left out")
    for number in range(own.curve.shape[1] if windowed.any() else 0):
        yield _mean(metric, f"after round {number + 1}", own.curve[windowed, number], note)
        yield _mean(UNITS, f"after round {number + 1}", own.units[windowed, number], note)
    for what, values in (
        (UNITS, own.units[:, -1]),
        ("seconds received", own.received),
        ("searches", own.searches),
    ):
        if (~np.isnan(values)).any():
            yield _mean(what, "all", values[~np.isnan(values)], note)


def _mean(metric: str, slice_: str, values: Values, note: str = "") -> Score:
    known = values[~np.isnan(values)]
    if not len(known):
        return Score(metric, slice_, None, 0, note=note or "nothing to measure")
    low, high = one_sample(known)
    return Score(metric, slice_, float(known.mean()), len(known), low, high, note=note)


def _difference(metric: str, slice_: str, own: Values, base: Values) -> Score:
    """The paired difference over the questions that both have a value for."""
    both = ~np.isnan(own) & ~np.isnan(base)
    if not both.any():
        return Score(f"{metric} {DIFFERENCE}", slice_, None, 0, note="no question in common")
    low, high = paired(own[both], base[both])
    value = float(own[both].mean() - base[both].mean())
    lost = len(both) - int(both.sum())
    note = f"{lost} questions that one side has no value for, left out" if lost else ""
    return Score(f"{metric} {DIFFERENCE}", slice_, value, int(both.sum()), low, high, note=note)


def _beside_anchor(rules: Rules, found: Score) -> Score:
    """The figure beside the paper's own for the full system, where the text states one."""
    published = [
        one for one in anchors(rules.anchors, found.metric, slice=found.slice) if one.system == GEB
    ]
    if not published:
        return found
    scale = 100.0 if published[0].unit == "%" else 1.0
    return replace(found, anchor=published[0].value / scale)


def as_rows(scores: Sequence[Score]) -> pl.DataFrame:
    """The figures as rows of table ``scores``, without its keys."""
    return pl.DataFrame(
        [
            {
                "metric": one.metric,
                "slice": one.slice,
                "value": one.value,
                "low": one.low,
                "high": one.high,
                "n": one.n,
                "anchor": one.anchor,
                "note": one.note,
            }
            for one in scores
        ],
        schema={
            "metric": pl.String,
            "slice": pl.String,
            "value": pl.Float64,
            "low": pl.Float64,
            "high": pl.Float64,
            "n": pl.Int32,
            "anchor": pl.Float64,
            "note": pl.String,
        },
    )
