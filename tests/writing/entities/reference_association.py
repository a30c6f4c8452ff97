"""Equation 3 written down plainly: one observation at a time, every entity looked at, everything in float64."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

EQUAL = 1e-12


def plain_associate(
    vectors: NDArray[np.float32],
    *,
    separated: Iterable[tuple[int, int]],
    anchors: Iterable[tuple[int, int]],
    theta_cons: float,
    theta_match: float,
    references: int = 10,
) -> list[int]:
    apart = {frozenset(map(int, pair)) for pair in separated}
    in_place = {frozenset(map(int, pair)) for pair in anchors}
    rows = np.asarray(vectors, dtype=np.float64)
    kept: list[list[int]] = []
    answer: list[int] = []
    for i, v in enumerate(rows):
        best, best_mean = None, -np.inf
        if not np.isnan(v).any():
            for k, refs in enumerate(kept):
                if not refs:
                    continue
                s = [float(np.dot(v, rows[j])) for j in refs]
                matches = max(s) >= theta_match - EQUAL
                anchored = any(frozenset((i, j)) in in_place for j in refs)
                if not (matches or anchored):
                    continue
                if min(s) < theta_cons - EQUAL:
                    continue
                if any(frozenset((i, j)) in apart for j in refs):
                    continue
                mean = sum(s) / len(s)
                if mean > best_mean + EQUAL:
                    best, best_mean = k, mean
        if best is None:
            best = len(kept)
            kept.append([])
        if not np.isnan(v).any():
            kept[best] = [*kept[best], i][-references:]
        answer.append(best)
    return answer
