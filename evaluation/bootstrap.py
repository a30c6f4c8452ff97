"""Confidence intervals over questions by the percentile bootstrap (paper, Appendix D; spec 5.5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geb_assets.errors import GebError

LEVELS = (2.5, 97.5)
"""Percentiles of a 95 % interval."""

_Z = 1.96
_BLOCK = 1_000_000
"""Drawn rows are averaged in blocks of this many scores, to bound memory."""


def one_sample(
    scores: ArrayLike,
    *,
    anchor: float = 0.0,
    resamples: int = 2000,
    seed: int = 0,
    anchor_sd: float | None = None,
) -> tuple[float, float]:
    """The 95 % interval (low, high) of the mean score minus a constant anchor.

    ``scores``: one a question [N], or one a question and run [N, R], of which each question's mean
    over its runs is drawn. ``anchor_sd``, the anchor's standard deviation over seeds, is added in
    quadrature: each side becomes sqrt(side^2 + (1.96 anchor_sd)^2).
    Raises GebError for no question, or a score that is missing or not finite.
    """
    values = _per_question(scores)
    low, high = np.percentile(_resampled_means(values, resamples, seed), LEVELS)
    if anchor_sd is not None:
        mean, spread = values.mean(), _Z * anchor_sd
        low, high = mean - np.hypot(mean - low, spread), mean + np.hypot(high - mean, spread)
    return float(low - anchor), float(high - anchor)


def paired(
    a: ArrayLike, b: ArrayLike, *, resamples: int = 2000, seed: int = 0
) -> tuple[float, float]:
    """The 95 % interval (low, high) of mean(a) - mean(b), both drawn by the same questions.

    ``a`` and ``b``: as ``scores`` of :func:`one_sample`, question by question in the same order.
    Raises GebError where they are not of the same questions.
    """
    first, second = _per_question(a), _per_question(b)
    if len(first) != len(second):
        raise GebError(
            f"{len(first)} questions against {len(second)}; a paired interval needs the same ones"
        )
    return one_sample(first - second, resamples=resamples, seed=seed)


def _per_question(scores: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim not in (1, 2) or values.size == 0:
        raise GebError(f"scores of shape {values.shape}: give one a question, or [questions, runs]")
    if not np.isfinite(values).all():
        missing = int((~np.isfinite(values)).sum())
        raise GebError(f"{missing} scores are missing; leave those questions out and say how many")
    return values.mean(axis=1) if values.ndim == 2 else values


def _resampled_means(values: NDArray[np.float64], resamples: int, seed: int) -> NDArray[np.float64]:
    """Means of ``resamples`` draws of len(values) questions with replacement: [resamples]."""
    rng = np.random.default_rng(seed)
    count = len(values)
    block = max(1, _BLOCK // count)
    return np.concatenate(
        [
            values[rng.integers(0, count, size=(min(block, resamples - done), count))].mean(axis=1)
            for done in range(0, resamples, block)
        ]
    )
