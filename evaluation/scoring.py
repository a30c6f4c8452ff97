"""What predictions are worth: every figure with its interval, its questions, and its anchor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import polars as pl

from evaluation.anchors import GEB, anchors
from evaluation.answers import (
    AMOUNTS,
    ANSWER_TOKENS,
    IOU_AT,
    RECEIVED,
    SECONDS,
    UNITS,
    Answers,
    Graded,
    Mask,
    Values,
)
from evaluation.benchmarks import egolifeqa
from evaluation.benchmarks.catalogue import Rules
from evaluation.benchmarks.question import Question
from evaluation.bootstrap import one_sample, paired

ACCURACY, DIFFERENCE = "accuracy", "minus full"
HIT, COVERAGE, CLIP = "evidence hit", "complete coverage", "clip"
JUDGE, SIMILARITY = "judge", "sentence similarity"
MERGED = "merged"
"""The slice of all questions whose overlaps count every second once."""

Masks = Mapping[str, Mask]


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
    rules: Rules, questions: Sequence[Question], own: Graded, full: Graded | None = None
) -> list[Score]:
    """All figures of one benchmark and variant; ``full`` is the full system to compare with.

    A question's value is the mean over its runs. A question with a run whose model call failed
    has no value, of any metric; one outside its recording counts as wrong, and reaches and
    receives nothing that could be counted. The note of each figure says how many of its slice
    these are.
    """
    masks = rules.masks(questions)
    answers = Answers.of(rules, questions, own)
    base = None if full is None else Answers.of(rules, questions, full)
    found = [
        *_graded(rules, questions, masks, answers, base),
        *_judged(rules, questions, masks, answers, base),
        *_grounded(rules, questions, masks, answers, base),
        *_evidence(rules, masks, answers, base),
        *_amounts(answers),
    ]
    return [_beside_anchor(rules, one) for one in found]


def _by_slice(
    metric: str,
    masks: Masks,
    within: Mask,
    own: Values,
    base: Values | None,
    note: Callable[[Mask], str],
) -> Iterator[Score]:
    """A figure, and its difference to the full system, over each slice of some questions."""
    for name, mask in masks.items():
        chosen = mask & within
        if chosen.any():
            yield _mean(metric, name, own[chosen], note(mask))
            if base is not None:
                yield _difference(metric, name, own[chosen], base[chosen])


def _graded(
    rules: Rules,
    questions: Sequence[Question],
    masks: Masks,
    own: Answers,
    base: Answers | None,
) -> Iterator[Score]:
    yield from _by_slice(
        ACCURACY,
        masks,
        own.gradeable,
        own.correct,
        None if base is None else base.correct,
        lambda mask: own.note(mask & own.gradeable, "wrong"),
    )
    told = _told("questions 118, 373 and 395", own.note(own.gradeable, "wrong"))
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
    masks: Masks,
    own: Answers,
    base: Answers | None,
) -> Iterator[Score]:
    """The judge's mean over the open questions, and how close their answers are to their
    references; a judgement that failed is no 0, and is told of."""
    graded = np.array([rules.graded(one) for one in questions], dtype=bool)
    open_: Mask = np.asarray(~own.gradeable & graded)
    if not open_.any():
        return

    def judged(mask: Mask) -> str:
        count = int(own.unread[mask & open_].sum())
        told = f"{count} judgements failed and are left out" if count else ""
        return _told(own.note(mask & open_, "judged without an answer"), told)

    if own.marks is None:
        note = "no judge is served by this profile"
        yield Score(JUDGE, "all", None, int(open_.sum()), note=note)
    else:
        marks = None if base is None else base.marks
        yield from _by_slice(JUDGE, masks, open_, own.marks, marks, judged)
    if rules.reference is not None:
        yield from _by_slice(
            SIMILARITY,
            masks,
            open_,
            own.alike,
            None if base is None else base.alike,
            lambda mask: _told(own.note(mask & open_, "without an answer: 0"), own.embedder),
        )


def _told(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def _grounded(
    rules: Rules,
    questions: Sequence[Question],
    masks: Masks,
    own: Answers,
    base: Answers | None,
) -> Iterator[Score]:
    """Named against marked evidence: means over the answers that name an interval, IoU@0.3 over
    all (spec 5.4), and how much of the recording was received."""
    if rules.grounded is None:
        return
    join_s, everything = rules.grounded.join_s, np.ones(len(questions), dtype=bool)
    found = own.overlaps(questions, join_s=join_s)
    full = None if base is None else base.overlaps(questions, join_s=join_s)
    merged = own.overlaps(questions, join_s=join_s, mode="merged")
    for metric, values in found.items():
        lost = "missed" if metric == IOU_AT else "left out"
        note = partial(own.without_interval, outside=lost)
        yield from _by_slice(
            metric, masks, everything, values, None if full is None else full[metric], note
        )
        told = _told("every second counts once", note(everything))
        yield _mean(metric, MERGED, merged[metric], told)
    duration_s = rules.grounded.duration_s
    share = own.amounts[RECEIVED] / duration_s
    base_share = None if base is None else base.amounts[RECEIVED] / duration_s
    left = partial(own.note, outside="left out")
    yield from _by_slice(CLIP, masks, ~np.isnan(share), share, base_share, left)


def _evidence(rules: Rules, masks: Masks, own: Answers, base: Answers | None) -> Iterator[Score]:
    metric = COVERAGE if rules.complete else HIT
    windowed = ~np.isnan(own.hit)
    left = partial(own.note, outside="left out")
    yield from _by_slice(metric, masks, windowed, own.hit, None if base is None else base.hit, left)
    note = left(np.ones_like(windowed))
    for number in range(own.curve.shape[1] if windowed.any() else 0):
        yield _mean(metric, f"after round {number + 1}", own.curve[windowed, number], note)
        yield _mean(UNITS, f"after round {number + 1}", own.units[windowed, number], note)


def _amounts(own: Answers) -> Iterator[Score]:
    """What was received and what it cost; a figure that nobody counted is absent."""
    note = own.note(np.ones(len(own.failed), dtype=bool), "left out")
    counted = bool((~np.isnan(own.amounts[ANSWER_TOKENS])).any())
    for name in AMOUNTS:
        values = own.amounts[name]
        if (~np.isnan(values)).any():
            kept = "replies kept from before take no time" if name == SECONDS and counted else ""
            yield _mean(name, "all", values, _told(note, kept))


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
