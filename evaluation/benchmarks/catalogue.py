"""The benchmarks by name, and what each one's rules are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaluation.benchmarks import egolifeqa, egor1, mmlifelong, multihop, own
from evaluation.benchmarks.question import Question, type_masks
from evaluation.metrics.judges import Judge, Judgement, judge_lifelong, judge_multihop
from geb_assets.errors import GebError

Windows = list[tuple[float, float]]
Masks = dict[str, NDArray[np.bool_]]


def _marked(question: Question, units: ArrayLike) -> Windows:
    return sorted(set(question.evidence))


def _letter(question: Question, text: str, choice: str | None) -> bool | None:
    return choice == question.answer if question.choices else None


def _egolife(question: Question, text: str, choice: str | None) -> bool | None:
    return egolifeqa.correct(question, choice)


def _own(question: Question, text: str, choice: str | None) -> bool | None:
    return question.is_right(text, choice) if isinstance(question, own.OwnQuestion) else None


def _lifelong(judge: Judge, question: Question, answer: str) -> Judgement:
    return judge_lifelong(
        judge, question.question, question.answer, answer, all_or_nothing=question.all_or_nothing
    )


def _multihop(judge: Judge, question: Question, answer: str) -> Judgement:
    return judge_multihop(judge, question.question, multihop.reference(question), answer)


@dataclass(frozen=True)
class Grounded:
    """Answers are wanted with the seconds that show them, out of recordings of one length."""

    duration_s: float
    """Length of every recording, which begins at 0 on its clock, s."""
    join_s: float
    """Intervals of one answer less than this apart are one, s."""


@dataclass(frozen=True)
class Rules:
    """How one benchmark's file is read and its answers scored."""

    kind: str
    load: Callable[[Path], Sequence[Question]]
    windows: Callable[[Question, ArrayLike], Windows] = _marked
    """Evidence windows of a question over the 30-second episodes [n, 2] of its recording."""
    masks: Callable[[Sequence[Question]], Masks] = type_masks
    correct: Callable[[Question, str, str | None], bool | None] = _letter
    """Of a question, an answer's text and its letter; None where only a judge can tell."""
    judged: Callable[[Judge, Question, str], Judgement] | None = None
    """How a judge grades an open answer."""
    graded: Callable[[Question], bool] = lambda question: True
    """Whether the judge grades this question."""
    reference: Callable[[Question], str] | None = None
    """The reference that the similarity of an answer is measured to; None: it is not measured."""
    grounded: Grounded | None = None
    """How answers name their evidence; None: no evidence is asked for."""
    complete: bool = False
    """Whether evidence counts when every window was reached, or when any was."""
    anchors: str = ""
    """The benchmark's name among the published figures."""
    sensitivity: tuple[egolifeqa.Sensitivity, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)
    """Reading parameters that the paper sets for it."""

    @property
    def evidence_in(self) -> tuple[float, float] | None:
        """The stretch of the recording clock, s, that an answer names its evidence in, if any."""
        return None if self.grounded is None else (0.0, self.grounded.duration_s)


KINDS: Mapping[str, Rules] = {
    rules.kind: rules
    for rules in (
        Rules("own", own.load, masks=own.masks, correct=_own, complete=True),
        Rules(
            "egolifeqa",
            egolifeqa.load,
            egolifeqa.windows,
            egolifeqa.masks,
            _egolife,
            anchors="EgoLifeQA",
            sensitivity=("ambiguous wrong", "ambiguous by text"),
        ),
        Rules("egor1", egor1.load, egolifeqa.windows, anchors="Ego-R1-Bench"),
        *(
            Rules(
                f"mmlifelong-{layout}",
                partial(mmlifelong.load, layout=layout),
                judged=_lifelong,
                anchors=f"MM-Lifelong Test@{layout.capitalize()}",
            )
            for layout in ("day", "week", "month")
        ),
        Rules(
            "multihop",
            multihop.load,
            lambda question, units: multihop.windows(question),
            multihop.masks,
            judged=_multihop,
            graded=lambda question: not multihop.asks_when(question),
            reference=multihop.reference,
            grounded=Grounded(multihop.DURATION_S, join_s=multihop.JOIN_S),
            complete=True,
            anchors="MultiHop-EgoQA",
            reading={"budget": {"units": 3, "observations": 1}},
        ),
    )
}


def rules_of(kind: str) -> Rules:
    """Raises GebError for a benchmark that has no rules here."""
    if kind not in KINDS:
        raise GebError(f"no rules for '{kind}'; there are {', '.join(KINDS)}")
    return KINDS[kind]
