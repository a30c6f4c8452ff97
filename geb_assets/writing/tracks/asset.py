"""Asset ``tracks``: joins the boxes of a clip into tracks, the tracker reset at each clip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from geb_assets.stage import Finding, Result, Stage, Work
from geb_assets.tables import TABLES
from geb_assets.writing.clips.frames import ClipFrames
from resources.detector import Detections as Found
from resources.frames import KeptClip
from resources.tracker import Tracker

_GRAY_SCALE = 2.0
"""Source pixels per pixel of a half-size frame."""


def per_frame(rows: pl.DataFrame, numbers: Sequence[int]) -> list[Found]:
    """The boxes of one clip as one value a frame; rows in the table's order."""
    frames = rows["frame"].to_numpy()
    boxes = rows.select("x1", "y1", "x2", "y2").to_numpy().astype(np.float32)
    confidence = rows["confidence"].to_numpy().astype(np.float32)
    labels = rows["label"].to_list()
    begins = np.searchsorted(frames, np.asarray(numbers), side="left")
    ends = np.searchsorted(frames, np.asarray(numbers), side="right")
    return [
        Found(boxes[b:e], confidence[b:e], tuple(labels[b:e]))
        for b, e in zip(begins, ends, strict=True)
    ]


def track_rows(clip: str, rows: pl.DataFrame, ids: Sequence[NDArray[np.int64]]) -> pl.DataFrame:
    """Rows of table ``tracks`` (without keys): tracked boxes, ids in order of appearance."""
    flat = np.concatenate([np.zeros(0, np.int64), *ids])
    tracked = rows.with_columns(number=pl.Series(flat, dtype=pl.Int64)).filter(
        pl.col("number") >= 0
    )
    order = {number: i for i, number in enumerate(tracked["number"].unique(maintain_order=True))}
    names = [f"{clip}/t{order[number]:03d}" for number in tracked["number"]]
    return tracked.with_columns(track=pl.Series(names, dtype=pl.String)).select(
        list(TABLES["tracks"].own_schema)
    )


def _track(
    tracker: Tracker, frames: KeptClip, clip: dict[str, Any], rows: pl.DataFrame
) -> pl.DataFrame:
    numbers = list(frames.times)
    found = per_frame(rows, numbers)
    gray = frames.read(numbers, "gray half")
    ids = tracker.track(found, gray, clip["fps"], scale=_GRAY_SCALE)
    return track_rows(clip["clip"], rows, ids)


def run(work: Work) -> Result:
    tracker, frames = work.roles.tracker(), ClipFrames(work)
    clips = work.read("clips").filter(pl.col("status") == "ok")
    found = work.read("detections").sort("clip", "frame", maintain_order=True)
    by_clip = found.partition_by("clip", as_dict=True)
    tables: list[pl.DataFrame] = [TABLES["tracks"].empty()]
    for done, clip in enumerate(clips.iter_rows(named=True)):
        work.progress("tracks", done, clips.height)
        kept = work.checkpoints.get(clip["clip"])
        if kept is None:
            rows = by_clip.get((clip["clip"],), found.clear())
            kept = {"tracks": work.keys(_track(tracker, frames.open(clip["clip"]), clip, rows))}
            work.checkpoints.put(clip["clip"], kept)
        tables.append(kept["tracks"])
    work.progress("tracks", clips.height, clips.height)
    rows = pl.concat(tables)
    return Result(
        {"tracks": rows},
        figures={"tracks": rows["track"].n_unique(), "share of boxes tracked":
                 round(rows.height / max(1, found.height), 3)},
    )  # fmt: skip


def verify(work: Work, result: Result) -> Iterator[Finding]:
    rows = result.tables["tracks"]
    single = rows.select("track", "frame").is_unique().all()
    yield Finding("one_box_a_frame", single, "a track has two boxes in one frame")
    known = rows.join(work.read("clips", ["clip"]), on="clip", how="anti").is_empty()
    yield Finding("clips_exist", known, "a track lies in a clip that does not exist")


STAGE = Stage(
    asset="tracks",
    partition="segment",
    implementation="1",
    run=run,
    group="video",
    kinds=("python", "deltalake"),
    description=(
        "BoT-SORT joins the boxes of one clip into tracks; its state is reset at every clip "
        "(appendix A)."
    ),
    reads=("clips", "detections"),
    roles=("tracker",),
    checks={
        "one_box_a_frame": "A track has one box in a frame.",
        "clips_exist": "Every track lies in a clip of this segment.",
    },
    verify=verify,
)
