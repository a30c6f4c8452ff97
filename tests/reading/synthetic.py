"""Small random memories: rows of the tables, as the writing half would leave them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from geb_assets.parameters import Graph
from geb_assets.tables import TABLES
from geb_assets.writing.graph.build import build_graph
from resources.store import encode_vectors

WORDS = [
    *("the", "a", "of", "on", "red", "blue", "cup", "mixer", "pan", "table", "hand"),
    *("wash", "pour", "put", "takes", "cuts", "Shure", "Lucia"),
]
ENDS = ["I", "me", "red cup", "Red-cup", "Lucia's pan", "Lucia", "table", "mixer", "blue cup"]
"""Subjects and objects of triples."""
DIM = 24


class WordVectors:
    """Texts as the mean of fixed random vectors of their words; equal texts are equal vectors."""

    def __init__(self, dim: int = DIM) -> None:
        self.dim = dim

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().replace(".", "").split():
                seed = int.from_bytes(word.encode()[:8], "little") % 2**32
                row += np.random.default_rng(seed).standard_normal(self.dim).astype(np.float32)
            row /= max(float(np.linalg.norm(row)), 1e-9)
        return rows


def sentence(rng: np.random.Generator) -> str:
    return " ".join(rng.choice(WORDS, int(rng.integers(2, 9))))


def table(name: str, **columns: object) -> pl.DataFrame:
    """Columns of a table with its types; those not given are filled with nothing of note."""
    schema = TABLES[name].schema
    frame = pl.DataFrame({key: value for key, value in columns.items()})
    blanks = {pl.String(): "", pl.Boolean(): False, pl.Binary(): b""}
    return frame.with_columns(
        pl.lit(blanks.get(dtype, None if isinstance(dtype, pl.List) else 0)).alias(key)
        for key, dtype in schema.items()
        if key not in frame.columns
    ).select(pl.col(key).cast(dtype) for key, dtype in schema.items())


def random_tables(
    rng: np.random.Generator, *, clips: int = 12, per_clip: int = 4, visual: bool = False
) -> dict[str, pl.DataFrame]:
    """A recording of ``clips`` clips, with the edges and times that the writing half gives."""
    cell = np.arange(clips)
    start = cell * 30.0
    clip_ids = [f"r/clip{n:03d}" for n in cell]
    clip_rows = table(
        "clips", clip=clip_ids, start_s=start, end_s=start + 30, cell=cell, grid_s=[30] * clips,
        status=["ok"] * clips,
    )  # fmt: skip
    spans = [("30sec", s, s + 30) for s in start if rng.random() < 0.9]
    spans += [("3min", s, s + 180) for s in start[::6]]
    spans += [("10min", s, s + 600) for s in start[::20]]
    spans += [("1h", 0.0, 3600.0)]
    texts = [sentence(rng) for _ in spans]
    ends = np.array([min(end, clips * 30.0) for _, _, end in spans])
    episodes = table(
        "episodes",
        episode=[f"r/{scale}/{int(s):05d}" for scale, s, _ in spans],
        scale=[scale for scale, _, _ in spans],
        start_s=[float(s) for _, s, _ in spans],
        end_s=ends,
        visible_from=ends + rng.choice([0.0, 7.0], len(spans)),
        text=texts,
    )  # fmt: skip
    owner = np.repeat(cell, per_clip)
    count = len(owner)
    first = owner * 30.0 + np.round(rng.uniform(0, 20, count), 1)
    last = first + np.round(rng.uniform(2, 9, count), 1)
    ids = [f"{clip_ids[c]}/o{n:03d}" for n, c in enumerate(owner)]
    observations = table(
        "observations", clip=[clip_ids[c] for c in owner], observation=ids, start_s=first,
        end_s=last, visible_from=last, label=rng.choice(["cup", "bowl", "person"], count),
    )  # fmt: skip
    status = np.where(rng.random(count) < 0.85, "ok", "failed")
    told = last + rng.choice([0.0, 12.5, 40.0], count)
    summary = [sentence(rng) if s == "ok" else "" for s in status]
    name = [str(rng.choice(["cup", "red cup", "Mixer"])) for _ in status]
    descriptions = table(
        "descriptions", observation=ids, start_s=first, end_s=last, visible_from=told,
        status=status, object_name=name, summary=summary,
    )  # fmt: skip
    entity = rng.integers(0, max(2, count // 3), count)
    memberships = table(
        "memberships", observation=ids, entity=[f"r/e{e:03d}" for e in entity], start_s=first
    )
    pairs = [
        (i, j) for i in range(count) for j in range(i + 1, count)
        if owner[i] == owner[j] and rng.random() < 0.5
    ]  # fmt: skip
    separations = table(
        "separations",
        earlier=[ids[i] for i, _ in pairs],
        later=[ids[j] for _, j in pairs],
        visible_from=[max(last[i], last[j]) for i, j in pairs],
    )
    named = [
        (f"r/e{e:03d}", day, str(rng.choice(["Ada", "Bo"])), float(rng.uniform(0, clips * 30)))
        for e in sorted(set(entity.tolist())) for day in (1, 2) if rng.random() < 0.5
    ]  # fmt: skip
    names = table(
        "names",
        entity=[e for e, _, _, _ in named],
        day=[day for _, day, _, _ in named],
        cast_name=[name for _, _, name, _ in named],
        named_at=[told_at for *_, told_at in named],
        visible_from=[told_at for *_, told_at in named],
    )
    told_from = rng.uniform(0, clips * 30, 8)
    chains = table(
        "chains", kind=["topic"] * 8, label=["cup"] * 8, text=[sentence(rng) for _ in range(8)],
        start_s=told_from, end_s=told_from, visible_from=told_from + 5,
    )  # fmt: skip
    nodes, edges = build_graph(
        "r", clips=clip_rows, observations=observations, memberships=memberships,
        episodes=episodes, weights=Graph(),
    )  # fmt: skip
    embed = WordVectors().embed
    spoken = [n for n, s in enumerate(status) if s == "ok"]
    embeddings = table(
        "embeddings",
        subject=[ids[n] for n in spoken],
        kind=["text"] * len(spoken),
        visible_from=told[spoken],
        vector=encode_vectors(embed([summary[n] for n in spoken])),
    )
    if visual:
        pictures = rng.standard_normal((clips, 16)).astype(np.float32)
        shown = table(
            "embeddings", subject=clip_ids, kind=["visual"] * clips, visible_from=start + 30,
            vector=encode_vectors(pictures),
        )  # fmt: skip
        embeddings = pl.concat([embeddings, shown])
    return {
        "graph_nodes": nodes,
        "graph_edges": edges,
        "observations": observations,
        "descriptions": descriptions,
        "memberships": memberships,
        "separations": separations,
        "episodes": episodes,
        "names": names,
        "chains": chains,
        "embeddings": embeddings,
        "episode_embeddings": table(
            "episode_embeddings", episode=episodes["episode"], kind=["text"] * len(spans),
            visible_from=episodes["visible_from"], vector=encode_vectors(embed(texts)),
        ),
    }  # fmt: skip


def with_triples(
    tables: dict[str, pl.DataFrame], rng: np.random.Generator
) -> dict[str, pl.DataFrame]:
    """The same, with up to four triples of each 30-second caption."""
    short = tables["episodes"].filter(pl.col("scale") == "30sec")
    told = [
        {
            **{key: row[key] for key in ("episode", "start_s", "end_s", "visible_from")},
            "triple": f"{row['episode']}/t{n:02d}",
            **{end: str(rng.choice(ENDS)) for end in ("subject", "object")},
            "predicate": str(rng.choice(WORDS)),
        }
        for row in short.iter_rows(named=True)
        for n in range(int(rng.integers(0, 5)))
    ]
    return {**tables, "triples": table("triples", **pl.DataFrame(told).to_dict(as_series=False))}


def with_frames(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The same, with a stored frame each ten seconds of every clip."""
    clips = tables["graph_nodes"].filter(pl.col("type") == "clip").select("id", "start_s").rows()
    shown = [(clip, start + after) for clip, start in clips for after in (0.0, 10.0, 20.0)]
    frames = table(
        "frames",
        clip=[clip for clip, _ in shown],
        time_s=[time for _, time in shown],
        jpeg=[f"{clip} {time}".encode() for clip, time in shown],
    )
    return {**tables, "frames": frames}


def before(tables: dict[str, pl.DataFrame], at: float) -> dict[str, pl.DataFrame]:
    """The rows that exist at a time: what a memory rebuilt then would be made from."""
    seen = tables["observations"].filter(pl.col("visible_from") <= at)["observation"].implode()
    kept = {
        name: rows.filter(pl.col("visible_from") <= at)
        for name, rows in tables.items()
        if "visible_from" in rows.columns
    }
    kept["memberships"] = tables["memberships"].filter(pl.col("observation").is_in(seen))
    if "frames" in tables:
        kept["frames"] = tables["frames"].filter(pl.col("time_s") <= at)
    return kept
