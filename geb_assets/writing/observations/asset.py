"""Asset ``observations``: the encounters of an hour, their crops, and what became none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from geb_assets.parameters import Observations
from geb_assets.stage import Finding, Result, Stage, Work
from geb_assets.tables import TABLES
from geb_assets.writing.clips.frames import ClipFrames
from geb_assets.writing.observations.filters import ClipFacts, reasons
from geb_assets.writing.observations.observe import group_clip, observe_clip
from geb_assets.writing.observations.subjects import Subject, from_rows, to_rows
from geb_assets.writing.pictures import contact_sheet
from resources.images import Image

_SHOWN = 60


def clip_facts(clip: dict[str, Any]) -> ClipFacts:
    """What the filters know of a clip, from its row."""
    names = ("clip", "start_s", "end_s", "fps", "width", "height", "motion_px")
    return ClipFacts(**{name: clip[name] for name in names})


def run(work: Work) -> Result:
    section = cast(Observations, work.section)
    frames, appearance = ClipFrames(work), work.roles.appearance()
    compared = 0

    def embed(crops: Sequence[Image]) -> NDArray[np.float32]:
        nonlocal compared
        compared += len(crops)
        return appearance.embed(crops)

    clips = work.read("clips").filter(pl.col("status") == "ok")
    tracks = work.read("tracks").partition_by("clip", as_dict=True)
    facts = [clip_facts(clip) for clip in clips.iter_rows(named=True)]
    groups: list[list[Subject]] = []
    for done, clip in enumerate(facts):
        work.progress("observations: groups", done, len(facts))
        kept = work.checkpoints.get(clip.clip)
        if kept is None:
            own = group_clip(
                tracks.get((clip.clip,), TABLES["tracks"].empty()),
                clip,
                section,
                read=frames.open(clip.clip).one,
                embed=embed,
                similarity=appearance.similarity,
            )
            kept = {"groups": to_rows(own)}
            work.checkpoints.put(clip.clip, kept)
        groups.append(from_rows(kept["groups"]))
    work.progress("observations: groups", len(facts), len(facts))
    dropped = reasons(groups, facts, section)
    stored = work.read("frames", ["clip", "frame", "time_s"])
    names = ("observations", "crops", "discards")
    tables: dict[str, list[pl.DataFrame]] = {name: [TABLES[name].empty()] for name in names}
    for done, (clip, own, why) in enumerate(zip(facts, groups, dropped, strict=True)):
        work.progress("observations: crops", done, len(facts))
        found = observe_clip(
            own,
            why,
            clip,
            stored.filter(pl.col("clip") == clip.clip),
            section,
            read=frames.open(clip.clip).one,
        )
        for name in names:
            tables[name].append(work.keys(getattr(found, name)))
    work.progress("observations: crops", len(facts), len(facts))
    rows = {name: pl.concat(parts) for name, parts in tables.items()}
    observations, crops = rows["observations"], rows["crops"]
    discarded = Counter(rows["discards"]["reason"].to_list())
    best = crops.group_by("observation", maintain_order=True).first()
    shown = best.gather_every(max(1, best.height // _SHOWN)).head(_SHOWN)
    labels = dict(observations.select("observation", "label").iter_rows())
    return Result(
        rows,
        figures={
            "observations": observations.height,
            "crops compared": compared,
            **{f"discarded: {reason}": count for reason, count in sorted(discarded.items())},
        },
        pictures={
            "Observations": contact_sheet(
                shown["jpeg"].to_list(), [labels[name] for name in shown["observation"]]
            )
        },
    )


def verify(work: Work, result: Result) -> Iterator[Finding]:
    observations, crops = result.tables["observations"], result.tables["crops"]
    yield Finding(
        "unique_ids", observations["observation"].is_unique().all(), "two observations share an id"
    )
    clips = work.read("clips", ["clip", "start_s", "end_s"])
    inside = observations.join(clips, on="clip", suffix="_of_clip", how="left").select(
        (
            (pl.col("start_s") >= pl.col("start_s_of_clip"))
            & (pl.col("end_s") <= pl.col("end_s_of_clip"))
            & (pl.col("start_s") < pl.col("end_s"))
        )
        .fill_null(False)
        .all()
    )
    yield Finding("times_inside", bool(inside.item()), "an observation lies outside its clip")
    known = crops.join(observations, on="observation", how="anti").is_empty()
    yield Finding("crops_belong", known, "a crop belongs to no observation")
    counts = np.array([len(frames) for frames in observations["frames"].to_list()])
    same = counts == np.array([len(boxes) for boxes in observations["boxes"].to_list()])
    yield Finding("boxes_match_frames", bool(same.all()), "an observation lacks a frame's box")


STAGE = Stage(
    asset="observations",
    partition="segment",
    implementation="1",
    run=run,
    group="encounters",
    kinds=("opencv", "deltalake"),
    description=(
        "Merges duplicate tracks, regroups what the tracker split, and keeps every group visible "
        "for two seconds as one encounter with four crops; whole-frame and overlay boxes are "
        "dropped (appendix A, video units)."
    ),
    reads=("clips", "frames", "tracks"),
    roles=("appearance",),
    checks={
        "unique_ids": "Observation ids are unique.",
        "times_inside": "Every observation lies inside its clip.",
        "crops_belong": "Every crop belongs to an observation.",
        "boxes_match_frames": "Every visible frame has its box.",
    },
    verify=verify,
)
