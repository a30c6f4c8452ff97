"""Asset ``episodes``: captions at four time scales, and their text vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
import polars as pl

from geb_assets.parameters import Episodes
from geb_assets.stage import Expected, Finding, Result, Stage, Work
from geb_assets.writing.embeddings.asset import units
from geb_assets.writing.episodes.build import build_episodes, extracted
from geb_assets.writing.episodes.captioned import caption_units, untold
from geb_assets.writing.lines.asset import imported, lines_sources
from geb_assets.writing.lines.footage import near_footage
from geb_assets.writing.lines.imported import EPISODES
from resources.captioner import NotCaptioned
from resources.concurrency import in_flight
from resources.store import encode_vectors


class _Told:
    """Captions by the models that the profile has; counts the calls that failed."""

    def __init__(self, work: Work, section: Episodes) -> None:
        served = work.stage.served_by(work.roles.profile)
        self.summarizes = "summarizer" in served
        self._captions = "captioner" in served
        self._work, self._section = work, section
        self.failed = 0

    def captions(self, clips: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame | None:
        """Captions of the units of these clips; None where no model writes any."""
        work = self._work
        if not self._captions:
            return None

        def frames_of(clip: Mapping[str, Any]) -> pl.DataFrame:
            within = {"segment": clip["segment"], "clip": clip["clip"]}
            return work.read("frames", ["time_s", "jpeg"], **within)

        made, failed = caption_units(
            clips,
            lines,
            frames_of,
            work.roles.captioner(),
            wearer=work.recording.wearer,
            most=self._section.caption_frames,
            progress=lambda done, total: work.progress("episodes: captions", done, total),
        )
        self.failed += failed
        return made

    def summaries(self, windows: Sequence[Sequence[str]], words: int) -> list[str | None]:
        """One text of each window; None where the call failed."""
        summarizer = self._work.roles.summarizer()

        def tell(window: tuple[int, Sequence[str]]) -> str | None:
            try:
                return summarizer.summarize(window[1], words)
            except NotCaptioned:
                return None

        texts: list[str | None] = [None] * len(windows)
        found = in_flight(tell, enumerate(windows), summarizer.in_flight)
        for done, ((place, _), text) in enumerate(found):
            self._work.progress("episodes: summaries", done + 1, len(windows))
            texts[place] = text
        self.failed += texts.count(None)
        return texts


def run(work: Work) -> Result:
    section = cast(Episodes, work.section)
    released = pl.concat(
        [pl.DataFrame(schema=EPISODES), *(one.episodes for one in imported(work.recording))]
    )
    spans = np.array(work.recording.footage(), np.float64).reshape(-1, 2)
    lines, clips = work.read("lines"), work.read("clips").filter(pl.col("status") == "ok")
    given = near_footage(released, spans, 0.0)
    told = _Told(work, section)
    captioned = told.captions(untold(clips, given, lines), lines)
    episodes = build_episodes(
        work.name,
        lines=lines,
        released=given,
        clips=clips,
        descriptions=work.read("descriptions"),
        words={
            "3min": section.words_3min,
            "10min": section.words_10min,
            "1h": section.words_1h,
        },
        captioned=captioned,
        shorten=told.summaries if told.summarizes else extracted,
        source="summarized" if told.summarizes else "composed",
    )
    embedder = work.roles.text_embedder()
    texts = episodes["text"].to_list()
    batches = range(0, len(texts), 256)
    vectors = [np.zeros((0, embedder.dimension), np.float32)]
    for begin in batches:
        work.progress("episodes: vectors", begin, len(texts))
        vectors.append(embedder.embed(texts[begin : begin + 256]))
    work.progress("episodes: vectors", len(texts), len(texts))
    rows = episodes.select(
        "recording", "episode", pl.lit("text").alias("kind"), "start_s", "visible_from"
    ).with_columns(
        vector=pl.Series(encode_vectors(np.concatenate(vectors)), dtype=pl.Binary),
        dim=pl.lit(embedder.dimension, dtype=pl.Int32),
        dtype=pl.lit("float16"),
        model=pl.lit(str(embedder.identity)),
    )
    counts = episodes.group_by("scale", maintain_order=True).len()
    return Result(
        {"episodes": episodes, "episode_embeddings": rows},
        failed=told.failed,
        figures={f"episodes {scale}": count for scale, count in counts.iter_rows()},
    )


def verify(work: Work, result: Result) -> Iterator[Finding]:
    episodes = result.tables["episodes"]
    unique = episodes["episode"].is_unique().all()
    yield Finding("unique_ids", unique, "two episodes share an id")
    later = episodes.select((pl.col("visible_from") >= pl.col("end_s")).all()).item()
    yield Finding("visible_after", bool(later), "an episode is visible before its end")
    vectors = units(result.tables["episode_embeddings"])
    yield Finding("unit_vectors", vectors, "a vector is not finite or not of length 1")


def _expected_captions(work: Work) -> Expected:
    clips = work.read("clips").filter(pl.col("status") == "ok")
    most = cast(Episodes, work.section).caption_frames
    return Expected(clips.height, 300 + 600 * most, 120)


def _expected_summaries(work: Work) -> Expected:
    units = work.read("clips").height + work.read("lines").select("start_s").height // 10
    return Expected(units // 6 + units // 20 + units // 120, 2500, 400)


STAGE = Stage(
    asset="episodes",
    partition="recording",
    implementation="2",
    run=run,
    group="episodic_memory",
    kinds=("polars", "onnx", "deltalake"),
    description=(
        "Captions at 30 seconds, 3 minutes, 10 minutes and 1 hour: released ones, else what the "
        "lines tell, else what the clips show (paper 3.2; appendix A, graph and retrieval)."
    ),
    reads=("clips", "descriptions", "lines"),
    roles=("text_embedder",),
    optional={"captioner": ("frames",), "summarizer": ()},
    calls={"captioner": _expected_captions, "summarizer": _expected_summaries},
    sources=lines_sources,
    checks={
        "unique_ids": "Episode ids are unique.",
        "visible_after": "No episode is visible before its end.",
        "unit_vectors": "Every vector is finite and of length 1.",
    },
    verify=verify,
)
