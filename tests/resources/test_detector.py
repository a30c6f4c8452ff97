from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from geb_assets.errors import GebError
from resources.detector import Detections, Detector
from resources.detector.yolo import Yolo, YoloOptions
from resources.detector.yolov3_tiny import Yolov3Tiny
from resources.images import Image
from tests.resources.tiny import Tiny

VISION = pytest.mark.vision


def yolo(weights: str, **options: Any) -> Yolo:
    """Random weights are sure of nothing: kept from far below any threshold that is of use."""
    chosen = YoloOptions(weights=weights, device="cpu", **options)
    return Yolo(Path(), chosen, min_confidence=1e-6, nms_iou=0.7, max_per_frame=50)


@pytest.fixture(
    params=["yolov3_tiny", pytest.param("yolo", marks=VISION), pytest.param("yoloe", marks=VISION)]
)
def detector(request: pytest.FixtureRequest, models: Path, tiny: Tiny) -> Detector:
    return Yolov3Tiny(models) if request.param == "yolov3_tiny" else yolo(tiny(request.param))


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


def assert_equal(a: Detections, b: Detections, *, atol: float = 0.0) -> None:
    np.testing.assert_allclose(a.boxes, b.boxes, rtol=0, atol=atol)
    np.testing.assert_allclose(a.confidence, b.confidence, rtol=0, atol=atol)
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


def test_what_is_there_is_found_where_it_is(models: Path, scenes: list[Image]) -> None:
    for one, label in zip(Yolov3Tiny(models).detect(scenes), ("cat", "person", "cup"), strict=True):
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
        assert_equal(alone, together, atol=0 if isinstance(detector, Yolov3Tiny) else 1e-3)


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


# ---- On ultralytics -----------------------------------------------------------------------------


@VISION
@pytest.mark.parametrize("kind", ["yolo", "yoloe"])
def test_labels_are_those_of_the_weights(kind: str, tiny: Tiny, scenes: list[Image]) -> None:
    found = [name for one in yolo(tiny(kind)).detect(scenes) for name in one.labels]
    assert found
    names = yolo(tiny(kind))._model.names
    assert "thing 3" in names.values()
    assert set(found) <= set(names.values())


@VISION
def test_frames_of_other_sizes_change_nothing(tiny: Tiny, scenes: list[Image]) -> None:
    detector, tall = yolo(tiny("yolo")), np.ascontiguousarray(scenes[1][:, 160:480])
    mixed = detector.detect([scenes[0], tall, scenes[2]])
    for one, frame in zip(mixed, (scenes[0], tall, scenes[2]), strict=True):
        assert_equal(one, detector.detect([frame])[0], atol=1e-3)


@VISION
def test_the_limits_are_the_models(tiny: Tiny, scenes: list[Image]) -> None:
    options = YoloOptions(weights=tiny("yolo"), device="cpu")
    few = Yolo(Path(), options, min_confidence=1e-6, nms_iou=0.7, max_per_frame=3)
    assert [len(one) for one in few.detect(scenes)] == [3, 3, 3]
    sure = Yolo(Path(), options, min_confidence=0.4, nms_iou=0.7, max_per_frame=300)
    for every, kept in zip(yolo(tiny("yolo")).detect(scenes), sure.detect(scenes), strict=True):
        assert len(kept) < 300 or (every.confidence > 0.4).all()
        assert (kept.confidence >= 0.4).all()


@VISION
def test_boxes_make_tracks(tiny: Tiny, scenes: list[Image]) -> None:
    from resources.tracker.botsort import BotSortSettings
    from resources.tracker.boxmot import BoxMot, BoxMotOptions

    found = yolo(tiny("yoloe")).detect([scenes[0]] * 6)
    # A tracker thinks in confidences of a trained detector.
    sure = [Detections(f.boxes, np.full(len(f), 0.9, np.float32), f.labels) for f in found]
    numbers = BoxMot(BoxMotOptions(), BotSortSettings()).track(sure, [scenes[0]] * 6, 5.0)
    assert [len(row) for row in numbers] == [len(one) for one in found]
    assert max(row.max(initial=-1) for row in numbers) >= 0


@VISION
def test_a_wrong_or_missing_weights_file_is_one_plain_line(tiny: Tiny, tmp_path: Path) -> None:
    frame = np.zeros((64, 64, 3), np.uint8)
    (tmp_path / "cut.pt").write_bytes(Path(tiny("yolo")).read_bytes()[:5000])
    (tmp_path / "text.pt").write_text("not weights")
    for weights, line in (
        (str(tmp_path / "none.pt"), "there is no weights file"),
        (str(tmp_path / "cut.pt"), "cut.pt cannot be loaded by ultralytics"),
        (str(tmp_path / "text.pt"), "text.pt cannot be loaded by ultralytics"),
    ):
        with pytest.raises(GebError, match=line) as refused:
            yolo(weights).detect([frame])
        assert "\n" not in str(refused.value)
    with pytest.raises(GebError, match=r"no-such-weights\.pt cannot be loaded by ultralytics"):
        Yolo(
            tmp_path,
            YoloOptions(weights="no-such-weights.pt", device="cpu"),
            min_confidence=0.1,
            nms_iou=0.7,
            max_per_frame=3,
        ).detect([frame])
    with pytest.raises(GebError, match=r"differs from detector\.sha256"):
        yolo(tiny("yolo"), sha256="0" * 64).detect([frame])


@VISION
def test_no_gpu_where_the_profile_asks_for_one(tiny: Tiny) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    options = YoloOptions(weights=tiny("yolo"))
    detector = Yolo(Path(), options, min_confidence=0.1, nms_iou=0.7, max_per_frame=3)
    with pytest.raises(GebError, match="detector: asks for cuda, and torch sees no GPU here"):
        detector.detect([np.zeros((64, 64, 3), np.uint8)])
