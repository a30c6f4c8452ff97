"""Nodes of entities that only a variant has: what is grouped by a word instead of by sight."""

from __future__ import annotations

import polars as pl


def entity_nodes(met: pl.DataFrame, nodes: pl.DataFrame, *, times: int = 2) -> pl.DataFrame:
    """A node for each entity that is met so many times, visible from the last of them.

    met: a row a meeting, columns entity (the node's id), start_s, end_s, visible_from.
    nodes: the graph's other nodes, as table ``graph_nodes``.
    Returns id, node (numbered on from the others), type, start_s, end_s, visible_from, by start.
    """
    entities = (
        met.group_by("entity")
        .agg(
            pl.col("start_s").min(),
            pl.col("end_s").max(),
            pl.col("visible_from").bottom_k(times).max(),
            seen=pl.len(),
        )
        .filter(pl.col("seen") >= times)
        .sort("start_s", "entity")
    )
    first = int(nodes.select(pl.col("node").max() + 1).item() or 0)
    return entities.select(
        id="entity",
        node=pl.int_range(pl.len(), dtype=pl.Int64) + first,
        type=pl.lit("entity"),
        start_s="start_s",
        end_s="end_s",
        visible_from="visible_from",
    )
