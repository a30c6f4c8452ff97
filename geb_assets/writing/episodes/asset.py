"""Asset ``episodes``: captions at four time scales, and their text vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
import polars as pl

from geb_assets.parameters import Episodes
from geb_assets.stage import Finding, Result, Stage, Work
from geb_assets.writing.embeddings.asset import units
from geb_assets.writing.episodes.build import build_episodes
from geb_assets.writing.lines.asset import imported, lines_sources
from geb_assets.writing.lines.footage import near_footage
from geb_assets.writing.lines.imported import EPISODES
from resources.store import encode_vectors


def run(work: Work) -> Result:
    section = cast(Episodes, work.section)
    released = pl.concat(
        [pl.DataFrame(schema=EPISODES), *(one.episodes for one in imported(work.recording))]
    )
    spans = np.array(work.recording.footage(), np.float64).reshape(-1, 2)
    episodes = build_episodes(
        work.name,
        lines=work.read("lines"),
        released=near_footage(released, spans, 0.0),
        clips=work.read("clips").filter(pl.col("status") == "ok"),
        descriptions=work.read("descriptions"),
        words={
            "3min": section.words_3min,
            "10min": section.words_10min,
            "1h": section.words_1h,
        },
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


STAGE = Stage(
    asset="episodes",
    partition="recording",
    implementation="1",
    run=run,
    group="episodic_memory",
    kinds=("polars", "onnx", "deltalake"),
    description=(
        "Captions at 30 seconds, 3 minutes, 10 minutes and 1 hour: released ones, else what the "
        "lines tell, else what the clips show (paper 3.2; appendix A, graph and retrieval)."
    ),
    reads=("clips", "descriptions", "lines"),
    roles=("text_embedder",),
    sources=lines_sources,
    checks={
        "unique_ids": "Episode ids are unique.",
        "visible_after": "No episode is visible before its end.",
        "unit_vectors": "Every vector is finite and of length 1.",
    },
    verify=verify,
)
