"""From the tracks of a segment to its encounters, in two passes.

First each clip alone (`group_clip`), then the segment (`filters.reasons`, since an overlay shows
only across clips), then pictures for what is kept (`observe_clip`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from geb_assets.parameters import Observations
from geb_assets.tables import TABLES
from geb_assets.writing.observations.crops import (
    ReadFrame,
    cut,
    representative_crops,
)
from geb_assets.writing.observations.filters import ClipFacts, Reason, least_frames
from geb_assets.writing.observations.merge import merge_tracks
from geb_assets.writing.observations.regroup import (
    regroup,
    seen_together,
    worth_comparing,
)
from geb_assets.writing.observations.scenes import scene_frames
from geb_assets.writing.observations.subjects import Subject, combine, subjects_of
from resources.images import Image

Embed = Callable[[Sequence[Image]], NDArray[np.float32]]
"""Crops to unit rows float32 [n, D]; a row does not depend on the others."""
Similarity = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""Mean rows float32 [T, D] to scores float32 [T, T]."""

_CROPS_AT_ONCE = 64


def group_clip(
    tracks: pl.DataFrame,
    clip: ClipFacts,
    parameters: Observations,
    *,
    read: ReadFrame,
    embed: Embed,
    similarity: Similarity,
) -> list[Subject]:
    """The groups of one clip by first appearance: tracks merged (9.1), then regrouped (9.2).

    ``tracks`` are the clip's rows of table `tracks`. Tracks whose looks cannot change the
    observations are not looked at and stay alone.
    """
    if tracks.is_empty():
        return []
    merged = merge_tracks(subjects_of(tracks), parameters)
    together = seen_together(merged)
    worth = worth_comparing(merged, together, least_frames(clip.fps, parameters))
    compared = np.flatnonzero(worth).tolist()
    numbers = np.full(len(merged), -1, np.int64)
    if len(compared):
        means = mean_appearance([merged[place] for place in compared], parameters, read, embed)
        numbers[compared] = regroup(
            similarity(means),
            together[np.ix_(compared, compared)],
            floor=parameters.regroup_floor,
            match=parameters.regroup_match,
            rule=parameters.regroup_rule,
        )
    alone = [merged[place] for place in np.flatnonzero(~worth).tolist()]
    grouped = [
        combine([merged[place] for place in np.flatnonzero(numbers == number).tolist()])
        for number in range(numbers.max(initial=-1) + 1)
    ]
    return sorted(grouped + alone, key=lambda subject: (int(subject.frames[0]), subject.tracks))


def mean_appearance(
    subjects: Sequence[Subject], parameters: Observations, read: ReadFrame, embed: Embed
) -> NDArray[np.float32]:
    """Mean row of up to `regroup_crops` evenly spaced crops of each subject, float32 [T, D].

    Each frame is read once, in order; few crops are held at a time.
    """
    wanted: list[tuple[int, int, int]] = []
    for number, subject in enumerate(subjects):
        spaced = np.linspace(0, len(subject) - 1, min(parameters.regroup_crops, len(subject)))
        places = np.unique(np.rint(spaced).astype(np.int64)).tolist()
        wanted += [(int(subject.frames[place]), number, place) for place in places]
    wanted.sort()
    rows: list[NDArray[np.float32]] = []
    waiting: list[Image] = []
    last, image = -1, np.empty((0, 0, 3), np.uint8)
    for frame, number, place in wanted:
        if frame != last:
            last, image = frame, read(frame)
        waiting.append(cut(image, subjects[number].boxes[place]))
        if len(waiting) == _CROPS_AT_ONCE:
            rows.append(embed(waiting))
            waiting = []
    if waiting:
        rows.append(embed(waiting))
    vectors = np.concatenate(rows).astype(np.float64)
    owner = np.array([number for _, number, _ in wanted])
    return np.stack([vectors[owner == n].mean(axis=0) for n in range(len(subjects))]).astype(
        np.float32
    )


@dataclass(frozen=True, eq=False)
class ClipObservations:
    """Rows of one clip for the tables of their names, without the partition's keys."""

    observations: pl.DataFrame
    crops: pl.DataFrame
    discards: pl.DataFrame


def observe_clip(
    groups: Sequence[Subject],
    dropped: Sequence[Reason | None],
    clip: ClipFacts,
    stored: pl.DataFrame,
    parameters: Observations,
    *,
    read: ReadFrame,
) -> ClipObservations:
    """The encounters of one clip, their crops, and the groups that became none.

    ``dropped`` says why a group is none (see `filters.reasons`). ``stored`` holds the columns
    `frame` and `time_s` of the clip's stored frames. Encounters are numbered in the order
    (start, end, first track).
    """
    kept = [group for group, reason in zip(groups, dropped, strict=True) if reason is None]
    kept.sort(key=lambda group: (int(group.frames[0]), int(group.frames[-1]), group.tracks))
    ids = [f"{clip.clip}/o{number:03d}" for number in range(len(kept))]
    pictures = representative_crops(kept, read, parameters, width=clip.width, height=clip.height)
    stored = stored.sort("time_s")
    stored_s = stored["time_s"].to_numpy().astype(np.float64)
    stored_frames = stored["frame"].to_numpy()
    observations = []
    for identifier, group in zip(ids, kept, strict=True):
        first, last = float(group.times[0]), float(group.times[-1])
        end = min(last + 1 / clip.fps, clip.end_s)
        scenes = stored_frames[scene_frames(stored_s, first, last, parameters)]
        observations.append(
            {
                "clip": clip.clip,
                "observation": identifier,
                "start_s": first,
                "end_s": end,
                "visible_from": end,
                "visible_s": len(group) / clip.fps,
                "label": group.label,
                "confidence": float(group.confidence.mean(dtype=np.float64)),
                "tracks": list(group.tracks),
                "frames": group.frames.tolist(),
                "boxes": group.boxes.tolist(),
                "scene_frames": scenes.tolist(),
                "context_start_s": first - parameters.context_s,
                "context_end_s": end + parameters.context_s,
            }
        )
    crops = [
        {
            "clip": clip.clip,
            "observation": identifier,
            "rank": rank,
            "frame": crop.frame,
            "time_s": crop.time_s,
            **_edges(crop.window),
            "jpeg": crop.jpeg,
        }
        for identifier, chosen in zip(ids, pictures, strict=True)
        for rank, crop in enumerate(chosen)
    ]
    discards = [
        {
            "clip": clip.clip,
            "tracks": list(group.tracks),
            "reason": reason,
            "label": group.label,
            "frames": len(group),
            **_edges(group.median_box.tolist()),
        }
        for group, reason in zip(groups, dropped, strict=True)
        if reason is not None
    ]
    return ClipObservations(
        _rows("observations", observations),
        _rows("crops", crops),
        _rows("discards", discards),
    )


def _edges(box: Sequence[float]) -> dict[str, float]:
    return dict(zip(("x1", "y1", "x2", "y2"), box, strict=True))


def _rows(table: str, rows: list[dict[str, object]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=TABLES[table].own_schema)
