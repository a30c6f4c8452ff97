"""How well inferred entities match true identities: pairwise and B-cubed scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class PairwiseScores:
    """Precision, recall and F1; each within [0, 1]."""

    precision: float
    recall: float
    f1: float


def pairwise_scores(truth: ArrayLike, predicted: ArrayLike) -> PairwiseScores:
    """Over all pairs of rows: is a pair of one entity a pair of one identity, and the reverse.

    truth, predicted: int [N], labels of any value. No predicted pair gives precision 1, no true
    pair recall 1. Raises ValueError where the lengths differ.
    """
    cells, _, _, rows, columns = _contingency(truth, predicted)
    both, true, found = _pairs(cells), _pairs(rows), _pairs(columns)
    return _scores(both / found if found else 1.0, both / true if true else 1.0)


def b_cubed(truth: ArrayLike, predicted: ArrayLike) -> PairwiseScores:
    """B-cubed (Bagga and Baldwin 1998): each row's own precision and recall, averaged over rows.

    truth, predicted: int [N], labels of any value. No rows give 1 throughout. Raises ValueError
    where the lengths differ.
    """
    cells, row, column, rows, columns = _contingency(truth, predicted)
    total = int(cells.sum())
    if total == 0:
        return PairwiseScores(1.0, 1.0, 1.0)
    squares = cells.astype(np.float64) ** 2
    return _scores(
        float((squares / columns[column]).sum() / total),
        float((squares / rows[row]).sum() / total),
    )


def _contingency(truth: ArrayLike, predicted: ArrayLike) -> tuple[NDArray[np.int64], ...]:
    """Counts of the non-empty cells, their row and column, and the sums of rows and columns."""
    true, found = np.asarray(truth, np.int64), np.asarray(predicted, np.int64)
    if true.shape != found.shape or true.ndim != 1:
        raise ValueError(f"truth {true.shape} and predicted {found.shape} are not one row each")
    _, row = np.unique(true, return_inverse=True)
    _, column = np.unique(found, return_inverse=True)
    width = int(column.max(initial=-1)) + 1
    cell, counts = np.unique(row * width + column, return_counts=True)
    return (
        counts.astype(np.int64),
        cell // max(width, 1),
        cell % max(width, 1),
        np.bincount(row).astype(np.int64),
        np.bincount(column).astype(np.int64),
    )


def _pairs(counts: NDArray[np.int64]) -> int:
    return int((counts * (counts - 1) // 2).sum())


def _scores(precision: float, recall: float) -> PairwiseScores:
    total = precision + recall
    return PairwiseScores(precision, recall, 2 * precision * recall / total if total else 0.0)
