"""The detector's role: boxes, confidences and labels of what is in a frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from resources.identity import ModelIdentity
from resources.images import Image


@dataclass(frozen=True, eq=False)
class Detections:
    """What was found in one frame, best first.

    ``boxes`` float32 ``[n, 4]`` (x1 y1 x2 y2, pixels of the frame, inside it),
    ``confidence`` float32 ``[n]`` in (0, 1], ``labels`` n strings.
    """

    boxes: NDArray[np.float32]
    confidence: NDArray[np.float32]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def none(cls) -> Detections:
        """A frame in which nothing was found."""
        return cls(np.zeros((0, 4), np.float32), np.zeros(0, np.float32), ())


class Detector(Protocol):
    """Finds the subjects of a frame."""

    @property
    def identity(self) -> ModelIdentity: ...

    def detect(self, frames: Sequence[Image]) -> list[Detections]:
        """One ``Detections`` a frame, in order.

        Sorted by confidence (descending), then box; a frame's result does not depend on the
        other frames of the call.
        """
        ...
