"""Nodes and edges of one recording (paper 3.2; weights of spec 0 and 1.2)."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from geb_assets.parameters import Graph
from geb_assets.tables import TABLES
from geb_assets.writing.episodes.scales import COARSER, SCALES, unit_of
from geb_assets.writing.graph.containment import contained_pairs
from geb_assets.writing.graph.nodes import captioned, number_nodes, recurring
from geb_assets.writing.graph.temporal import temporal_edges

EdgeType = Literal[
    "temporal",
    "containment",
    "clip_episode",
    "episode_context",
    "visual_provenance",
    "membership",
]
EDGE_TYPES: tuple[EdgeType, ...] = get_args(EdgeType)
"""Where two edges join one pair of nodes, the type named first here is kept."""

_SKIP = ("1h", "30sec")


def build_graph(
    recording: str,
    *,
    clips: pl.DataFrame,
    observations: pl.DataFrame,
    memberships: pl.DataFrame,
    episodes: pl.DataFrame,
    weights: Graph,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows of the graph_nodes and graph_edges tables, from rows of the tables named.

    An observation is joined to its clip and to that clip's 30-second episode of the unit it starts
    in; a clip without a caption is no node, and its observations have neither edge (spec 0, 9.21,
    9.22). An edge is visible when both its ends are. A recording without video has episodes alone.
    """
    captions = captioned(clips, episodes)
    members = recurring(memberships, observations)
    nodes = number_nodes(clips, episodes, observations, captions, members)
    parts = [
        *_between_episodes(nodes, episodes, weights),
        *_across(nodes, observations, captions, members, weights),
    ]
    return _rows(recording, nodes, "graph_nodes"), _edges(recording, nodes, parts)


def _of_type(nodes: pl.DataFrame, kind: str, key: str, number: str) -> pl.DataFrame:
    """Ids of one node type under the name ``key``, their numbers under ``number``."""
    return nodes.filter(pl.col("type") == kind).select(
        pl.col("id").alias(key), pl.col("node").alias(number)
    )


def _part(
    kind: EdgeType,
    a: NDArray[np.int64] | pl.Series,
    b: NDArray[np.int64] | pl.Series,
    weight: float | NDArray[np.float64],
) -> pl.DataFrame:
    frame = pl.DataFrame({"a": a, "b": b}, schema={"a": pl.Int64, "b": pl.Int64})
    return frame.with_columns(
        rank=pl.lit(EDGE_TYPES.index(kind), dtype=pl.Int8),
        weight=pl.Series(np.broadcast_to(weight, frame.height), dtype=pl.Float64),
    )


def _between_episodes(
    nodes: pl.DataFrame, episodes: pl.DataFrame, weights: Graph
) -> list[pl.DataFrame]:
    # Node order is start order, and ids settle ties.
    placed = episodes.join(_of_type(nodes, "episode", "episode", "node"), on="episode").sort("node")
    spans: dict[str, tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]] = {}
    parts = []
    for scale in SCALES:
        one = placed.filter(pl.col("scale") == scale)
        node, start, end = (one[name].to_numpy() for name in ("node", "start_s", "end_s"))
        spans[scale] = node, start, end
        earlier, closeness = temporal_edges(start, end, weights.temporal_gap_s)
        parts.append(_part("temporal", node[earlier], node[earlier + 1], closeness))
    for outer, inner in (*COARSER.items(), _SKIP):
        pairs = contained_pairs(*spans[outer][1:], *spans[inner][1:])
        weight = weights.containment_skip if (outer, inner) == _SKIP else weights.containment
        parts.append(
            _part("containment", spans[outer][0][pairs[:, 0]], spans[inner][0][pairs[:, 1]], weight)
        )
    return parts


def _across(
    nodes: pl.DataFrame,
    observations: pl.DataFrame,
    captions: pl.DataFrame,
    members: pl.DataFrame,
    weights: Graph,
) -> list[pl.DataFrame]:
    units = captions.join(_of_type(nodes, "clip", "clip", "clip_node"), on="clip").join(
        _of_type(nodes, "episode", "episode", "episode_node"), on="episode"
    )
    placed = observations.select("observation", "clip", unit=unit_of(pl.col("start_s"))).join(
        _of_type(nodes, "observation", "observation", "node"), on="observation"
    )
    reach = units.group_by("clip").agg(
        pl.col("clip_node").first(), first=pl.col("unit").min(), last=pl.col("unit").max()
    )
    shown = placed.join(reach, on="clip", how="inner").with_columns(
        unit=pl.col("unit").clip(pl.col("first"), pl.col("last"))
    )
    told = shown.join(units.select("clip", "unit", "episode_node"), on=["clip", "unit"])
    joined = members.join(placed.select("observation", "node"), on="observation").join(
        _of_type(nodes, "entity", "entity", "entity_node"), on="entity"
    )
    return [
        _part("clip_episode", units["clip_node"], units["episode_node"], weights.clip_episode),
        _part("episode_context", told["node"], told["episode_node"], weights.episode_context),
        _part("visual_provenance", shown["node"], shown["clip_node"], weights.visual_provenance),
        _part("membership", joined["node"], joined["entity_node"], weights.same_instance),
    ]


def _edges(recording: str, nodes: pl.DataFrame, parts: list[pl.DataFrame]) -> pl.DataFrame:
    visible = nodes["visible_from"].to_numpy()
    edges = (
        pl.concat(parts)
        .select(
            pl.min_horizontal("a", "b").alias("a"),
            pl.max_horizontal("a", "b").alias("b"),
            "rank",
            "weight",
        )
        .filter(pl.col("a") != pl.col("b"))
        .sort("a", "b", "rank")
        .unique(["a", "b"], keep="first", maintain_order=True)
    )
    seen = np.maximum(visible[edges["a"].to_numpy()], visible[edges["b"].to_numpy()])
    named = pl.col("rank").replace_strict(
        list(range(len(EDGE_TYPES))), list(EDGE_TYPES), return_dtype=pl.String
    )
    return _rows(
        recording,
        edges.with_columns(type=named, visible_from=pl.Series(seen, dtype=pl.Float64)),
        "graph_edges",
    )


def _rows(recording: str, frame: pl.DataFrame, name: str) -> pl.DataFrame:
    schema = TABLES[name].schema
    return frame.with_columns(recording=pl.lit(recording)).select(
        pl.col(column).cast(dtype) for column, dtype in schema.items()
    )
