"""Text (or visual) vectors in the order in which they become visible, and exact search in them.

A search screens all visible rows with eight-bit codes and computes the cosine itself for those that
come near the top. Each row's code is off by a known distance, so that no row outside the screened
ones can belong to the result; where the bound does not settle it, more rows are screened.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from geb_assets.errors import GebError

_BLOCK = 8192
_SCREENED = 1024
"""Rows taken from the screen at first; only the nearest of them are looked at."""
_SLICE = 1 << 16
"""Fewest rows that are worth a thread."""
_ROUNDING = 1e-5
"""Float32 rounding of a screened product of unit vectors, at most."""

Real = NDArray[np.float64]
Half = NDArray[np.float16]
Vectors = NDArray[np.float32]
Allocate = Callable[[str, tuple[int, ...], Any], NDArray[Any]]
"""Name, shape and dtype to an array to be filled, in memory or in a file."""


@dataclass(frozen=True, eq=False)
class VectorRows:
    """Stored vectors, possibly in many parts: rows of (id, visible_from, vector)."""

    parts: Sequence[pl.LazyFrame] = ()

    def index(self) -> pl.DataFrame:
        """(id, visible_from, size) of each vector that is there; size in bytes."""
        sized = [
            part.select("id", "visible_from", size=pl.col("vector").bin.size("b"))
            for part in self.parts
        ]
        empty = pl.DataFrame(schema={"id": pl.String, "visible_from": pl.Float64, "size": pl.Int64})
        found = [frame.cast({"size": pl.Int64}) for frame in pl.collect_all(sized)]
        return pl.concat([empty, *found]).filter(pl.col("size") > 0)

    def blocks(self) -> Iterator[tuple[pl.Series, Half]]:
        """Ids and float16 [n, D], part by part."""
        for part in self.parts:
            rows = part.select("id", "vector").filter(pl.col("vector").bin.size("b") > 0).collect()
            for block in rows.iter_slices(_BLOCK):
                flat = np.frombuffer(b"".join(block["vector"].to_list()), "<f2")
                yield block["id"], flat.reshape(block.height, -1)


def build_dense(
    nodes: pl.DataFrame, rows: VectorRows, allocate: Allocate
) -> tuple[dict[str, NDArray[Any]], Any] | None:
    """Arrays of a :class:`DenseIndex` and its codes (a faiss index); None where no node has one.

    ``nodes``: place, id and visible_from, in order of place. A vector is visible from its own time,
    and never before its node. Raises GebError where vectors differ in length.
    """
    index = (
        rows.index()
        .join(nodes.select("place", "id", node_from="visible_from"), on="id")
        .with_columns(from_s=pl.max_horizontal("visible_from", "node_from"))
        .sort("from_s", "place")
        .with_columns(row=pl.int_range(pl.len(), dtype=pl.Int64))
    )
    if index.is_empty():
        return None
    sizes = index["size"].unique().sort().to_list()
    if len(sizes) > 1:
        lengths = ", ".join(str(size // 2) for size in sizes)
        raise GebError(
            f"vectors of different lengths ({lengths}) in one memory; "
            "they come from different models: build the recording again"
        )
    vectors = cast(Half, allocate("vectors", (index.height, sizes[0] // 2), np.float16))
    place_of = index.select("id", "row")
    for ids, block in rows.blocks():
        target = pl.DataFrame({"id": ids}).join(
            place_of, on="id", how="left", maintain_order="left"
        )
        known = target["row"].is_not_null().to_numpy()
        vectors[target["row"].drop_nulls().to_numpy()] = block[known]
    codes, error = _codes(vectors)
    arrays = {
        "vectors": vectors,
        "from_s": index["from_s"].to_numpy(),
        "place": index["place"].to_numpy().astype(np.int64),
        "error": np.array([error]),
    }
    return arrays, codes


def _unit(vectors: Half) -> NDArray[np.float32]:
    rows = vectors.astype(np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, norms, out=rows, where=norms > 0))


def _codes(vectors: Half) -> tuple[Any, float]:
    """Eight-bit codes of the unit rows, and how far a row is from its code at most."""
    import faiss

    count, width = vectors.shape
    starts = range(0, count, _BLOCK)
    low, high = np.full(width, np.inf, np.float32), np.full(width, -np.inf, np.float32)
    for begin in starts:
        rows = _unit(vectors[begin : begin + _BLOCK])
        np.minimum(low, rows.min(axis=0), out=low)
        np.maximum(high, rows.max(axis=0), out=high)
    codes = faiss.IndexScalarQuantizer(
        width, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    faiss.copy_array_to_vector(np.concatenate([low, high - low]), codes.sq.trained)
    codes.is_trained = True
    furthest = 0.0
    for begin in starts:
        rows = _unit(vectors[begin : begin + _BLOCK])
        codes.add(rows)
        off = np.linalg.norm(codes.reconstruct_n(begin, len(rows)) - rows, axis=1)
        furthest = max(furthest, float(off.max()))
    return codes, furthest


def write_codes(codes: Any, path: Path) -> None:
    import faiss

    faiss.write_index(codes, str(path))


def read_codes(path: Path) -> Any:
    """Codes mapped from a file; nothing is read before it is searched."""
    import faiss

    return faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)


@dataclass(frozen=True, eq=False)
class DenseIndex:
    """Vectors float16 [M, D] by (time from which they are visible, place), and their codes."""

    vectors: Half
    from_s: Real
    place: NDArray[np.int64]
    """Place of each row's node."""
    error: float
    codes: Any

    @property
    def dimension(self) -> int:
        return int(self.vectors.shape[1])

    def visible(self, at: float) -> int:
        """How many rows are visible: the first so many."""
        return int(np.searchsorted(self.from_s, at, side="right"))

    def cosines(self, query: NDArray[np.float32], rows: NDArray[np.int64]) -> Real:
        """Cosine of the query with these rows, float64 [n]; each depends on its own row alone."""
        wanted = _direction(query)
        found = np.zeros(len(rows))
        for begin in range(0, len(rows), _BLOCK // 8):
            chosen = rows[begin : begin + _BLOCK // 8]
            block = self.vectors[chosen].astype(np.float64)
            norms = np.sqrt((block * block).sum(axis=1))
            block *= wanted
            dots = block.sum(axis=1)
            found[begin : begin + len(chosen)] = np.divide(
                dots, norms, out=np.zeros_like(dots), where=norms > 0
            )
        return found

    def top(
        self, query: NDArray[np.float32], count: int, at: float
    ) -> tuple[NDArray[np.int64], Real]:
        """The ``count`` visible rows of highest cosine, exactly, and all ties of the last.

        Returns rows int64 [n] and their cosines float64 [n], in no order.
        """
        visible = self.visible(at)
        if not visible or not count:
            return np.zeros(0, np.int64), np.zeros(0)
        wanted = _direction(query).astype(np.float32)[None]
        size = max(_SCREENED, 4 * count)
        while size < visible:
            screened, rows, beyond = self._screen(wanted, size, visible)
            # The best by their codes first: they say how far down anything can still belong.
            first = np.argsort(-screened, kind="stable")[: 4 * count]
            near = self.cosines(query, rows[first])
            least = np.partition(near, -count)[-count] - self.error - _ROUNDING
            if beyond < least:
                found = np.sort(rows[screened >= least])
                return _best(found, self.cosines(query, found), count)
            size *= 16
        every = np.arange(visible)
        return _best(every, self.cosines(query, every), count)

    def _screen(
        self, wanted: Vectors, size: int, visible: int
    ) -> tuple[Vectors, NDArray[np.int64], float]:
        """Visible rows of highest screened product: at least the ``size`` best, in no order, their
        products, and the highest that any other row can have. Slices are screened in parallel."""
        slices = max(1, min(os.cpu_count() or 1, visible // _SLICE))
        cuts = np.linspace(0, visible, slices + 1).astype(np.int64).tolist()

        def one(low: int, high: int) -> tuple[Vectors, NDArray[np.int64]]:
            products, rows = self.codes.search(wanted, size, params=_between(low, high))
            found = rows[0] >= 0
            return products[0][found], rows[0][found].astype(np.int64)

        if slices == 1:
            parts = [one(0, visible)]
        else:
            with ThreadPoolExecutor(slices) as pool:
                parts = list(pool.map(one, cuts[:-1], cuts[1:]))
        full = [float(products[-1]) for products, _ in parts if len(products) == size]
        return (
            np.concatenate([products for products, _ in parts]),
            np.concatenate([rows for _, rows in parts]),
            max(full, default=-np.inf),
        )


def _best(rows: NDArray[np.int64], cosines: Real, count: int) -> tuple[NDArray[np.int64], Real]:
    """The ``count`` rows of highest cosine, and all ties of the last."""
    if len(rows) <= count:
        return rows, cosines
    kept = cosines >= np.partition(cosines, -count)[-count]
    return rows[kept], cosines[kept]


def _between(low: int, high: int) -> Any:
    """Search parameters that keep to a range of rows."""
    import faiss

    parameters: Any = faiss.SearchParameters
    return parameters(sel=faiss.IDSelectorRange(low, high))


def _direction(query: NDArray[np.float32]) -> Real:
    wide = np.asarray(query, np.float64).ravel()
    norm = np.sqrt((wide * wide).sum())
    return wide / norm if norm > 0 else wide
