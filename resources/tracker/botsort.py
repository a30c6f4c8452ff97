"""BoT-SORT of the ``trackers`` library (Apache-2.0): motion only, CPU, no torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from geb_assets.errors import GebError
from resources.detector import Detections
from resources.identity import ModelIdentity


@dataclass(frozen=True)
class BotSortSettings:
    """Thresholds of the tracker; confidences and IoUs within [0, 1].

    Set on the embedded detector at 5 frames a second (docs/models.md): its confidences are low, and
    with the library's own thresholds hardly a track lasts two seconds.
    """

    activation: float = 0.25
    """Least confidence that starts a track."""
    high_confidence: float = 0.2
    """Least confidence of the first association; boxes above 0.1 take part in the second."""
    match_iou: float = 0.05
    """Least IoU x confidence of the first association."""
    second_iou: float = 0.2
    """Least IoU of the second association."""
    unconfirmed_iou: float = 0.1
    """Least IoU x confidence that confirms a track begun in the frame before."""
    confirm_frames: int = 2
    """Matched frames after which a track is numbered."""
    buffer_s: float = 2.0
    """How long an unseen track is kept."""
    compensate_camera: bool = True
    """Estimate the camera's motion by sparse optical flow."""
    motion_side: int = 360
    """Long side, in pixels, of the frames that the camera's motion is estimated on."""


class BotSort:
    """Tracker of the embedded profile.

    Frames serve only to estimate the camera's motion: gray ones ([H, W]) do as well as BGR ones,
    and at ``motion_side`` as well as at full size. Without ``compensate_camera`` none is read.
    """

    def __init__(self, settings: BotSortSettings | None = None) -> None:
        self._settings = settings or BotSortSettings()

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity("botsort", "trackers 2.6.1", "")

    def track(
        self,
        detections: Sequence[Detections],
        frames: Iterable[NDArray[np.uint8]],
        fps: float,
        *,
        scale: float = 1.0,
    ) -> list[NDArray[np.int64]]:
        """See :meth:`resources.tracker.Tracker.track`."""
        from supervision import Detections as LibraryDetections
        from trackers import BoTSORTTracker

        s = self._settings
        tracker = BoTSORTTracker(
            lost_track_buffer=round(30 * s.buffer_s),  # the library counts in frames at 30 fps
            frame_rate=fps,
            track_activation_threshold=s.activation,
            minimum_consecutive_frames=s.confirm_frames,
            minimum_iou_threshold_first_assoc=s.match_iou,
            minimum_iou_threshold_second_assoc=s.second_iou,
            minimum_iou_threshold_unconfirmed_assoc=s.unconfirmed_iou,
            high_conf_det_threshold=s.high_confidence,
            enable_cmc=s.compensate_camera,
            cmc_downscale=1,
        )
        motion = motion_frames(frames, s.motion_side) if s.compensate_camera else None
        numbers: list[NDArray[np.int64]] = []
        for found in detections:
            picture, shrink = (None, 1.0) if motion is None else next(motion, (None, 0.0))
            if motion is not None and picture is None:
                raise GebError("tracker: fewer frames than detections; hand over one frame each")
            # Boxes go in at the size of the motion frame: the filter's noise is relative to the
            # box, so the tracker does not mind the unit.
            tracked = tracker.update(
                LibraryDetections(
                    xyxy=found.boxes.astype(np.float64) / (scale * shrink),
                    confidence=found.confidence.astype(np.float64),
                    data={"row": np.arange(len(found))},
                ),
                picture,
            )
            row = np.full(len(found), -1, np.int64)
            if len(tracked):
                row[np.asarray(tracked.data["row"])] = np.asarray(tracked.tracker_id)
            numbers.append(row)
        if motion is not None and next(motion, None) is not None:
            raise GebError("tracker: more frames than detections; hand over one frame each")
        return numbers


def motion_frames(
    frames: Iterable[NDArray[np.uint8]], side: int
) -> Iterator[tuple[NDArray[np.uint8], float]]:
    """Each frame gray, its long side at most ``side``, as three channels; and the shrinkage."""
    for frame in frames:
        gray = frame if frame.ndim == 2 else cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)
        longest = max(gray.shape)
        if longest > side:
            size = (round(gray.shape[1] * side / longest), round(gray.shape[0] * side / longest))
            gray = cv2.resize(gray, size, interpolation=cv2.INTER_AREA)
        picture = np.asarray(cv2.cvtColor(gray, cv2.COLOR_GRAY2BGR), np.uint8)
        yield picture, max(longest / side, 1.0)
