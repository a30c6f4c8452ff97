"""Boundary anchors: boxes that stay in place across the cut between two consecutive clips.

Source: paper Appendix A "Association"; spec 9.16. An anchor replaces the match condition of
Equation 3 alone; the consistency floor and the separation test still apply.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geb_assets.writing.entities.separation import box_iou

# Clip times are sums of frame durations; a cut without a gap may come out a hair negative.
_CLOCK_ROUNDING_S = 1e-6


def consecutive_clips(
    start_s: ArrayLike, end_s: ArrayLike, day: ArrayLike, *, max_gap_s: float = 1.0
) -> NDArray[np.int64]:
    """Neighbouring clips that a box can stay in place across: int64 [P, 2], (before, after).

    Args:
        start_s, end_s: span of each clip in seconds on the recording clock, float64 [C], in time
            order.
        day: day of each clip, int [C]; two clips of different days are never consecutive.
        max_gap_s: longest gap, in seconds, from the end of one clip to the start of the next.
    """
    start = np.asarray(start_s, dtype=np.float64)
    end = np.asarray(end_s, dtype=np.float64)
    days = np.asarray(day)
    gap = start[1:] - end[:-1]
    near = (gap >= -_CLOCK_ROUNDING_S) & (gap <= max_gap_s + _CLOCK_ROUNDING_S)
    before = np.flatnonzero(near & (days[1:] == days[:-1]))
    return np.column_stack([before, before + 1]).astype(np.int64)


def edge_boxes(
    frames: Sequence[ArrayLike],
    boxes: Sequence[ArrayLike],
    *,
    sampled: ArrayLike,
    edge: Literal["start", "end"],
    within: int = 2,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The box of each observation of a clip that is nearest to one edge of the clip.

    Args:
        frames: for each observation the frames it is visible in, int [n_i].
        boxes: for each observation its boxes in those frames, xyxy pixels [n_i, 4].
        sampled: every frame sampled in the clip, int [F], ascending.
        edge: the cut behind the clip ("end") or before it ("start").
        within: the box must lie in one of this many sampled frames next to the cut.

    Returns:
        places int64 [n] of the observations that have such a box, and their boxes float64 [n, 4].
    """
    clip_frames = np.asarray(sampled, dtype=np.int64)
    near = clip_frames[-within:] if edge == "end" else clip_frames[:within]
    places: list[int] = []
    picked: list[NDArray[np.float64]] = []
    for place, (f, b) in enumerate(zip(frames, boxes, strict=True)):
        visible = np.asarray(f, dtype=np.int64)
        if visible.size == 0:
            continue
        nearest = int(visible.argmax() if edge == "end" else visible.argmin())
        if visible[nearest] in near:
            places.append(place)
            picked.append(np.asarray(b, dtype=np.float64)[nearest])
    return np.array(places, dtype=np.int64), np.array(picked, dtype=np.float64).reshape(-1, 4)


def boundary_anchors(
    boxes_before: ArrayLike, boxes_after: ArrayLike, *, iou: float = 0.6
) -> NDArray[np.int64]:
    """Boxes that stay in place across one cut: int64 [P, 2], (before, after), ordered by `before`.

    Greedy mutual best: of the boxes not yet paired, the two that overlap most are paired, as long
    as their IoU is at least `iou`. Equal overlaps: the smaller `before`, then the smaller `after`.
    Labels play no part.

    Args:
        boxes_before: boxes at the end of the earlier clip, xyxy pixels [n, 4].
        boxes_after: boxes at the start of the later clip, xyxy pixels [m, 4].
    """
    before = np.asarray(boxes_before, dtype=np.float64).reshape(-1, 4)
    after = np.asarray(boxes_after, dtype=np.float64).reshape(-1, 4)
    overlap = box_iou(before[:, None], after[None, :])
    first, second = np.nonzero(overlap >= iou)
    order = np.lexsort((second, first, -overlap[first, second]))
    paired: dict[int, int] = {}
    taken: set[int] = set()
    for i, j in zip(first[order].tolist(), second[order].tolist(), strict=True):
        if i not in paired and j not in taken:
            paired[i] = j
            taken.add(j)
    return np.array(sorted(paired.items()), dtype=np.int64).reshape(-1, 2)
