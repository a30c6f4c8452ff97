"""Brief, whole-frame and overlay boxes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from geb_assets.parameters import Observations
from geb_assets.writing.observations.filters import ClipFacts, least_frames, reasons
from geb_assets.writing.observations.subjects import Subject

EMBEDDED = Observations(overlay_iou=0.8, overlay_still_iou=0.85)


def clip(number: int, *, motion: float = 5.0, fps: float = 10.0) -> ClipFacts:
    return ClipFacts(f"c{number}", 30.0 * number, 30.0 * number + 30, fps, 640, 480, motion)


def seen(boxes: NDArray[np.float64]) -> Subject:
    count = len(boxes)
    return Subject(
        tracks=("t",),
        frames=np.arange(count, dtype=np.int32),
        times=np.arange(count) / 10,
        boxes=boxes.astype(np.float32),
        confidence=np.full(count, 0.5, np.float32),
        labels=np.array(["cup"] * count),
    )


def still(box: tuple[float, float, float, float], *, count: int = 60, seed: int = 0) -> Subject:
    """A box that stays at its place, with the detector's jitter."""
    jitter = np.random.default_rng(seed).normal(0, 1.5, (count, 4))
    return seen(np.array(box) + jitter)


def drifting(box: tuple[float, float, float, float], *, count: int = 60) -> Subject:
    return seen(np.array(box) + np.arange(count)[:, None] * 3.0)


LOGO = (20.0, 20.0, 130.0, 120.0)


@given(
    st.integers(1, 80),
    st.sampled_from([1.0, 7.5, 10.0, 29.97, 30.0]),
    st.sampled_from([0.5, 2.0, 3.0]),
)
def test_visible_time_decides(count: int, fps: float, least_s: float) -> None:
    parameters = Observations(min_visible_s=least_s)
    assert (count >= least_frames(fps, parameters)) == (count / fps >= least_s - 1e-9)


def test_gaps_do_not_count_as_visible() -> None:
    sparse = still((200, 200, 300, 300), count=19)
    object.__setattr__(sparse, "frames", np.arange(0, 190, 10, dtype=np.int32))
    assert reasons([[sparse]], [clip(0)], Observations()) == [["brief"]]


@pytest.mark.parametrize(
    ("box", "dropped"),
    [
        ((0, 0, 640, 480), True),
        ((10, 10, 635, 475), True),  # 94.6 %
        ((20, 20, 620, 460), False),  # 85.9 %, away from the borders
        ((1, 1, 639, 400), False),  # three borders
    ],
)
def test_whole_frame(box: tuple[float, ...], dropped: bool) -> None:
    found = reasons([[seen(np.tile(np.array(box, float), (30, 1)))]], [clip(0)], Observations())
    assert found == [["whole frame" if dropped else None]]


def test_whole_frame_by_borders() -> None:
    # The median box touches all four borders although the median area is below nine tenths.
    boxes = np.tile(np.array([0.0, 0, 640, 480]), (30, 1))
    boxes[0:12, 0], boxes[12:24, 3] = 90, 400
    parameters = Observations(whole_frame_area=0.99)
    assert reasons([[seen(boxes)]], [clip(0)], parameters) == [["whole frame"]]


def test_an_overlay_is_dropped_in_every_clip() -> None:
    groups = [
        [
            still(LOGO, seed=number),
            drifting((200, 100, 260, 160)),
            still((300, 300, 360, 360), seed=9),
        ]
        for number in range(2)
    ]
    groups.append([still(LOGO, seed=7), still((30, 30, 70, 90), seed=8)])  # camera at rest here
    clips = [clip(0), clip(1), clip(2, motion=0.2)]
    groups[1].pop()  # the third box of the first clip is held still once only
    found = reasons(groups, clips, EMBEDDED)
    assert found == [["overlay", None, None], ["overlay", None], ["overlay", "overlay"]]


@pytest.mark.parametrize(
    ("motions", "reason"),
    [
        ([5.0, 5.0, 5.0], "overlay"),
        ([5.0, 5.0], None),  # fewer clips than the rule needs
        ([0.5, 0.5, 0.5], None),  # a fixed camera: everything stands still
        ([5.0, 0.5, 0.5], None),  # one clip proves nothing
    ],
)
def test_when_the_automatic_rule_speaks(motions: list[float], reason: str | None) -> None:
    clips = [clip(number, motion=motion) for number, motion in enumerate(motions)]
    groups = [[still(LOGO, seed=number)] for number in range(len(clips))]
    assert reasons(groups, clips, EMBEDDED) == [[reason]] * len(clips)


def test_a_share_of_the_clips_has_to_hold_it() -> None:
    clips = [clip(number) for number in range(10)]
    groups: list[list[Subject]] = [[still(LOGO, seed=n)] if n < 2 else [] for n in range(10)]
    assert reasons(groups, clips, EMBEDDED)[0] == [None]
    groups[2] = [still(LOGO, count=5)]
    assert reasons(groups, clips, EMBEDDED)[:3] == [["overlay"], ["overlay"], ["brief"]]


def test_large_or_moving_boxes_are_no_overlays() -> None:
    clips = [clip(number) for number in range(3)]
    large = [[still((100, 100, 400, 300), seed=n)] for n in range(3)]
    assert reasons(large, clips, EMBEDDED) == [[None]] * 3
    moving = [[drifting(LOGO)] for _ in range(3)]
    assert reasons(moving, clips, EMBEDDED) == [[None]] * 3


def test_an_explicit_region_needs_no_proof() -> None:
    region = Observations(overlay_regions=((0.0, 0.0, 0.25, 0.3),))
    assert reasons([[still(LOGO), still((100, 100, 300, 300))]], [clip(0)], region) == [
        ["overlay", None]
    ]
