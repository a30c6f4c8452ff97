from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.metrics.association import b_cubed, pairwise_scores

LABELS = st.lists(st.tuples(st.integers(-2, 4), st.integers(-2, 4)), max_size=25)


@given(LABELS)
def test_pairwise_counts_pairs(rows: list[tuple[int, int]]) -> None:
    both = true = found = 0
    for i in range(len(rows)):
        for j in range(i):
            same_true, same_found = rows[i][0] == rows[j][0], rows[i][1] == rows[j][1]
            both += same_true and same_found
            true += same_true
            found += same_found
    scores = pairwise_scores([r[0] for r in rows], [r[1] for r in rows])
    assert scores.precision == pytest.approx(both / found if found else 1.0)
    assert scores.recall == pytest.approx(both / true if true else 1.0)
    p, r = scores.precision, scores.recall
    assert scores.f1 == pytest.approx(2 * p * r / (p + r) if p + r else 0.0)


@given(LABELS)
def test_b_cubed_averages_over_rows(rows: list[tuple[int, int]]) -> None:
    precision: list[float] = []
    recall: list[float] = []
    for truth, found in rows:
        same_true = {i for i, r in enumerate(rows) if r[0] == truth}
        same_found = {i for i, r in enumerate(rows) if r[1] == found}
        precision.append(len(same_true & same_found) / len(same_found))
        recall.append(len(same_true & same_found) / len(same_true))
    scores = b_cubed([r[0] for r in rows], [r[1] for r in rows])
    assert scores.precision == pytest.approx(np.mean(precision) if rows else 1.0)
    assert scores.recall == pytest.approx(np.mean(recall) if rows else 1.0)


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="one row each"):
        pairwise_scores([1, 2], [1])
