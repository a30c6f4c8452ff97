"""The graph in the order in which its nodes become visible, split for PageRank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from geb_assets.reading.split import SplitGraph

_BLOCKS = ("rest_rest", "rest_leaves", "leaves_rest")


def build_adjacency(placed: pl.DataFrame, edges: pl.DataFrame) -> dict[str, NDArray[Any]]:
    """Arrays of an :class:`Adjacency`. ``placed``: place, node, type and visible_from, in order of
    place; ``edges``: a, b (node numbers), weight and visible_from."""
    ends = placed.select("node", "place", "visible_from", seen=pl.col("type") == "observation")
    joined = edges.rename({"visible_from": "from_s"}).join(ends, left_on="a", right_on="node")
    joined = joined.join(ends, left_on="b", right_on="node", suffix="_b")
    late = pl.when(pl.col("from_s") > pl.max_horizontal("visible_from", "visible_from_b"))
    pairs = joined.select(
        "weight", "seen", "seen_b", i="place", j="place_b", late=late.then("from_s")
    )
    both = pl.concat(
        [
            pairs.select(row=one, column=other, weight="weight", late="late")
            for one, other in (("i", "j"), ("j", "i"))
        ]
    )
    # Observations are leaves, but for any that is joined to another one.
    leaf = ends["seen"].to_numpy().copy()
    bound = pairs.filter(pl.col("seen") & pl.col("seen_b"))
    leaf[bound["i"].to_numpy()] = leaf[bound["j"].to_numpy()] = False
    number = np.where(leaf, np.cumsum(leaf), np.cumsum(~leaf)) - 1
    rows, columns = both["row"].to_numpy(), both["column"].to_numpy()
    both = both.with_columns(
        row=pl.Series(number[rows]),
        column=pl.Series(number[columns]),
        row_leaf=pl.Series(leaf[rows]),
        column_leaf=pl.Series(leaf[columns]),
    ).sort("row", "column")
    counts = {"rest": int((~leaf).sum()), "leaves": int(leaf.sum())}
    arrays = {"rest": np.flatnonzero(~leaf), "leaves": np.flatnonzero(leaf)}
    for block in _BLOCKS:
        of, to = block.split("_")
        own = both.filter(
            (pl.col("row_leaf") == (of == "leaves")) & (pl.col("column_leaf") == (to == "leaves"))
        )
        starts = np.searchsorted(own["row"].to_numpy(), np.arange(counts[of] + 1))
        arrays[f"{block}.weights"] = own["weight"].to_numpy()
        arrays[f"{block}.columns"] = own["column"].to_numpy().astype(np.int32)
        arrays[f"{block}.starts"] = starts.astype(np.int32)
        arrays[f"{block}.late"] = np.flatnonzero(own["late"].is_not_null().to_numpy())
        arrays[f"{block}.late_from"] = own["late"].drop_nulls().to_numpy()
    return arrays


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The weights. An edge is visible with both its nodes, or later where it says so."""

    graph: SplitGraph
    late: Mapping[str, tuple[NDArray[np.int64], NDArray[np.float64]]]
    """Block to its entries that become visible after both nodes, and when."""

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> Adjacency:
        places = {name: arrays[name] for name in ("rest", "leaves")}
        blocks: dict[str, sparse.csr_array] = {}
        for block in _BLOCKS:
            of, to = block.split("_")
            parts = tuple(arrays[f"{block}.{name}"] for name in ("weights", "columns", "starts"))
            shape = len(places[of]), len(places[to])
            blocks[block] = sparse.csr_array(parts, shape=shape, copy=False)
        late = {block: (arrays[f"{block}.late"], arrays[f"{block}.late_from"]) for block in _BLOCKS}
        return cls(SplitGraph(**places, **blocks), late)

    def at(self, at: float) -> SplitGraph:
        """The graph with the edges that are not yet visible at weight 0."""
        if not any((late_from > at).any() for _, late_from in self.late.values()):
            return self.graph
        blocks = {block: self._block(block, at) for block in _BLOCKS}
        return SplitGraph(self.graph.rest, self.graph.leaves, **blocks)

    def _block(self, block: str, at: float) -> sparse.csr_array:
        matrix: sparse.csr_array = getattr(self.graph, block)
        late, late_from = self.late[block]
        weights = np.array(matrix.data)
        weights[late[late_from > at]] = 0.0
        parts = weights, matrix.indices, matrix.indptr
        return sparse.csr_array(parts, shape=matrix.shape, copy=False)
