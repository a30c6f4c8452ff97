"""What the demonstration's memory holds, beside the truth that its renderer wrote."""

from __future__ import annotations

import polars as pl

from evaluation.demo.render import DemoRecording
from evaluation.demo.score import DemoScore, score_demo
from geb_assets.home import Home


def score(home: Home, name: str, recording: DemoRecording) -> DemoScore:
    """The score of a built demonstration."""
    store = home.store
    return score_demo(
        visible_boxes(home, name),
        store.read("memberships", ["observation", "entity"], recording=name),
        store.read("detections", ["time_s", "x1", "y1", "x2", "y2"], recording=name),
        pl.read_parquet(recording.truth),
        period_s=1 / recording.fps,
    )


def visible_boxes(home: Home, name: str) -> pl.DataFrame:
    """Observation, clip, time_s, x1, y1, x2, y2: one row a visible frame of each observation."""
    tracks = home.store.scan("tracks", recording=name).select(
        "clip", "frame", "time_s"
    ).unique()  # fmt: skip
    box = pl.col("boxes").list
    return (
        home.store.scan("observations", recording=name)
        .select("observation", "clip", pl.col("frames").alias("frame"), "boxes")
        .explode("frame", "boxes")
        .join(tracks, on=["clip", "frame"])
        .select(
            "observation",
            "clip",
            "time_s",
            *(box.get(place).alias(edge) for place, edge in enumerate(("x1", "y1", "x2", "y2"))),
        )
        .sort("observation", "time_s")
        .collect()
    )
