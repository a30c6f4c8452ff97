"""BoxMOT's trackers (AGPL-3.0): BoT-SORT as the paper ran it. Needs the extra ``vision``.

Not ultralytics' tracker: its default is another one, and its thresholds drift between releases.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from geb_assets.errors import GebError
from resources.detector import Detections
from resources.identity import ModelIdentity
from resources.options import Options
from resources.torch_models import vision
from resources.tracker.botsort import BotSortSettings, motion_frames

VERSION = "boxmot 25.0.0"
_LOWEST = 0.1
"""Least confidence of any association."""
_CLASSES = {"botsort": "BotSort", "bytetrack": "ByteTrack", "ocsort": "OcSort"}
_BLANK = np.zeros((8, 8, 3), np.uint8)


class BoxMotOptions(Options):
    """Which tracker."""

    method: Literal["botsort", "bytetrack", "ocsort"] = "botsort"
    compensate_camera: bool = True
    """BoT-SORT estimates the camera's motion by sparse optical flow."""


class BoxMot:
    """Tracker on BoxMOT, motion only: no appearance model is fetched.

    Settings as of the embedded tracker. ByteTrack starts tracks from ``high_confidence`` and has
    neither a second nor an unconfirmed threshold of its own; OC-SORT reads ``high_confidence``,
    ``match_iou`` and ``buffer_s``.
    """

    def __init__(self, options: BoxMotOptions, settings: BotSortSettings) -> None:
        self._options = options
        self._settings = settings

    @property
    def identity(self) -> ModelIdentity:
        still = "" if self._compensates else "no camera motion"
        return ModelIdentity(self._options.method, VERSION, "", still)

    @property
    def _compensates(self) -> bool:
        return self._options.method == "botsort" and self._options.compensate_camera

    def _tracker(self, fps: float) -> Any:
        """A tracker of its own for every clip: nothing is carried over."""
        s, kind = self._settings, getattr(vision("boxmot"), _CLASSES[self._options.method])
        logging.getLogger("boxmot").setLevel(logging.WARNING)  # it tells of every tracker made
        lost = max(1, round(s.buffer_s * fps))
        match self._options.method:
            case "botsort":
                # Costs, not scores; a buffer in frames at 30 fps counts frames.
                tracker = kind(
                    track_high_thresh=s.high_confidence,
                    track_low_thresh=_LOWEST,
                    new_track_thresh=s.activation,
                    track_buffer=lost,
                    frame_rate=30,
                    match_thresh=1 - s.match_iou,
                    second_match_thresh=1 - s.second_iou,
                    unconfirmed_match_thresh=1 - s.unconfirmed_iou,
                    fuse_first_associate=True,
                    use_embeddings=False,
                    use_cmc=self._compensates,
                    cmc_method="sof",
                )
                if self._compensates:
                    tracker.cmc.scale = 1.0  # frames come small; it would shrink them to 54 pixels
                return tracker
            case "bytetrack":
                return kind(
                    min_conf=_LOWEST,
                    track_thresh=s.high_confidence,
                    match_thresh=1 - s.match_iou,
                    track_buffer=lost,
                    frame_rate=30,
                )
            case "ocsort":
                return kind(
                    min_conf=_LOWEST,
                    det_thresh=s.high_confidence,
                    max_age=lost,
                    min_hits=s.confirm_frames,
                    iou_threshold=s.match_iou,
                )

    def track(
        self,
        detections: Sequence[Detections],
        frames: Iterable[NDArray[np.uint8]],
        fps: float,
        *,
        scale: float = 1.0,
    ) -> list[NDArray[np.int64]]:
        """See :meth:`resources.tracker.Tracker.track`."""
        if not detections:
            return []
        tracker = self._tracker(fps)
        motion = motion_frames(frames, self._settings.motion_side) if self._compensates else None
        numbers: list[NDArray[np.int64]] = []
        known: dict[int, int] = {}
        for found in detections:
            picture, shrink = (_BLANK, 1.0) if motion is None else next(motion, (None, 1.0))
            if picture is None:
                raise GebError("tracker: fewer frames than detections; hand over one frame each")
            # Boxes go in at the size of the motion frame, as the filter does not mind the unit.
            rows = np.concatenate(
                [
                    found.boxes.astype(np.float64) / (scale * shrink),
                    found.confidence.astype(np.float64)[:, None],
                    np.zeros((len(found), 1)),
                ],
                axis=1,
            )
            tracked = np.asarray(tracker.update(rows, picture))
            row = np.full(len(found), -1, np.int64)
            for number, place in tracked[:, [4, 7]].astype(np.int64).tolist():
                row[place] = known.setdefault(number, len(known))
            numbers.append(row)
        if motion is not None and next(motion, None) is not None:
            raise GebError("tracker: more frames than detections; hand over one frame each")
        return numbers
