from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from geb_assets.errors import GebError
from resources.detector import Detections
from resources.tracker import Tracker
from resources.tracker.botsort import BotSort, BotSortSettings
from resources.tracker.boxmot import BoxMot, BoxMotOptions

FPS = 5.0


VISION = pytest.mark.vision


def boxmot(method: str, **options: Any) -> BoxMot:
    return BoxMot(BoxMotOptions(method=method, **options), BotSortSettings())  # type: ignore[arg-type]


ADAPTERS = {
    "trackers": BotSort,
    "boxmot": partial(boxmot, "botsort"),
    "bytetrack": partial(boxmot, "bytetrack"),
    "ocsort": partial(boxmot, "ocsort"),
}


def _marked(*names: str) -> list[Any]:
    return [name if name == "trackers" else pytest.param(name, marks=VISION) for name in names]


@pytest.fixture(params=_marked(*ADAPTERS))
def tracker(request: pytest.FixtureRequest) -> Tracker:
    made: Tracker = ADAPTERS[request.param]()
    return made


@pytest.fixture(params=_marked("trackers", "boxmot"))
def watching(request: pytest.FixtureRequest) -> Tracker:
    """A tracker that reads frames, for the camera's motion."""
    made: Tracker = ADAPTERS[request.param]()
    return made


def found(*boxes: tuple[float, float, float, float], confidence: float = 0.9) -> Detections:
    return Detections(
        np.array(boxes, np.float32).reshape(-1, 4),
        np.full(len(boxes), confidence, np.float32),
        ("thing",) * len(boxes),
    )


def scene(frames: int, pan: Sequence[int] | None = None) -> list[NDArray[np.uint8]]:
    """Frames of a textured world; ``pan`` is where the camera looks, in pixels to the right."""
    rng = np.random.default_rng(7)
    world = cv2.resize(rng.integers(0, 255, (20, 60, 3), dtype=np.uint8), None, fx=24, fy=24)
    return [np.asarray(world[:480, x : x + 640], np.uint8) for x in pan or [0] * frames]


def test_two_subjects_keep_their_numbers(tracker: Tracker) -> None:
    detections = [
        found((100 + 4 * i, 100, 160 + 4 * i, 180), (400 - 4 * i, 200, 470 - 4 * i, 300))
        for i in range(10)
    ]
    # The order of the boxes in a frame must not matter.
    swapped = [
        d if i % 2 else Detections(d.boxes[::-1].copy(), d.confidence, d.labels)
        for i, d in enumerate(detections)
    ]
    numbers = tracker.track(swapped, scene(10), FPS)
    straight = [n if i % 2 else n[::-1] for i, n in enumerate(numbers)]
    assert all(n.dtype == np.int64 for n in numbers)
    assert len({tuple(n) for n in straight}) == 1
    assert len(set(straight[0].tolist())) == 2
    assert min(straight[0]) >= 0


def test_nothing_is_carried_to_the_next_clip(tracker: Tracker) -> None:
    detections = [found((100, 100, 200, 200)) for _ in range(6)]
    first = tracker.track(detections, scene(6), FPS)
    second = tracker.track(detections, scene(6), FPS)
    np.testing.assert_array_equal(first, second)
    assert first[-1].tolist() == [0]


def test_frames_without_detections(tracker: Tracker) -> None:
    detections = [found(), found((10, 10, 90, 90)), found(), found((10, 10, 90, 90)), found()]
    numbers = tracker.track(detections, scene(5), FPS)
    assert [len(n) for n in numbers] == [0, 1, 0, 1, 0]
    assert tracker.track([], [], FPS) == []


@pytest.mark.parametrize("frames", [4, 6])
def test_frames_and_detections_must_agree(watching: Tracker, frames: int) -> None:
    with pytest.raises(GebError, match="frames than detections"):
        watching.track([found((0, 0, 9, 9))] * 5, scene(frames), FPS)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.tuples(*[st.integers(0, 300)] * 2), max_size=5), max_size=8))
def test_one_number_a_frame_each(clip: list[list[tuple[int, int]]]) -> None:
    detections = [found(*((x, y, x + 60, y + 60) for x, y in frame)) for frame in clip]
    numbers = BotSort(BotSortSettings(compensate_camera=False)).track(detections, [], FPS)
    for frame, row in zip(detections, numbers, strict=True):
        assert row.shape == (len(frame),)
        seen = row[row >= 0]
        assert len(set(seen.tolist())) == len(seen)


# The camera jerks by more than the thing's width.
PAN = [300, 300, 300, 340, 340, 340, 300, 300, 345, 345, 305, 305]
STANDING = [found((700 - x, 200, 730 - x, 260)) for x in PAN]


def test_the_cameras_motion_is_taken_out(watching: Tracker) -> None:
    compensated = watching.track(STANDING, scene(12, PAN), FPS)
    blind = BotSort(BotSortSettings(compensate_camera=False)).track(STANDING, [], FPS)
    assert {int(n[0]) for n in compensated} == {0}
    assert len({int(n[0]) for n in blind}) > 1


def test_small_gray_frames_do_as_well(watching: Tracker) -> None:
    small = [
        np.asarray(cv2.resize(cv2.cvtColor(f, cv2.COLOR_BGR2GRAY), (320, 240)), np.uint8)
        for f in scene(12, PAN)
    ]
    assert {int(n[0]) for n in watching.track(STANDING, small, FPS, scale=2.0)} == {0}


# ---- On BoxMOT ----------------------------------------------------------------------------------


@VISION
@pytest.mark.parametrize("method", ["botsort", "bytetrack", "ocsort"])
def test_real_detections_keep_their_people(
    method: str, record_property: pytest.RecordProperty
) -> None:
    """TUD-Campus, without its pictures: IDF1 beside that of the embedded tracker."""
    from evaluation.bench.tracking import measure, read_mot

    data = os.environ.get("GEB_DATA")
    if not data:
        pytest.skip("TUD-Campus is read from $GEB_DATA/mot, which is not set")
    folder = Path(data) / "mot"
    found = read_mot(folder / "TUD-Campus.det.txt")
    assert len(found) == 71  # frames count from 1, and the last one is not lost
    assert all(
        (rows[:, 3] > rows[:, 1]).all() and (rows[:, 4] > rows[:, 2]).all() for rows in found
    )
    figures = measure(boxmot(method, compensate_camera=False), folder)
    beside = measure(BotSort(BotSortSettings(compensate_camera=False)), folder)
    record_property("figures", {method: figures, "trackers": beside})
    print(f"TUD-Campus {method} {figures}; trackers {beside}")
    assert figures["idf1"] > beside["idf1"] - 0.1
    assert 8 <= figures["tracks"] <= 40


@VISION
def test_lost_subjects_wait_as_long_as_is_said() -> None:
    """Two seconds at five frames a second are ten frames, whatever the library counts in."""
    still = found((100, 100, 200, 200))
    for gap, same in ((9, True), (12, False)):
        clip = [still] * 3 + [found()] * gap + [still] * 3
        numbers = boxmot("botsort", compensate_camera=False).track(clip, [], FPS)
        assert bool(numbers[0][0] == numbers[-1][0]) == same, gap
