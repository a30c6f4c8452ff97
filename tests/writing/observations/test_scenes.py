"""Scene frames and the boxes drawn on them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from geb_assets.parameters import Observations
from geb_assets.writing.observations.scenes import scene_boxes, scene_frames

PARAMETERS = Observations()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=40, unique=True).map(sorted),
    st.floats(0, 30),
    st.floats(0, 40),
)
def test_spread_evenly_and_snapped(stored: list[int], first: float, span: float) -> None:
    times = np.array(stored, np.float64)
    count = min(max(round((first + span) - first), 3), 30)
    wanted = [first + k * ((first + span) - first) / (count - 1) for k in range(count)]
    near = [min(abs(t - w) for t in stored) for w in wanted]
    chosen = scene_frames(times, first, first + span, PARAMETERS)
    assert sorted(set(chosen.tolist())) == chosen.tolist()
    assert len(chosen) <= count
    for want, least in zip(wanted, near, strict=True):
        assert min(abs(times[chosen] - want)) <= least + 1e-9
    for place in chosen:
        assert any(abs(times[place] - w) <= n + 1e-9 for w, n in zip(wanted, near, strict=True))


def test_both_ends_and_one_a_second() -> None:
    stored = np.arange(30.0)
    assert scene_frames(stored, 2.0, 12.0, PARAMETERS)[[0, -1]].tolist() == [2, 12]
    assert len(scene_frames(stored, 2.0, 12.0, PARAMETERS)) == 10
    assert len(scene_frames(np.arange(90.0), 0.0, 80.0, PARAMETERS)) == 30
    assert scene_frames(stored, 5.0, 7.0, PARAMETERS).tolist() == [5, 6, 7]
    assert scene_frames(stored, 5.1, 5.3, PARAMETERS).tolist() == [5]
    assert scene_frames(np.array([]), 0.0, 5.0, PARAMETERS).tolist() == []


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=20, unique=True).map(sorted),
    st.lists(st.integers(0, 5), min_size=1, max_size=5, unique=True).map(sorted),
)
def test_boxes_are_drawn_within_half_a_second(tenths: list[int], seconds: list[int]) -> None:
    times = np.array(tenths, np.float64) / 10
    boxes = np.arange(len(times) * 4, dtype=np.float32).reshape(-1, 4)
    drawn = scene_boxes(np.array(seconds, np.float64), times, boxes, 0.5)
    for second, box in zip(seconds, drawn, strict=True):
        away = [abs(tenth - 10 * second) for tenth in tenths]
        if min(away) <= 5:
            assert box.tolist() == boxes[away.index(min(away))].tolist()
        else:
            assert np.isnan(box).all()
