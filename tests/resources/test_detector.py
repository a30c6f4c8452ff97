from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from geb_assets.errors import GebError
from resources.detector import Detections, Detector
from resources.detector.yolov3_tiny import Yolov3Tiny
from resources.images import Image


@pytest.fixture(params=[Yolov3Tiny])
def detector(request: pytest.FixtureRequest, models: Path) -> Detector:
    made: Detector = request.param(models)
    return made


@pytest.fixture
def scenes(picture: Callable[[str], Image]) -> list[Image]:
    """A photograph each, 240 pixels wide on a gray canvas."""
    made = []
    for name in ("chelsea.png", "astronaut.png", "coffee.png"):
        photo = picture(name)
        photo = cv2.resize(photo, (240, round(240 * photo.shape[0] / photo.shape[1])))
        canvas = np.full((480, 640, 3), 120, np.uint8)
        canvas[100 : 100 + photo.shape[0], 200:440] = photo
        made.append(canvas)
    return made


def assert_equal(a: Detections, b: Detections) -> None:
    np.testing.assert_array_equal(a.boxes, b.boxes)
    np.testing.assert_array_equal(a.confidence, b.confidence)
    assert a.labels == b.labels


def test_shapes_order_and_bounds(detector: Detector, scenes: list[Image]) -> None:
    found = detector.detect(scenes)
    assert len(found) == len(scenes)
    for one, scene in zip(found, scenes, strict=True):
        assert one.boxes.shape == (len(one), 4)
        assert one.boxes.dtype == one.confidence.dtype == np.float32
        assert one.confidence.shape == (len(one),)
        assert np.all((one.confidence > 0) & (one.confidence <= 1))
        assert np.all(np.diff(one.confidence) <= 0)
        assert np.all(one.boxes[:, 2:] > one.boxes[:, :2])
        assert np.all((one.boxes >= 0) & (one.boxes <= np.tile(scene.shape[1::-1], 2)))


def test_what_is_there_is_found_where_it_is(detector: Detector, scenes: list[Image]) -> None:
    for one, label in zip(detector.detect(scenes), ("cat", "person", "cup"), strict=True):
        assert one.labels[0] == label
        centre = one.boxes[0].reshape(2, 2).mean(axis=0)
        assert 200 < centre[0] < 440
        assert 100 < centre[1] < 340


def test_a_frame_does_not_depend_on_its_neighbours(detector: Detector, scenes: list[Image]) -> None:
    for alone, together in zip(
        [detector.detect([scene])[0] for scene in scenes],
        detector.detect(scenes[::-1])[::-1],
        strict=True,
    ):
        assert_equal(alone, together)


def test_nothing_is_an_answer(detector: Detector) -> None:
    assert detector.detect([]) == []
    (blank,) = detector.detect([np.zeros((90, 120, 3), np.uint8)])
    assert blank.boxes.shape == (len(blank), 4)


def test_identity_is_the_weights(detector: Detector) -> None:
    assert detector.identity.name
    assert len(detector.identity.digest) == 64


def test_low_scores_are_not_lost(models: Path, scenes: list[Image]) -> None:
    """OpenCV drops what is under 0.2 unless the network's own threshold is lowered."""
    low = Yolov3Tiny(models, min_confidence=0.05).detect(scenes)
    assert any(np.any((one.confidence > 0.05) & (one.confidence < 0.2)) for one in low)
    high = Yolov3Tiny(models, min_confidence=0.5).detect(scenes)
    assert all(np.all(one.confidence >= 0.5) for one in high)


@pytest.mark.parametrize("wrong", [{"min_confidence": 0.0}, {"nms_iou": 1.5}, {"input_size": 400}])
def test_impossible_settings_are_refused(models: Path, wrong: dict[str, float]) -> None:
    with pytest.raises(GebError, match=next(iter(wrong))):
        Yolov3Tiny(models, **wrong)  # type: ignore[arg-type]


def test_a_wide_frame_is_not_stretched(models: Path, scenes: list[Image]) -> None:
    """Boxes of a wide or tall frame are those of its middle, moved."""
    detector = Yolov3Tiny(models)
    square = np.full((640, 640, 3), 127, np.uint8)
    square[80:560] = scenes[0]
    (wide,), (padded,) = detector.detect([scenes[0]]), detector.detect([square])
    np.testing.assert_allclose(wide.boxes[0] + [0, 80, 0, 80], padded.boxes[0], atol=1)
    tall = np.ascontiguousarray(scenes[0][:, 160:480])
    (found,) = detector.detect([tall])
    assert found.labels[0] == "cat"
    np.testing.assert_allclose(found.boxes[0] + [160, 0, 160, 0], wide.boxes[0], atol=40)
