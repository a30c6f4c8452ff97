"""Interval scores against the released rules, written plainly, and against published metrics."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.metrics.intervals import Mode, grounding, interval_scores, joined
from geb_assets.errors import GebError

Pair = tuple[int, int]
pairs = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 20)).map(lambda p: (p[0], p[0] + p[1])), max_size=5
)
some_pairs = pairs.filter(bool)


def plain_released(predicted: list[Pair], gold: list[Pair]) -> tuple[float, float, float]:
    """The released rule: closed seconds, every pair of intervals counted on its own."""
    shared = 0
    for a, b in predicted:
        for c, d in gold:
            shared += len(set(range(a, b + 1)) & set(range(c, d + 1)))
    p = sum(len(range(a, b + 1)) for a, b in predicted)
    g = sum(len(range(c, d + 1)) for c, d in gold)
    union = p + g - shared
    return (shared / union if union else 0, shared / p if p else 0, shared / g if g else 0)


def plain_merged(predicted: list[Pair], gold: list[Pair]) -> tuple[float, float, float]:
    """Each second once."""
    p = {second for a, b in predicted for second in range(a, b + 1)}
    g = {second for a, b in gold for second in range(a, b + 1)}
    return (
        len(p & g) / len(p | g) if p | g else 0,
        len(p & g) / len(p) if p else 0,
        len(p & g) / len(g) if g else 0,
    )


MODES = {"released": plain_released, "merged": plain_merged}


@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=100, deadline=None)
@given(predicted=pairs, gold=some_pairs)
def test_scores_equal_the_plain_rule(mode: Mode, predicted: list[Pair], gold: list[Pair]) -> None:
    assert interval_scores(predicted, gold, mode=mode) == MODES[mode](predicted, gold)


@pytest.mark.parametrize("mode", MODES)
def test_scores_equal_the_plain_rule_on_thousands(mode: Mode) -> None:
    draw = random.Random(7)

    def drawn(least: int) -> list[Pair]:
        starts = [draw.randint(0, 60) for _ in range(draw.randint(least, 5))]
        return [(start, start + draw.randint(0, 20)) for start in starts]

    for _ in range(4000):
        predicted, gold = drawn(0), drawn(1)
        assert interval_scores(predicted, gold, mode=mode) == MODES[mode](predicted, gold)


def test_what_distinguishes_the_two_modes() -> None:
    twice = [[0, 9], [0, 9]]
    assert interval_scores(twice, [[0, 9]]) == (2.0, 1.0, 2.0)
    assert interval_scores(twice, [[0, 9]], mode="merged") == (1.0, 1.0, 1.0)


def test_no_prediction_is_zeros_and_a_bare_pair_is_one_interval() -> None:
    assert interval_scores([], [[3, 5]]) == (0.0, 0.0, 0.0)
    assert interval_scores([3, 5], [3, 5]) == (1.0, 1.0, 1.0)
    assert interval_scores(np.array([[3, 3]]), [[3, 5]]) == (1 / 3, 1.0, 1 / 3)


@pytest.mark.parametrize("bad", [[[1, 2, 3]], "[[1, 2]]", [["a", "b"]], [[1, float("nan")]], [1]])
def test_what_is_no_pair_is_refused(bad: object) -> None:
    with pytest.raises(GebError, match="no pairs"):
        interval_scores(bad, [[1, 2]])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(pairs, some_pairs), min_size=1, max_size=8))
def test_grounding_denominators(cases: list[tuple[list[Pair], list[Pair]]]) -> None:
    """IoU@0.3 over all questions, strictly above; means over those that predicted."""
    found = grounding([p for p, _ in cases], [g for _, g in cases])
    scores = [plain_released(p, g) for p, g in cases if p]
    assert found.iou_at == pytest.approx(sum(s[0] > 0.3 for s in scores) / len(cases))
    assert (found.predicted, found.questions) == (len(scores), len(cases))
    means = (found.mean_iou, found.mean_iop, found.mean_iog)
    if scores:
        assert means == pytest.approx(tuple(np.mean(scores, axis=0)))
    else:
        assert means == (None, None, None)


def test_the_threshold_is_strict() -> None:
    assert interval_scores([[0, 2]], [[0, 9]])[0] == 0.3
    assert grounding([[[0, 2]]], [[[0, 9]]]).iou_at == 0.0
    with pytest.raises(GebError, match="one for each question"):
        grounding([], [[[0, 9]]])


def plain_join(pairs: list[Pair]) -> list[Pair]:
    """The released rule: in order of start, joined on overlap or a gap below 8 s."""
    merged: list[list[int]] = []
    for start, end in sorted(pairs, key=lambda pair: pair[0]):
        if merged and (start <= merged[-1][1] or start - merged[-1][1] < 8):
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return [(start, end) for start, end in merged]


@given(pairs)
def test_intervals_are_joined_as_released(predicted: list[Pair]) -> None:
    assert joined(predicted, 8) == plain_join(predicted)


def qvhighlights() -> Path:
    if "GEB_DATA" not in os.environ:
        pytest.skip("GEB_DATA is not set: QVHighlights' predictions and metrics are not here")
    return Path(os.environ["GEB_DATA"]) / "qvhighlights"


@pytest.mark.parametrize("length", ["full", "short", "middle", "long"])
def test_recall_of_qvhighlights_sample_predictions(length: str) -> None:
    """MR-R1 at ten thresholds, as published for the sample predictions.

    The metric that is the same is the IoU of one predicted and one gold window. Windows there lie
    on 2-second clips, so [s, e) is the inclusive clips [s/2, e/2 - 1] and the IoU in clips is the
    IoU in seconds. Their mAP ranks ten windows, which no metric here does.
    """
    folder = qvhighlights()
    gold = [json.loads(line) for line in (folder / "highlight_val_release.jsonl").open()]
    said = [json.loads(line) for line in (folder / "sample_val_preds.jsonl").open()]
    published = json.loads((folder / "sample_val_preds_metrics_raw.json").read_text())
    first = {each["qid"]: each["pred_relevant_windows"][0][:2] for each in said}
    low, high = {"short": (0, 10), "middle": (10, 30), "long": (30, 150), "full": (0, 150)}[length]

    def clips(window: list[float]) -> list[int]:
        return [round(window[0] / 2), round(window[1] / 2) - 1]

    best = []
    for each in gold:
        kept = [w for w in each["relevant_windows"] if low < w[1] - w[0] <= high]
        if kept:
            own = clips(first[each["qid"]])
            best.append(max(interval_scores([own], [clips(w)])[0] for w in kept))
    assert len(best) > 100
    for threshold, value in published[length]["MR-R1"].items():
        ours = 100 * float(np.mean([score >= float(threshold) for score in best]))
        assert ours == pytest.approx(value, abs=0.0051), threshold
