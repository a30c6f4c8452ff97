"""The tracker's role: which boxes of a clip are one subject."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from resources.detector import Detections
from resources.identity import ModelIdentity


class Tracker(Protocol):
    """Joins the detections of one clip into tracks."""

    @property
    def identity(self) -> ModelIdentity: ...

    def track(
        self,
        detections: Sequence[Detections],
        frames: Iterable[NDArray[np.uint8]],
        fps: float,
        *,
        scale: float = 1.0,
    ) -> list[NDArray[np.int64]]:
        """One int64 array a frame, aligned with its detections: track number, or -1 for none.

        ``frames`` are the clip's sampled frames in order, ``fps`` a second, all of one size;
        ``scale`` is source pixels (those of the boxes) per frame pixel, for frames handed over
        smaller. A track number occurs at most once in a frame; numbers start at 0 in every call,
        and nothing is carried from one call to the next.
        Raises GebError where ``frames`` and ``detections`` differ in number.
        """
        ...
