"""The graph as a matrix whose nodes lie in the order in which they become visible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse


def build_adjacency(nodes: pl.DataFrame, edges: pl.DataFrame) -> dict[str, NDArray[Any]]:
    """Arrays of an :class:`Adjacency`. ``nodes``: place, node and visible_from, in order of place;
    ``edges``: a, b (node numbers), weight and visible_from."""
    places = nodes.select("node", "place", "visible_from")
    joined = edges.join(
        places.rename({"place": "i", "visible_from": "i_from"}), left_on="a", right_on="node"
    ).join(places.rename({"place": "j", "visible_from": "j_from"}), left_on="b", right_on="node")
    late = pl.when(pl.col("visible_from") > pl.max_horizontal("i_from", "j_from")).then(
        "visible_from"
    )
    both = pl.concat(
        [
            joined.select(row=one, column=other, weight="weight", late=late)
            for one, other in (("i", "j"), ("j", "i"))
        ]
    ).sort("row", "column")
    indptr = np.searchsorted(both["row"].to_numpy(), np.arange(nodes.height + 1))
    waits = both["late"].is_not_null().to_numpy()
    return {
        "weights": both["weight"].to_numpy(),
        "columns": both["column"].to_numpy().astype(np.int32),
        "indptr": indptr.astype(np.int32),
        "late": np.flatnonzero(waits),
        "late_from": both["late"].drop_nulls().to_numpy(),
    }


@dataclass(frozen=True, eq=False)
class Adjacency:
    """Symmetric weights. An edge is visible with both its nodes, or later where it says so."""

    matrix: sparse.csr_array
    late: NDArray[np.int64]
    """Entries of the matrix whose edge becomes visible after both its nodes."""
    late_from: NDArray[np.float64]

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> Adjacency:
        count = len(arrays["indptr"]) - 1
        parts = arrays["weights"], arrays["columns"], arrays["indptr"]
        matrix = sparse.csr_array(parts, shape=(count, count), copy=False)
        return cls(matrix, arrays["late"], arrays["late_from"])

    def at(self, at: float) -> sparse.csr_array:
        """The matrix with the edges that are not yet visible at weight 0."""
        hidden = self.late[self.late_from > at]
        if not len(hidden):
            return self.matrix
        weights = np.array(self.matrix.data)
        weights[hidden] = 0.0
        parts = weights, self.matrix.indices, self.matrix.indptr
        return sparse.csr_array(parts, shape=self.matrix.shape, copy=False)
