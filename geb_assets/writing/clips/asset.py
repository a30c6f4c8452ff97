"""Asset ``clips``: decodes a segment once, keeps its sampled frames, stores one a second."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import polars as pl

from geb_assets.parameters import Clips
from geb_assets.registry import Recording, Video, segment_span
from geb_assets.stage import Finding, Result, Stage, Work
from geb_assets.tables import TABLES
from geb_assets.writing.clips.decode import (
    SampledClip,
    Sampling,
    check_unchanged,
    decode_clips,
    effective_fps,
    segment_clips,
)
from geb_assets.writing.clips.frames import cache_key
from geb_assets.writing.pictures import contact_sheet

_LEAST_DECODED = 0.5
"""Share of the expected frames below which a clip counts as not decoded."""


def clips_sources(recording: Recording, segment: str) -> Any:
    """The files that a segment is cut from."""
    start, end = segment_span(segment)
    return [
        {
            "digest": v.digest,
            "start_s": v.start_s,
            "duration_s": v.duration_s,
            "frames": v.frames,
        }
        for v in recording.videos
        if v.start_s < end and v.end_s > start
    ]


def _rows(
    work: Work, clip: SampledClip, video: Video, sampling: Sampling
) -> dict[str, pl.DataFrame]:
    """The clip's row and its stored frames."""
    span = clip.span
    failed = len(clip.jpegs) < _LEAST_DECODED * clip.expected
    row = {
        "clip": span.clip,
        "start_s": span.start_s,
        "end_s": span.end_s,
        "cell": span.cell,
        "grid_s": sampling.grid_s,
        "video": Path(video.path).name,
        "video_start_s": span.start_s - video.start_s,
        "frames": 0 if failed else len(clip.jpegs),
        "digest": clip.digest,
        "fps": clip.fps,
        "width": clip.size[0],
        "height": clip.size[1],
        "motion_px": statistics.median(clip.moves) if clip.moves else 0.0,
        "status": "failed" if failed else "ok",
        "error": (
            f"{len(clip.jpegs)} of {clip.expected} frames could be decoded" if failed else ""
        ),
    }
    stored = [
        {"clip": span.clip, "frame": number, "time_s": time_s,
         "width": job.result()[0], "height": job.result()[1], "jpeg": job.result()[2]}
        for number, time_s, job in ([] if failed else clip.stored)
    ]  # fmt: skip
    schema = TABLES["frames"].own_schema
    return {
        "clips": work.keys(pl.DataFrame([row])),
        "frames": work.keys(pl.DataFrame(stored, schema=schema)),
    }


def run(work: Work) -> Result:
    section = cast(Clips, work.section)
    sampling = Sampling(
        section.clip_seconds,
        section.sample_fps,
        section.frame_side,
        section.jpeg_quality,
    )
    spans = segment_clips(work.name, work.recording, work.partition, section.clip_seconds)
    check_unchanged(work.recording, spans)
    key = cache_key(
        work.recording,
        work.partition,
        sampling.grid_s,
        [effective_fps(work.recording.videos[span.video], sampling.fps) for span in spans],
    )
    done: dict[str, dict[str, pl.DataFrame]] = {}
    for span in spans:
        kept = work.checkpoints.get(span.clip)
        if kept is not None and work.frames.has(key, span.clip):
            done[span.clip] = kept
    pending = [span for span in spans if span.clip not in done]
    with ThreadPoolExecutor(2) as pool:
        for clip in decode_clips(work.recording, pending, sampling, pool):
            rows = _rows(work, clip, work.recording.videos[clip.span.video], sampling)
            work.frames.put(key, clip.span.clip, clip.encoded())
            work.checkpoints.put(clip.span.clip, rows)
            done[clip.span.clip] = rows
            work.progress("clips", len(done), len(spans))
    work.frames.trim(key)
    tables = {
        name: pl.concat([done[span.clip][name] for span in spans]) for name in ("clips", "frames")
    }
    clips, stored = tables["clips"], tables["frames"]
    failed = clips.filter(pl.col("status") == "failed")
    shown = stored.gather_every(max(1, stored.height // 24))
    return Result(
        tables,
        figures={
            "clips": clips.height,
            "clips not decoded": failed.height,
            "frames sampled": int(clips["frames"].sum()),
        },
        pictures={"Frames": contact_sheet(shown["jpeg"].to_list(), columns=8)},
    )


def verify(work: Work, result: Result) -> Iterator[Finding]:
    clips, stored = result.tables["clips"], result.tables["frames"]
    yield Finding("unique_ids", clips["clip"].is_unique().all(), "two clips share an id")
    inside = stored.join(clips.select("clip", "start_s", "end_s"), on="clip", how="left").select(
        ((pl.col("time_s") >= pl.col("start_s")) & (pl.col("time_s") < pl.col("end_s"))).all()
    )
    yield Finding("times_inside", bool(inside.item()), "a frame lies outside its clip")


STAGE = Stage(
    asset="clips",
    partition="segment",
    implementation="1",
    run=run,
    group="video",
    kinds=("opencv", "deltalake"),
    description=(
        "Cuts an hour of video into clips on the clock's grid, samples its frames by timestamp and "
        "keeps one a second as JPEG (paper 3.1; appendix A, video units)."
    ),
    sources=clips_sources,
    checks={
        "unique_ids": "Clip ids are unique.",
        "times_inside": "Every stored frame lies inside its clip.",
    },
    verify=verify,
)
