"""How far the whole picture moves from one sampled frame to the next."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

_SIDE = 160


def shrink(image: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The picture gray at a long side of 160 px, as ``displacement`` compares it."""
    height, width = image.shape[:2]
    scale = _SIDE / max(height, width)
    small = cv2.resize(
        image, (max(8, round(width * scale)), max(8, round(height * scale))),
        interpolation=cv2.INTER_AREA,
    )  # fmt: skip
    return np.asarray(cv2.cvtColor(small, cv2.COLOR_BGR2GRAY), np.float32)


def displacement(
    before: NDArray[np.float32], after: NDArray[np.float32], source_side: int
) -> float:
    """Translation between two shrunk frames by phase correlation, px of the source frame."""
    window = cv2.createHanningWindow((before.shape[1], before.shape[0]), cv2.CV_32F)
    (dx, dy), _ = cv2.phaseCorrelate(before, after, window)
    return float(np.hypot(dx, dy)) * source_side / _SIDE
