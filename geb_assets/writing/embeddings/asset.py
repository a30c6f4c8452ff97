"""Asset ``embeddings``: an identity and a text vector of every encounter; clips' visual ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from geb_assets.parameters import Embeddings
from geb_assets.spread import spread
from geb_assets.stage import Finding, Result, Stage, Work
from geb_assets.tables import TABLES
from resources.embedder import ClipEmbedder, Film, Subject
from resources.frames import decode_jpeg
from resources.store import encode_vectors


def subjects(descriptions: pl.DataFrame, crops: pl.DataFrame) -> list[Subject]:
    """Crops and "name. summary" of each description's observation, in its order (spec 9.12)."""
    own = crops.sort("observation", "rank").partition_by("observation", as_dict=True)
    return [
        Subject(
            tuple(decode_jpeg(jpeg) for jpeg in own[(observation,)]["jpeg"]),
            f"{name}. {summary}" if summary else name,
        )
        for observation, name, summary in descriptions.select(
            "observation", "object_name", "summary"
        ).iter_rows()
    ]


def vector_rows(
    of: pl.DataFrame, kind: str, vectors: NDArray[np.float32], model: str
) -> pl.DataFrame:
    """Rows of table ``embeddings`` (without keys) of vectors float32 [n, D]."""
    return of.select("subject", pl.lit(kind).alias("kind"), "start_s", "visible_from").with_columns(
        vector=pl.Series(encode_vectors(vectors), dtype=pl.Binary),
        dim=pl.lit(vectors.shape[1], dtype=pl.Int32),
        dtype=pl.lit("float16"),
        model=pl.lit(model),
    )


def _identity(work: Work, clips: Sequence[str], descriptions: pl.DataFrame) -> pl.DataFrame:
    embedder = work.roles.identity_embedder()
    parts: list[pl.DataFrame] = []
    for done, clip in enumerate(clips):
        work.progress("embeddings: identity", done, len(clips))
        kept = work.checkpoints.get(clip)
        if kept is None:
            rows = descriptions.filter(pl.col("clip") == clip)
            vectors = embedder.embed(subjects(rows, work.read("crops", clip=clip)))
            # The vector may hold the summary, and with it the lines that the summary quotes.
            of = rows.select("start_s", "visible_from", subject="observation")
            kept = {"rows": vector_rows(of, "identity", vectors, str(embedder.identity))}
            work.checkpoints.put(clip, kept)
        parts.append(kept["rows"])
    work.progress("embeddings: identity", len(clips), len(clips))
    return pl.concat(parts)


def _text(work: Work, descriptions: pl.DataFrame) -> pl.DataFrame:
    embedder = work.roles.text_embedder()
    told = descriptions.filter(pl.col("status") == "ok")
    of = told.select("start_s", "visible_from", subject="observation")
    vectors = embedder.embed(told["summary"].to_list())
    return vector_rows(of, "text", vectors, str(embedder.identity))


def film(frames: pl.DataFrame, most: int) -> Film:
    """At most ``most`` evenly spaced stored frames (time_s, jpeg) of a clip, in time order."""
    chosen = frames.sort("time_s")[spread(range(frames.height), most)]
    times = chosen["time_s"].to_list()
    lasted = times[-1] - times[0]
    return Film(
        tuple(decode_jpeg(jpeg) for jpeg in chosen["jpeg"]),
        (len(times) - 1) / lasted if lasted > 0 else 1.0,
    )


def _visual(work: Work, embedder: ClipEmbedder) -> pl.DataFrame:
    """A vector of every clip that has stored frames, visible when it is over (spec 1.7)."""
    clips = work.read("clips").filter(pl.col("status") == "ok")
    seen = work.read("frames", ["clip"])["clip"].unique().to_list()
    clips = clips.filter(pl.col("clip").is_in(seen))
    most = cast(Embeddings, work.section).clip_frames
    parts = [TABLES["embeddings"].empty().drop("recording", "segment")]
    for done, clip in enumerate(clips.iter_rows(named=True)):
        work.progress("embeddings: clips", done, clips.height)
        part = f"{clip['clip']}:visual"
        kept = work.checkpoints.get(part)
        if kept is None:
            vectors = embedder.embed_clips([film(work.read("frames", clip=clip["clip"]), most)])
            of = pl.DataFrame(
                {
                    "subject": [clip["clip"]],
                    "start_s": [clip["start_s"]],
                    "visible_from": [clip["end_s"]],
                }
            )
            kept = {"rows": vector_rows(of, "visual", vectors, str(embedder.identity))}
            work.checkpoints.put(part, kept)
        parts.append(kept["rows"])
    work.progress("embeddings: clips", clips.height, clips.height)
    return pl.concat(parts)


def run(work: Work) -> Result:
    descriptions = work.read("descriptions")
    clips = descriptions["clip"].unique(maintain_order=True).to_list()
    parts = [TABLES["embeddings"].empty().drop("recording", "segment")]
    if clips:
        parts += [_identity(work, clips, descriptions), _text(work, descriptions)]
    embedder = work.roles.clip_embedder()
    if embedder is not None:
        parts.append(_visual(work, embedder))
    rows = work.keys(pl.concat(parts))
    counts = rows.group_by("kind", maintain_order=True).len()
    return Result({"embeddings": rows}, figures=dict(counts.iter_rows()))


def verify(work: Work, result: Result) -> Iterator[Finding]:
    rows = result.tables["embeddings"]
    unique = rows.select("subject", "kind").is_unique().all()
    yield Finding("unique_ids", unique, "a subject has two vectors of one kind")
    subjects_of = work.read("descriptions", ["observation"])["observation"].to_list()
    if "clips" in work.stage.reads_under(work.roles.profile):
        subjects_of += work.read("clips", ["clip"])["clip"].to_list()
    known = rows["subject"].is_in(subjects_of).all()
    yield Finding("subjects_exist", known, "a vector belongs to no observation or clip")
    yield Finding("unit_vectors", units(rows), "a vector is not finite or not of length 1")


def units(rows: pl.DataFrame) -> bool:
    """Whether every stored vector is finite and of length 1, to float16's accuracy."""
    for kind in rows.partition_by("dim"):
        flat = np.frombuffer(b"".join(kind["vector"].to_list()), "<f2").astype(np.float32)
        lengths = np.linalg.norm(flat.reshape(-1, int(kind["dim"][0])), axis=1)
        if not (np.abs(lengths - 1) < 2e-3).all():
            return False
    return True


STAGE = Stage(
    asset="embeddings",
    partition="segment",
    implementation="1",
    run=run,
    group="encounters",
    kinds=("onnx", "deltalake"),
    description=(
        "Embeds every encounter twice: its crops, name and summary for identity, its summary for "
        "search (paper 3.3; appendix A, association). Where the profile has a model for clips, it "
        "embeds every clip too, for the visual channel."
    ),
    reads=("crops", "descriptions"),
    roles=("identity_embedder", "text_embedder"),
    optional={"clip_embedder": ("clips", "frames")},
    checks={
        "unique_ids": "A subject has one vector of a kind.",
        "subjects_exist": "Every vector belongs to an observation or a clip.",
        "unit_vectors": "Every vector is finite and of length 1.",
    },
    verify=verify,
)
