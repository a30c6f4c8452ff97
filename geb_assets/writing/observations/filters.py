"""Which groups of tracks are no encounter: brief, whole frame, overlay (spec 9.3-9.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from geb_assets.parameters import Observations
from geb_assets.writing.entities.separation import box_iou
from geb_assets.writing.observations.subjects import Subject

_IN_REGION = 0.8
"""Share of a box that lies in an overlay's region when the overlay is what it shows."""

Reason = Literal["brief", "whole frame", "overlay"]


@dataclass(frozen=True)
class ClipFacts:
    """What the filters know of a clip: its id, sampling rate, frame size and global motion.

    ``fps`` 1/s, ``width`` and ``height`` px, ``motion_px`` median px between sampled frames.
    """

    clip: str
    start_s: float
    end_s: float
    fps: float
    width: int
    height: int
    motion_px: float

    @property
    def frame_area(self) -> float:
        return float(self.width * self.height)


def least_frames(fps: float, parameters: Observations) -> int:
    """Visible frames from which a group is an encounter: frames / fps >= min_visible_s (9.3)."""
    return max(1, ceil(parameters.min_visible_s * fps - 1e-9))


def is_whole_frame(subject: Subject, clip: ClipFacts, parameters: Observations) -> bool:
    """Median area from `whole_frame_area`; or from `whole_frame_bordered_area` where the median
    box comes within a pixel of all four borders (9.4)."""
    widths, heights = (subject.boxes[:, 2:] - subject.boxes[:, :2]).T.astype(np.float64)
    share = float(np.median(widths * heights)) / clip.frame_area
    x1, y1, x2, y2 = subject.median_box
    bordered = x1 <= 1 and y1 <= 1 and x2 >= clip.width - 1 and y2 >= clip.height - 1
    return share >= parameters.whole_frame_area or (
        bool(bordered) and share >= parameters.whole_frame_bordered_area
    )


def stands_still(subject: Subject, parameters: Observations) -> bool:
    """Whether its boxes stay where they are: median IoU with their median box >=
    `overlay_still_iou`.

    All boxes count, since a detector's box jitters: those of a picture pasted at one place reach
    0.85 to 0.94 between first and last, and 0.90 to 0.96 with their median (YOLOv3-tiny).
    """
    overlap = box_iou(subject.boxes.astype(np.float64), subject.median_box.astype(np.float64))
    return bool(np.median(overlap) >= parameters.overlay_still_iou)


def overlay_places(
    groups: Sequence[Sequence[Subject]],
    clips: Sequence[ClipFacts],
    parameters: Observations,
) -> NDArray[np.float64]:
    """Boxes of a segment that are proven to be overlays, as shares of the frame, float64 [P, 4].

    A place is proven where boxes of one place (IoU >= `overlay_iou`) stand still although the
    camera moves (> `overlay_motion_px` a frame) in two clips or more, and clips that hold a box
    there make up `overlay_clip_share` of the segment. Needs `overlay_min_clips` clips (9.5).
    """
    if len(clips) < parameters.overlay_min_clips:
        return np.zeros((0, 4))
    boxes, owner, still = [], [], []
    for number, (clip, members) in enumerate(zip(clips, groups, strict=True)):
        moving = clip.motion_px > parameters.overlay_motion_px
        for subject in members:
            if not _is_small(subject, clip, parameters):
                continue
            boxes.append(_share(subject.median_box, clip))
            owner.append(number)
            still.append(
                moving
                and len(subject) >= least_frames(clip.fps, parameters)
                and stands_still(subject, parameters)
            )
    if not any(still):
        return np.zeros((0, 4))
    places, owners, proofs = np.stack(boxes), np.array(owner), np.array(still)
    found = []
    for place in places[proofs]:
        there = box_iou(place, places) >= parameters.overlay_iou
        held_in = len(np.unique(owners[there]))
        proven_in = len(np.unique(owners[there & proofs]))
        if proven_in >= 2 and held_in >= parameters.overlay_clip_share * len(clips) - 1e-9:
            found.append(place)
    return np.stack(found) if found else np.zeros((0, 4))


def reasons(
    groups: Sequence[Sequence[Subject]],
    clips: Sequence[ClipFacts],
    parameters: Observations,
) -> list[list[Reason | None]]:
    """Why each group of each clip of a segment is no encounter, or None where it is one.

    A region of `overlay_regions` and a proven place drop the boxes that lie in them, in any clip
    of the segment: what an overlay covers is not seen. A place also drops boxes with IoU >=
    `overlay_iou`.
    """
    places = overlay_places(groups, clips, parameters)
    regions = np.asarray(parameters.overlay_regions, np.float64).reshape(-1, 4)
    return [
        [_reason(subject, clip, places, regions, parameters) for subject in members]
        for clip, members in zip(clips, groups, strict=True)
    ]


def _reason(
    subject: Subject,
    clip: ClipFacts,
    places: NDArray[np.float64],
    regions: NDArray[np.float64],
    parameters: Observations,
) -> Reason | None:
    if len(subject) < least_frames(clip.fps, parameters):
        return "brief"
    if is_whole_frame(subject, clip, parameters):
        return "whole frame"
    box = _share(subject.median_box, clip)
    covered = _mostly_in(box, np.concatenate([regions, places])).any()
    at_place = (box_iou(box, places) >= parameters.overlay_iou).any()
    return "overlay" if covered or at_place else None


def _is_small(subject: Subject, clip: ClipFacts, parameters: Observations) -> bool:
    x1, y1, x2, y2 = _share(subject.median_box, clip)
    return bool((x2 - x1) * (y2 - y1) < parameters.overlay_max_area)


def _share(box: NDArray[np.float32], clip: ClipFacts) -> NDArray[np.float64]:
    size = np.array([clip.width, clip.height] * 2, np.float64)
    return np.asarray(box.astype(np.float64) / size, np.float64)


def _mostly_in(box: NDArray[np.float64], regions: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether most of the box lies in each region."""
    width = np.minimum(box[2], regions[:, 2]) - np.maximum(box[0], regions[:, 0])
    height = np.minimum(box[3], regions[:, 3]) - np.maximum(box[1], regions[:, 1])
    area = max((box[2] - box[0]) * (box[3] - box[1]), 1e-12)
    inside = np.maximum(width, 0.0) * np.maximum(height, 0.0) / area
    return np.asarray(inside >= _IN_REGION, np.bool_)
