"""Tracks that the tracker split are grouped again by appearance (spec 6, 9.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from geb_assets.writing.observations.subjects import Subject


def seen_together(subjects: Sequence[Subject]) -> NDArray[np.bool_]:
    """Whether two subjects of one clip share any frame, bool [T, T]; True on the diagonal."""
    last = max((int(subject.frames[-1]) for subject in subjects), default=-1)
    seen = np.zeros((len(subjects), last + 1), np.int64)
    for place, subject in enumerate(subjects):
        seen[place, subject.frames] = 1
    return np.asarray(seen @ seen.T > 0, np.bool_)


def regroup(
    similarity: NDArray[np.float32],
    together: NDArray[np.bool_],
    *,
    floor: float,
    match: float,
    rule: Literal["best", "first"] = "best",
) -> NDArray[np.int64]:
    """Group number of each track, int64 [T], 0, 1, ... by first appearance.

    Tracks come in order of first appearance, with their ``similarity`` float [T, T] (NaN: unknown,
    never grouped) and whether two were seen ``together`` in a frame, bool [T, T]: such tracks are
    never grouped. In order, each track joins a group of which every member scores at least
    ``floor`` and one at least ``match``, else it starts one. Where several qualify it joins the
    one with the highest mean score (``best``; a tie goes to the earlier group) or the earliest
    (``first``, as VideoAgent does).
    """
    groups: list[list[int]] = []
    numbers = np.empty(len(similarity), np.int64)
    # Compared in the precision the scores come in, as a threshold written down is meant.
    least, enough = np.float32(floor), np.float32(match)
    for track in range(len(similarity)):
        joined, best = len(groups), -np.inf
        for number, members in enumerate(groups):
            scores = similarity[track, members]
            if together[track, members].any():
                continue
            if not ((scores >= least).all() and (scores >= enough).any()):
                continue
            if rule == "first":
                joined = number
                break
            mean = float(scores.astype(np.float64).mean())
            if mean > best:
                joined, best = number, mean
        if joined == len(groups):
            groups.append([])
        groups[joined].append(track)
        numbers[track] = joined
    return numbers


def worth_comparing(
    subjects: Sequence[Subject], together: NDArray[np.bool_], least_frames: int
) -> NDArray[np.bool_]:
    """Whether a track's appearance can change which observations there are, bool [T].

    Tracks not seen together are linked; a group never reaches beyond a set of linked tracks.
    A track linked to nothing stays alone whatever it looks like, and a set whose frames together
    number fewer than ``least_frames`` yields no observation however it is grouped.
    """
    count, component = connected_components(~together, directed=False)
    worth = np.zeros(len(subjects), bool)
    for number in range(count):
        members = np.flatnonzero(component == number).tolist()
        frames = np.unique(np.concatenate([subjects[member].frames for member in members]))
        worth[members] = len(members) > 1 and len(frames) >= least_frames
    return worth
