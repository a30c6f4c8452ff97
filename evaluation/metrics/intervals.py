"""Temporal grounding: predicted against gold intervals, as MultiHop-EgoQA scores it (spec 5.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geb_assets.errors import GebError

Mode = Literal["released", "merged"]

Intervals: TypeAlias = ArrayLike
"""Pairs [n, 2] of first and last second, both inside; one bare pair also counts as one interval."""

IOU_THRESHOLD = 0.3


def interval_scores(
    predicted: Intervals, gold: Intervals, *, mode: Mode = "released"
) -> tuple[float, float, float]:
    """Intersection over union, over predicted and over gold seconds: (IoU, IoP, IoG).

    Intervals are inclusive integer seconds, so [3, 5] lasts 3. ``released`` sums intersections and
    lengths over all pairs, as the benchmark's script does: overlapping intervals count double and a
    score can exceed 1. ``merged`` counts every second once. Without a prediction: zeros.
    Raises GebError for what is no list of pairs of finite numbers.
    """
    p, g = _pairs(predicted, "predicted"), _pairs(gold, "gold")
    if mode == "merged":
        p, g = _merged(p), _merged(g)
    shared = np.minimum(p[:, None, 1], g[None, :, 1]) - np.maximum(p[:, None, 0], g[None, :, 0]) + 1
    intersection = float(np.maximum(shared, 0.0).sum())
    of_predicted = float((p[:, 1] - p[:, 0] + 1).sum())
    of_gold = float((g[:, 1] - g[:, 0] + 1).sum())
    union = of_predicted + of_gold - intersection
    return (
        intersection / union if union else 0.0,
        intersection / of_predicted if of_predicted else 0.0,
        intersection / of_gold if of_gold else 0.0,
    )


def joined(intervals: Intervals, gap_s: float) -> list[tuple[float, float]]:
    """The intervals by time, those that overlap or lie less than ``gap_s`` apart made one.

    Raises GebError for what is no list of pairs of finite numbers.
    """
    found: list[tuple[float, float]] = []
    for start, end in sorted(_pairs(intervals, "predicted").tolist()):
        if found and start - found[-1][1] < gap_s:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


@dataclass(frozen=True)
class Grounding:
    """Grounding over a set of questions."""

    iou_at: float
    """Fraction of all questions with IoU > 0.3, those without a prediction among them."""
    mean_iou: float | None
    mean_iop: float | None
    mean_iog: float | None
    """Means over the questions that predicted an interval; None where none did."""
    questions: int
    predicted: int


def grounding(
    predicted: Sequence[Intervals], gold: Sequence[Intervals], *, mode: Mode = "released"
) -> Grounding:
    """IoU@0.3 over all questions, means over those that predicted (spec 5.4, strict ``>``).

    Raises GebError where there is no question, or not one prediction (perhaps empty) for each.
    """
    if len(predicted) != len(gold) or not gold:
        raise GebError(
            f"{len(predicted)} predictions for {len(gold)} questions; "
            "give one for each question, an empty one where nothing was predicted"
        )
    scores = np.array(
        [interval_scores(p, g, mode=mode) for p, g in zip(predicted, gold, strict=True)]
    )
    given = np.array([np.size(p) > 0 for p in predicted])
    iou, iop, iog = scores[given].mean(axis=0).tolist() if given.any() else (None, None, None)
    return Grounding(
        iou_at=float((scores[:, 0] > IOU_THRESHOLD).mean()),
        mean_iou=iou,
        mean_iop=iop,
        mean_iog=iog,
        questions=len(gold),
        predicted=int(given.sum()),
    )


def _pairs(intervals: Intervals, role: str) -> NDArray[np.float64]:
    try:
        array = np.asarray(intervals, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.full(1, np.nan)
    if array.size == 0:
        return np.empty((0, 2))
    if array.shape == (2,):
        array = array[None]
    if array.ndim != 2 or array.shape[1] != 2 or not np.isfinite(array).all():
        raise GebError(
            f"{role} intervals {intervals!r:.80} are no pairs; write [[9, 15], [120, 135]]"
        )
    return array


def _merged(pairs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same seconds as disjoint pairs."""
    pairs = pairs[pairs[:, 1] >= pairs[:, 0]]
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    if len(pairs) == 0:
        return pairs
    reach = np.maximum.accumulate(pairs[:, 1])
    opens = np.concatenate([[True], pairs[1:, 0] > reach[:-1] + 1])
    closes = np.concatenate([opens[1:], [True]])
    return np.stack([pairs[opens, 0], reach[closes]], axis=1)
