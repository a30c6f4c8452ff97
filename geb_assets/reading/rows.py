"""Which rows of the tables a memory is made from."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from geb_assets.tables import TABLES

Frames = Mapping[str, pl.DataFrame]
"""Table name to rows."""

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "graph_nodes": ("node", "id", "type", "start_s", "end_s", "visible_from"),
    "graph_edges": ("a", "b", "type", "weight", "visible_from"),
    "observations": ("observation", "label"),
    "descriptions": ("observation", "visible_from", "status", "object_name", "summary"),
    "memberships": ("observation", "entity"),
    "separations": ("earlier", "later", "visible_from"),
    "episodes": ("episode", "scale", "text"),
}
"""Table to the columns read of it."""

TRIPLES = (
    "triple", "episode", "subject", "predicate", "object", "start_s", "end_s", "visible_from",
)  # fmt: skip
"""Columns read of table `triples`, by the variants that read it, where a model filled it."""

VECTORS: Mapping[str, str] = {"embeddings": "subject", "episode_embeddings": "episode"}
"""Tables of vectors, and the column that says whose each is."""


def plain_rows(frames: Frames) -> dict[str, pl.DataFrame]:
    """The tables of :data:`COLUMNS` with those columns alone; a table not given has no rows, but
    for ``triples``, which is there where it is given."""
    own = {"triples": frames["triples"].select(TRIPLES)} if "triples" in frames else {}
    return own | {
        table: frames[table].select(columns)
        if table in frames
        else TABLES[table].empty().select(columns)
        for table, columns in COLUMNS.items()
    }


def vectors_of(rows: pl.LazyFrame, table: str, kind: str) -> pl.LazyFrame:
    """(id, visible_from, vector) of one kind of vector of a table of :data:`VECTORS`."""
    return rows.filter(pl.col("kind") == kind).select("visible_from", "vector", id=VECTORS[table])
