"""The bootstrap against a plain loop, and what it promises."""

from __future__ import annotations

import math
import statistics
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.bootstrap import one_sample, paired
from geb_assets.errors import GebError

scores = st.lists(st.floats(0, 1, width=32), min_size=1, max_size=40)


def percentile(values: list[float], percent: float) -> float:
    """Linear between the two nearest ranks."""
    ranked = sorted(values)
    place = percent / 100 * (len(ranked) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ranked) - 1)
    return ranked[low] + (place - low) * (ranked[high] - ranked[low])


def plain(values: list[float], resamples: int, seed: int) -> tuple[float, float]:
    """Draw as many questions as there are, with replacement, again and again."""
    rng = np.random.default_rng(seed)
    means = [
        statistics.fmean(values[int(rng.integers(0, len(values)))] for _ in values)
        for _ in range(resamples)
    ]
    return percentile(means, 2.5), percentile(means, 97.5)


@settings(max_examples=40, deadline=None)
@given(scores, st.integers(0, 2**32), st.floats(-1, 1))
def test_equals_a_plain_loop(values: list[float], seed: int, anchor: float) -> None:
    low, high = plain(values, 40, seed)
    found = one_sample(values, anchor=anchor, resamples=40, seed=seed)
    assert found == pytest.approx((low - anchor, high - anchor), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40))
def test_paired_is_the_one_sample_of_differences(pairs: list[tuple[float, float]]) -> None:
    a, b = np.array(pairs).T
    assert paired(a, b, resamples=50, seed=4) == one_sample(a - b, resamples=50, seed=4)
    low, high = paired(a, b, resamples=50, seed=4)
    assert paired(b, a, resamples=50, seed=4) == pytest.approx((-high, -low))


@settings(max_examples=40, deadline=None)
@given(scores, st.floats(0, 0.3))
def test_the_anchor_spread_widens_each_side_in_quadrature(values: list[float], sd: float) -> None:
    low, high = one_sample(values, anchor=0.4, resamples=100)
    wide = one_sample(values, anchor=0.4, resamples=100, anchor_sd=sd)
    middle = statistics.fmean(values) - 0.4
    assert wide == pytest.approx(
        (
            middle - math.sqrt((middle - low) ** 2 + (1.96 * sd) ** 2),
            middle + math.sqrt((high - middle) ** 2 + (1.96 * sd) ** 2),
        )
    )


def test_runs_are_averaged_by_question_first() -> None:
    runs = np.random.default_rng(5).random((60, 3))
    assert one_sample(runs) == one_sample(runs.mean(axis=1))
    assert paired(runs, runs[:, 0]) == paired(runs.mean(axis=1), runs[:, 0])


def test_blocks_do_not_change_the_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(2).random(101)
    whole = one_sample(values, resamples=501)
    monkeypatch.setattr("evaluation.bootstrap._BLOCK", 7 * 101)
    assert one_sample(values, resamples=501) == whole


def test_covers_about_95_of_100_true_means() -> None:
    rng = np.random.default_rng(0)
    inside = 0
    for seed in range(200):
        low, high = one_sample(rng.random(100) < 0.7, resamples=300, seed=seed)
        inside += low <= 0.7 <= high
    assert 0.88 <= inside / 200 <= 0.99


def test_1080_questions_take_under_a_tenth_of_a_second() -> None:
    a, b = np.random.default_rng(1).random((2, 1080))
    one_sample(a)
    taken = []
    for _ in range(5):
        # Processor time: what else runs on the machine does not count.
        start = time.process_time()
        paired(a, b)
        taken.append(time.process_time() - start)
    assert min(taken) < 0.1


@pytest.mark.parametrize("bad", [[], [0.5, float("nan")], [[[1.0]]], [float("inf")]])
def test_missing_scores_are_refused(bad: list[float]) -> None:
    with pytest.raises(GebError, match="scores"):
        one_sample(bad)


def test_other_questions_are_refused() -> None:
    with pytest.raises(GebError, match="needs the same ones"):
        paired([1.0, 0.0], [1.0])
