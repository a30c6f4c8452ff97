"""Asset ``detections``: every box of every sampled frame, kept from a low confidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import cast

import numpy as np
import polars as pl

from geb_assets.parameters import Detections
from geb_assets.stage import Finding, Result, Stage, Work
from geb_assets.tables import TABLES
from geb_assets.writing.clips.frames import ClipFrames
from resources.detector import Detections as Found
from resources.detector import Detector
from resources.frames import KeptClip

_BATCH = 16


def detection_rows(
    clip: str, numbers: list[int], times: list[float], found: list[Found]
) -> pl.DataFrame:
    """Rows of table ``detections`` (without keys) of one clip's frames."""
    counts = np.array([len(one) for one in found], np.int64)
    boxes = np.concatenate([np.zeros((0, 4), np.float32), *(one.boxes for one in found)])
    return pl.DataFrame(
        {
            "clip": [clip] * len(boxes),
            "frame": np.repeat(np.array(numbers, np.int64), counts),
            "time_s": np.repeat(np.array(times, np.float64), counts),
            **{name: boxes[:, i] for i, name in enumerate(("x1", "y1", "x2", "y2"))},
            "confidence": np.concatenate(
                [np.zeros(0, np.float32), *(one.confidence for one in found)]
            ),
            "label": [label for one in found for label in one.labels],
        },
        schema=TABLES["detections"].own_schema,
    )


def _detect(
    detector: Detector, frames: KeptClip, clip: str, most: int, tell: Callable[[int], None]
) -> pl.DataFrame:
    times = frames.times
    numbers = list(times)
    images = frames.read(numbers)
    found: list[Found] = []
    while batch := list(islice(images, _BATCH)):
        found += detector.detect(batch)
        tell(len(found))
    capped = [Found(f.boxes[:most], f.confidence[:most], f.labels[:most]) for f in found]
    return detection_rows(clip, numbers, list(times.values()), capped)


def run(work: Work) -> Result:
    section = cast(Detections, work.section)
    detector, frames = work.roles.detector(), ClipFrames(work)
    clips = work.read("clips").filter(pl.col("status") == "ok")
    total, before = int(clips["frames"].sum()), 0
    tables: list[pl.DataFrame] = [TABLES["detections"].empty()]
    for clip in clips.iter_rows(named=True):
        name = clip["clip"]

        def tell(frames_done: int, before: int = before) -> None:
            work.progress("detections", before + frames_done, total)

        kept = work.checkpoints.get(name)
        if kept is None:
            rows = _detect(detector, frames.open(name), name, section.max_per_frame, tell)
            kept = {"detections": work.keys(rows)}
            work.checkpoints.put(name, kept)
        tables.append(kept["detections"])
        before += clip["frames"]
    work.progress("detections", total, total)
    rows = pl.concat(tables)
    labels = rows["label"].value_counts(sort=True).head(8)
    return Result(
        {"detections": rows},
        figures={
            "frames": int(clips["frames"].sum()),
            "most frequent labels": ", ".join(f"{k} {n}" for k, n in labels.iter_rows()),
        },
    )


def verify(work: Work, result: Result) -> Iterator[Finding]:
    rows = result.tables["detections"]
    upright = rows.select(((pl.col("x2") > pl.col("x1")) & (pl.col("y2") > pl.col("y1"))).all())
    yield Finding("boxes_upright", bool(upright.item()), "a box has no area")
    known = rows.join(work.read("clips", ["clip"]), on="clip", how="anti").is_empty()
    yield Finding("clips_exist", known, "a box lies in a clip that does not exist")


STAGE = Stage(
    asset="detections",
    partition="segment",
    implementation="1",
    run=run,
    group="video",
    kinds=("opencv", "deltalake"),
    description=(
        "Finds the subjects of every sampled frame (appendix A). Kept from a low confidence, so "
        "that a tracker parameter never runs the detector again."
    ),
    reads=("clips",),
    roles=("detector",),
    checks={
        "boxes_upright": "Every box has an area.",
        "clips_exist": "Every box lies in a clip of this segment.",
    },
    verify=verify,
)
