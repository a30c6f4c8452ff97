"""One subject of one clip: the boxes of a track, of merged tracks or of a group of tracks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Subject:
    """Sightings of one subject in one clip, one a frame, frames ascending.

    ``tracks`` the tracks it is made of, by first appearance; ``frames`` int32 ``[n]``; ``times``
    float64 ``[n]``, s; ``boxes`` float32 ``[n, 4]`` (xyxy px); ``confidence`` float32 ``[n]``;
    ``labels`` str ``[n]``.
    """

    tracks: tuple[str, ...]
    frames: NDArray[np.int32]
    times: NDArray[np.float64]
    boxes: NDArray[np.float32]
    confidence: NDArray[np.float32]
    labels: NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def label(self) -> str:
        """The confidence-weighted majority of its labels; a tie goes to the first by alphabet."""
        names, place = np.unique(self.labels, return_inverse=True)
        weights = np.bincount(place, weights=self.confidence.astype(np.float64))
        return str(names[int(np.argmax(weights))])

    @property
    def median_box(self) -> NDArray[np.float32]:
        """Median of each box edge, float32 ``[4]``."""
        return np.asarray(np.median(self.boxes, axis=0), np.float32)


def subjects_of(tracks: pl.DataFrame) -> list[Subject]:
    """The tracks of one clip (rows of table ``tracks``) by first appearance, ties by id."""
    rows = tracks.sort("track", "frame")
    subjects = [
        Subject(
            tracks=(str(part["track"][0]),),
            frames=part["frame"].to_numpy().astype(np.int32),
            times=part["time_s"].to_numpy().astype(np.float64),
            boxes=part.select("x1", "y1", "x2", "y2").to_numpy().astype(np.float32),
            confidence=part["confidence"].to_numpy().astype(np.float32),
            labels=np.asarray(part["label"].to_list(), np.str_),
        )
        for part in rows.partition_by("track", maintain_order=True)
    ]
    return sorted(subjects, key=lambda subject: (int(subject.frames[0]), subject.tracks))


def combine(members: Sequence[Subject]) -> Subject:
    """The members as one subject; a frame that several hold keeps its most confident box.

    Where confidences are equal the earlier member's box is kept.
    """
    if len(members) == 1:
        return members[0]
    frames = np.concatenate([member.frames for member in members])
    confidence = np.concatenate([member.confidence for member in members])
    rank = np.repeat(np.arange(len(members)), [len(member) for member in members])
    order = np.lexsort((rank, -confidence, frames))
    order = order[np.unique(frames[order], return_index=True)[1]]
    first_seen = sorted(members, key=lambda member: (int(member.frames[0]), member.tracks))
    return Subject(
        tracks=tuple(track for member in first_seen for track in member.tracks),
        frames=frames[order],
        times=np.concatenate([member.times for member in members])[order],
        boxes=np.concatenate([member.boxes for member in members])[order],
        confidence=confidence[order],
        labels=np.concatenate([member.labels for member in members])[order],
    )


_SCHEMA: dict[str, pl.DataType] = {
    "group": pl.Int32(),
    "tracks": pl.List(pl.String),
    "frame": pl.Int32(),
    "time_s": pl.Float64(),
    "box": pl.List(pl.Float32),
    "confidence": pl.Float32(),
    "label": pl.String(),
}


def to_rows(subjects: Sequence[Subject]) -> pl.DataFrame:
    """The subjects as one frame, a row a sighting; ``from_rows`` gives them back."""
    parts = [
        pl.DataFrame(
            {
                "group": [number] * len(subject),
                "tracks": [list(subject.tracks)] * len(subject),
                "frame": subject.frames,
                "time_s": subject.times,
                "box": subject.boxes.tolist(),
                "confidence": subject.confidence,
                "label": subject.labels.tolist(),
            },
            schema=_SCHEMA,
        )
        for number, subject in enumerate(subjects)
    ]
    return pl.concat([pl.DataFrame(schema=_SCHEMA), *parts])


def from_rows(rows: pl.DataFrame) -> list[Subject]:
    """The subjects that ``to_rows`` wrote, in their order."""
    return [
        Subject(
            tracks=tuple(part["tracks"][0]),
            frames=part["frame"].to_numpy().astype(np.int32),
            times=part["time_s"].to_numpy().astype(np.float64),
            boxes=np.asarray(part["box"].to_list(), np.float32),
            confidence=part["confidence"].to_numpy().astype(np.float32),
            labels=np.asarray(part["label"].to_list(), np.str_),
        )
        for part in rows.partition_by("group", maintain_order=True)
    ]
