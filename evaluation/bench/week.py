"""A synthetic memory of the size of the paper's Table 6: the EgoLife week of one person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from geb_assets.clock import DAY_S, stamp
from geb_assets.parameters import Graph
from geb_assets.reading.dense import VectorRows
from geb_assets.tables import TABLES
from geb_assets.writing.graph.build import build_graph
from resources.store import encode_vectors

CLIPS, UNCAPTIONED, OBSERVATIONS = 6_266, 43, 308_244
ENTITIES, MEMBERS, DAYS = 27_446, 257_974, 7
VOCABULARY, TOPICS = 30_000, 600
_BLOCK = 8192


@dataclass(frozen=True)
class Week:
    """Rows of the tables, and text vectors in files."""

    frames: Mapping[str, pl.DataFrame]
    text: VectorRows
    words: NDArray[np.str_]
    topics: NDArray[np.float32]
    """Unit rows around which the texts' vectors lie."""

    def queries(self, count: int, *, seed: int = 1) -> list[tuple[str, NDArray[np.float32]]]:
        """Questions of ten words, some of them in half of all texts, and their vectors."""
        rng = np.random.default_rng(seed)
        found = []
        for _ in range(count):
            spoken = self.words[_zipf(rng, 10, len(self.words))]
            vector = self.topics[rng.integers(len(self.topics))].copy()
            vector += 0.5 * _directions(rng, 1, len(vector))[0]
            found.append((" ".join(spoken), vector / np.linalg.norm(vector)))
        return found


def _zipf(rng: np.random.Generator, size: int, count: int) -> NDArray[np.int64]:
    """Word numbers by Zipf's law: inverse of the cumulative distribution of 1 / (n + 2)."""
    return np.asarray(((count / 2.0) ** rng.random(size) * 2.0 - 2.0).astype(np.int64))


def _directions(rng: np.random.Generator, count: int, dim: int) -> NDArray[np.float32]:
    drawn = rng.standard_normal((count, dim), dtype=np.float32)
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return drawn


def _texts(
    rng: np.random.Generator, words: NDArray[np.str_], count: int, shortest: int, longest: int
) -> pl.Series:
    lengths = rng.integers(shortest, longest + 1, count)
    spoken = words[_zipf(rng, int(lengths.sum()), len(words))]
    flat = pl.DataFrame({"text": np.repeat(np.arange(count), lengths), "word": spoken})
    return flat.group_by("text", maintain_order=True).agg(pl.col("word").str.join(" "))["word"]


def _table(name: str, **columns: Any) -> pl.DataFrame:
    """The given columns with the table's types."""
    schema = TABLES[name].schema
    frame = pl.DataFrame(columns)
    return frame.select(pl.col(key).cast(schema[key]) for key in columns)


def synthetic_week(folder: Path, *, dim: int, scale: float = 1.0, seed: int = 0) -> Week:
    """Table 6 times ``scale``; vectors of ``dim`` numbers are written below ``folder``."""
    rng = np.random.default_rng(seed)
    clips, bare = round(CLIPS * scale), round(UNCAPTIONED * scale)
    observations = round(OBSERVATIONS * scale)
    per_day = -(-clips // DAYS)
    number = np.arange(clips)
    start = number // per_day * DAY_S + 11 * 3600 + number % per_day * 30.0
    clip = np.array([f"week/{stamp(s)}" for s in start])
    words = np.array([f"w{n}" for n in range(VOCABULARY)])

    captioned = np.ones(clips, bool)
    captioned[rng.choice(clips, bare, replace=False)] = False
    spans = [("30sec", start[captioned], start[captioned] + 30.0)]
    for name, length in (("3min", 180.0), ("10min", 600.0), ("1h", 3600.0)):
        cells = np.unique(start // length) * length
        spans.append((name, cells, cells + length))
    begin = np.concatenate([one for _, one, _ in spans])
    end = np.concatenate([one for _, _, one in spans])
    scales = np.repeat([name for name, _, _ in spans], [len(one) for _, one, _ in spans])
    episode = [f"week/{n}/{stamp(s)}" for n, s in zip(scales, begin, strict=True)]
    episodes = _table(
        "episodes", episode=episode, scale=scales, start_s=begin, end_s=end, visible_from=end,
        text=_texts(rng, words, len(begin), 40, 90),
    )  # fmt: skip

    place = np.sort(rng.integers(0, clips, observations))
    first = start[place] + rng.uniform(0, 15, observations).round(1)
    last = first + rng.uniform(2, 15, observations).round(1)
    seen = [f"{clip[c]}/o{n:06d}" for n, c in enumerate(place.tolist())]
    told = last + rng.uniform(0, 40, observations).round(1)
    observed = _table(
        "observations", clip=clip[place], observation=seen, start_s=first, end_s=last,
        visible_from=last, label=words[rng.integers(1000, 2000, observations)],
    )  # fmt: skip
    described = _table(
        "descriptions", observation=seen, visible_from=told, status=["ok"] * observations,
        object_name=words[rng.integers(500, 3000, observations)],
        summary=_texts(rng, words, observations, 15, 35),
    )  # fmt: skip
    size = 1.0 / np.arange(1, round(ENTITIES * scale) + 1) ** 0.8
    member = rng.choice(observations, round(MEMBERS * scale), replace=False)
    owner = np.arange(observations) + len(size)
    owner[member] = rng.choice(len(size), len(member), p=size / size.sum())
    memberships = _table("memberships", observation=seen, entity=[f"week/e{n:06d}" for n in owner])
    nodes, edges = build_graph(
        "week",
        clips=_table(
            "clips", clip=clip, start_s=start, end_s=start + 30, cell=start // 30,
            grid_s=np.full(clips, 30), status=["ok"] * clips,
        ),
        observations=observed,
        memberships=memberships,
        episodes=episodes,
        weights=Graph(),
    )  # fmt: skip
    topics = _directions(rng, TOPICS, dim)
    ids = pl.concat([episodes["episode"], pl.Series(seen)])
    visible = np.concatenate([end, told])
    folder.mkdir(parents=True, exist_ok=True)
    for block in range(0, len(ids), _BLOCK):
        part = slice(block, block + _BLOCK)
        near = topics[rng.integers(0, TOPICS, len(visible[part]))]
        rows = 0.7 * near + 0.7 * _directions(rng, len(near), dim)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        pl.DataFrame(
            {"id": ids[part], "visible_from": visible[part], "vector": encode_vectors(rows)}
        ).write_parquet(folder / f"{block:08d}.parquet", compression="uncompressed")
    return Week(
        {
            "graph_nodes": nodes,
            "graph_edges": edges,
            "observations": observed,
            "descriptions": described,
            "memberships": memberships,
            "episodes": episodes,
        },
        VectorRows([pl.scan_parquet(path) for path in sorted(folder.glob("*.parquet"))]),
        words,
        topics,
    )
