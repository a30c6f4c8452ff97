"""The published figures: one of a kind, each with its place, and consistent with each other."""

from __future__ import annotations

import pytest

from evaluation.anchors import ANCHORS, anchors


def test_each_figure_is_one_of_a_kind_and_placed() -> None:
    keys = [(a.benchmark, a.system, a.metric, a.slice) for a in ANCHORS]
    assert len(set(keys)) == len(keys)
    for anchor in ANCHORS:
        assert any(place in anchor.where for place in ("Abstract", "Section", "Table", "Appendix"))
        assert (anchor.low is None) == (anchor.high is None)
        if anchor.low is not None and anchor.high is not None:
            assert anchor.low <= anchor.value <= anchor.high


def value(benchmark: str, system: str, metric: str) -> float:
    (found,) = [a.value for a in anchors(benchmark, metric) if a.system == system]
    return found


def test_stated_differences_agree_with_stated_figures() -> None:
    hop = "MultiHop-EgoQA"
    full = value(hop, "GEB", "complete coverage")
    for anchor in anchors(hop, "complete coverage minus GEB's"):
        own = value(hop, anchor.system, "complete coverage")
        assert own - full == pytest.approx(anchor.value, abs=0.0011)
    assert value("EgoLifeQA", "GEB", "accuracy") - value(
        "EgoLifeQA", "MAGIC-Video", "accuracy"
    ) == (pytest.approx(4.4))
    assert anchors("EgoLifeQA", "mIoU") == ()
