"""Visual separation: two observations of one clip that the pixels prove to be different things.

Source: paper section 3.3 and Appendix A "Association"; spec 9.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Separations:
    """The proven pairs of one clip, ordered by (first, second) observation.

    pairs int64 [P, 2] (first < second, places in the lists given), shared int64 [P] frames in
    which both are visible, fraction_apart float64 [P] of the shared frames in which their boxes
    overlap too little to be one thing.
    """

    pairs: NDArray[np.int64]
    shared: NDArray[np.int64]
    fraction_apart: NDArray[np.float64]


def box_iou(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Intersection over union of xyxy boxes [..., 4], broadcast against each other.

    A box without area overlaps nothing: its IoU is 0.
    """
    # Coordinate by coordinate: no intermediate [..., 2] arrays, which would double the memory
    # traffic.
    left, top, right, bottom = (first[..., k] for k in range(4))
    left2, top2, right2, bottom2 = (second[..., k] for k in range(4))
    width = np.minimum(right, right2) - np.maximum(left, left2)
    height = np.minimum(bottom, bottom2) - np.maximum(top, top2)
    overlap = np.maximum(width, 0.0) * np.maximum(height, 0.0)
    area = np.maximum(right - left, 0.0) * np.maximum(bottom - top, 0.0)
    area2 = np.maximum(right2 - left2, 0.0) * np.maximum(bottom2 - top2, 0.0)
    union = area + area2 - overlap
    share: NDArray[np.float64] = np.zeros_like(overlap)
    np.divide(overlap, union, out=share, where=union > 0.0)
    return share


def separations(
    frames: Sequence[ArrayLike],
    boxes: Sequence[ArrayLike],
    *,
    min_shared: int = 3,
    iou: float = 0.5,
    fraction: float = 2 / 3,
) -> Separations:
    """Every pair of observations of ONE clip with D_ij = 1, with the evidence for it.

    D_ij = 1 where two observations share at least `min_shared` frames and their boxes have IoU <
    `iou` in at least `fraction` of those frames. Counts are compared as whole numbers: `fraction`
    is read as the simplest fraction that it stands for (2/3 of 3 frames is 2 frames).

    Args:
        frames: for each observation the frames it is visible in, int [n_i], each frame once, in
            any order.
        boxes: for each observation its boxes in those frames, xyxy pixels [n_i, 4].

    Raises:
        ValueError: lists of different lengths, or boxes that do not fit their frames.
    """
    if len(frames) != len(boxes):
        raise ValueError(f"{len(frames)} observations have frames but {len(boxes)} have boxes")
    count = len(frames)
    frame_arrays = [np.asarray(f, dtype=np.int64).reshape(-1) for f in frames]
    box_arrays = [np.asarray(b, dtype=np.float64).reshape(-1, 4) for b in boxes]
    for place, (f, b) in enumerate(zip(frame_arrays, box_arrays, strict=True)):
        if len(f) != len(b):
            raise ValueError(f"observation {place} has {len(f)} frames but {len(b)} boxes")

    # One dense grid [observation, frame] for the clip; a grid cell without a box is marked by
    # `visible`.
    owner = np.repeat(np.arange(count), [len(f) for f in frame_arrays])
    grid, column = np.unique(
        np.concatenate([*frame_arrays, np.empty(0, np.int64)]), return_inverse=True
    )
    visible = np.zeros((count, len(grid)), dtype=bool)
    visible[owner, column] = True
    dense = np.zeros((count, len(grid), 4), dtype=np.float64)
    dense[owner, column] = np.concatenate([*box_arrays, np.empty((0, 4))])

    least = Fraction(fraction).limit_denominator(1_000_000)
    pairs: list[NDArray[np.int64]] = [np.empty((0, 2), np.int64)]
    shared_counts: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    apart_counts: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    for first in range(count - 1):
        seen = np.flatnonzero(visible[first])
        both = visible[first + 1 :, seen]
        shared = both.sum(axis=1)
        later = np.flatnonzero(shared >= max(min_shared, 1))
        if later.size == 0:
            continue
        overlap = box_iou(dense[first, seen], dense[first + 1 + later][:, seen])
        apart = (both[later] & (overlap < iou)).sum(axis=1)
        shared = shared[later]
        proven = apart * least.denominator >= least.numerator * shared
        second = first + 1 + later[proven]
        pairs.append(np.column_stack([np.full_like(second, first), second]))
        shared_counts.append(shared[proven])
        apart_counts.append(apart[proven])
    all_shared = np.concatenate(shared_counts)
    return Separations(
        pairs=np.concatenate(pairs),
        shared=all_shared,
        fraction_apart=np.concatenate(apart_counts) / np.maximum(all_shared, 1),
    )


def separated_pairs(
    frames: Sequence[ArrayLike],
    boxes: Sequence[ArrayLike],
    *,
    min_shared: int = 3,
    iou: float = 0.5,
    fraction: float = 2 / 3,
) -> NDArray[np.int64]:
    """The pairs of `separations` alone: int64 [P, 2], places in the lists given."""
    return separations(frames, boxes, min_shared=min_shared, iou=iou, fraction=fraction).pairs
