from __future__ import annotations

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.bench.identity_features import LABELS, at_false_accepts, auc
from evaluation.bench.tracking import iou, main

scores = st.lists(st.integers(0, 20), min_size=1, max_size=30).map(lambda x: np.array(x) / 20)


@given(scores, scores)
def test_auc_is_the_chance_to_score_above(true: np.ndarray, false: np.ndarray) -> None:
    wins = [(t > f) + (t == f) / 2 for t in true for f in false]
    assert auc(true, false) == pytest.approx(np.mean(wins))


@given(scores, scores, st.sampled_from([0.0, 0.02, 0.05, 0.5]))
def test_no_more_false_accepts_than_allowed(
    true: np.ndarray, false: np.ndarray, share: float
) -> None:
    accepted, threshold = at_false_accepts(true, false, share)
    assert (false >= threshold).mean() <= share
    assert accepted == (true >= threshold).mean()


def test_labels_hold_boxes_and_no_pictures() -> None:
    with LABELS.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 100
    for row in rows:
        assert int(row["x1"]) < int(row["x2"])
        assert int(row["y1"]) < int(row["y2"])
        assert row["identity"]
        assert row["label"]


def test_iou_of_a_half() -> None:
    a = np.array([[0.0, 0.0, 2.0, 2.0]])
    np.testing.assert_allclose(iou(a, np.array([[0.0, 0.0, 2.0, 1.0], [5, 5, 6, 6]])), [[0.5, 0]])


def test_without_data_it_says_what_it_skipped(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GEB_DATA", raising=False)
    assert main(["--json"]) == 0
    captured = capsys.readouterr()
    assert captured.out.strip() == '{"skipped": ["tud_campus"]}'
    assert "skipped" in captured.err
