"""Duplicate and nested tracks of one thing become one (paper appendix A; spec 9.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from geb_assets.parameters import Observations
from geb_assets.writing.entities.separation import box_iou, separated_pairs
from geb_assets.writing.observations.subjects import Subject, combine


@dataclass(frozen=True, eq=False)
class Agreement:
    """How the boxes of each pair of subjects agree in the frames that hold both, int64 [T, T].

    ``shared`` counts those frames, ``same`` the ones with IoU >= `merge_iou`, ``nested`` the ones
    in which the smaller box lies in the larger by >= `merge_containment`. The diagonal is 0.
    """

    shared: NDArray[np.int64]
    same: NDArray[np.int64]
    nested: NDArray[np.int64]


def agreement(subjects: Sequence[Subject], parameters: Observations) -> Agreement:
    """Compare every pair of subjects of one clip in their shared frames."""
    count = len(subjects)
    grid = np.unique(np.concatenate([np.empty(0, np.int32), *(s.frames for s in subjects)]))
    seen = np.zeros((count, len(grid)), bool)
    boxes = np.zeros((count, len(grid), 4))
    for place, subject in enumerate(subjects):
        columns = np.searchsorted(grid, subject.frames)
        seen[place, columns] = True
        boxes[place, columns] = subject.boxes
    shared, same, nested = (np.zeros((count, count), np.int64) for _ in range(3))
    for first in range(count - 1):
        at = np.flatnonzero(seen[first])
        both = seen[first + 1 :, at]
        one, others = boxes[first, at], boxes[first + 1 :, at]
        row = slice(first + 1, count)
        shared[first, row] = both.sum(axis=1)
        same[first, row] = (both & (box_iou(one, others) >= parameters.merge_iou)).sum(axis=1)
        inside = containment(one, others) >= parameters.merge_containment
        nested[first, row] = (both & inside).sum(axis=1)
    return Agreement(*(counts + counts.T for counts in (shared, same, nested)))


def containment(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the smaller of two xyxy boxes [..., 4] that lies in the larger; 0 without area."""
    left, top = (
        np.maximum(first[..., 0], second[..., 0]),
        np.maximum(first[..., 1], second[..., 1]),
    )
    right, bottom = (
        np.minimum(first[..., 2], second[..., 2]),
        np.minimum(first[..., 3], second[..., 3]),
    )
    overlap = np.maximum(right - left, 0.0) * np.maximum(bottom - top, 0.0)
    smaller = np.minimum(_area(first), _area(second))
    share = np.divide(overlap, smaller, out=np.zeros_like(overlap), where=smaller > 0.0)
    return np.asarray(share, np.float64)


def _area(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(boxes[..., 2] - boxes[..., 0], 0.0) * np.maximum(
        boxes[..., 3] - boxes[..., 1], 0.0
    )


def merge_tracks(subjects: Sequence[Subject], parameters: Observations) -> list[Subject]:
    """Unite the tracks of one clip that follow one thing; by first appearance.

    Two tracks are one where they share at least `merge_min_shared` frames, at least
    `merge_overlap` of the shorter one, and in `merge_share` of the shared frames either their IoU
    is at least `merge_iou` (whatever their labels) or, for tracks of one label, one box lies in
    the other. Pairs are united longest first; a union that would join two tracks proven apart
    (D = 1, spec 9.15) is refused. A nested pair has a low IoU by nature and proves nothing apart.
    """
    if len(subjects) < 2:
        return list(subjects)
    pairs = agreement(subjects, parameters)
    length = np.array([len(subject) for subject in subjects])
    labels = np.array([subject.label for subject in subjects])
    share, overlap = _whole(parameters.merge_share), _whole(parameters.merge_overlap)
    shorter = np.minimum(length[:, None], length[None, :])
    longer = np.maximum(length[:, None], length[None, :])
    enough = (pairs.shared >= parameters.merge_min_shared) & (
        pairs.shared * overlap.denominator >= overlap.numerator * shorter
    )

    def mostly(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        found = counts * share.denominator >= share.numerator * pairs.shared
        return np.asarray(found, np.bool_)

    one = enough & (mostly(pairs.same) | (mostly(pairs.nested) & (labels[:, None] == labels)))
    apart = np.zeros_like(one)
    proven = separated_pairs(
        [subject.frames for subject in subjects],
        [subject.boxes for subject in subjects],
        min_shared=parameters.merge_min_shared,
    )
    apart[proven[:, 0], proven[:, 1]] = apart[proven[:, 1], proven[:, 0]] = True
    apart &= ~one

    first, second = np.nonzero(np.triu(one, 1))
    order = np.lexsort((second, first, -shorter[first, second], -longer[first, second]))
    group = np.arange(len(subjects))
    for a, b in zip(first[order], second[order], strict=True):
        ours, theirs = group == group[a], group == group[b]
        if group[a] != group[b] and not apart[np.ix_(ours, theirs)].any():
            group[ours | theirs] = min(group[a], group[b])
    merged = [
        combine([subjects[member] for member in np.flatnonzero(group == number).tolist()])
        for number in np.unique(group)
    ]
    return sorted(merged, key=lambda subject: (int(subject.frames[0]), subject.tracks))


def _whole(share: float) -> Fraction:
    """The simple fraction a share stands for: 2/3 of 3 frames is 2 frames."""
    return Fraction(share).limit_denominator(1_000_000)
