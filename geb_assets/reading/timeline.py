"""The episodes in time order, with their text vectors at full width: all are scored in a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from geb_assets.reading.dense import Allocate
from geb_assets.reading.selection import CATEGORIES

Places = NDArray[np.int64]
Real = NDArray[np.float64]
Vectors = NDArray[np.float32]

_SCALES = tuple(place for place, name in enumerate(CATEGORIES) if name[0].isdigit())
_BLOCK = 1024


def build_timeline(
    nodes: Mapping[str, NDArray[Any]],
    text: Mapping[str, NDArray[Any]] | None,
    allocate: Allocate,
) -> dict[str, NDArray[Any]]:
    """Arrays of a :class:`Timeline`, from those of the nodes and of the text vectors."""
    found = np.flatnonzero(np.isin(nodes["category"], _SCALES))
    ranking = np.lexsort((nodes["order"][found], nodes["start_s"][found], nodes["category"][found]))
    places = found[ranking].astype(np.int64)
    rows = nodes["text_row"][places]
    width = 0 if text is None else text["vectors"].shape[1]
    vectors = cast(Vectors, allocate("vectors", (len(places), width), np.float32))
    from_s = np.full(len(places), np.inf)
    if text is not None:
        has = np.flatnonzero(rows >= 0)
        from_s[has] = text["from_s"][rows[has]]
        for begin in range(0, len(has), _BLOCK):
            some = has[begin : begin + _BLOCK]
            block = text["vectors"][rows[some]].astype(np.float64)
            norms = np.linalg.norm(block, axis=1, keepdims=True)
            vectors[some] = np.divide(block, norms, out=np.zeros_like(block), where=norms > 0)
    return {"places": places, "vectors": vectors, "from_s": from_s}


@dataclass(frozen=True, eq=False)
class Timeline:
    """Episodes by (scale, start): nothing in it changes."""

    places: Places
    """Node of each episode, int64 [E]."""
    vectors: Vectors
    """Unit rows float32 [E, D]; zeros where an episode has none."""
    from_s: Real
    """The time from which each vector is visible."""

    def cosines(self, query: Vectors, at: float) -> Real:
        """Cosine of the query with each episode, float64 [E]; 0 where no vector is visible.

        A row's cosine depends on that row alone, so that it is the same as of any time.
        """
        norm = float(np.linalg.norm(query.astype(np.float64)))
        if not norm or not self.vectors.shape[1]:
            return np.zeros(len(self.places))
        wanted = (query / norm).astype(np.float32)
        # Not a matrix product: BLAS rounds by how rows fall into blocks.
        cosines = np.einsum("ij,j->i", self.vectors, wanted).astype(np.float64)
        return np.asarray(np.where(self.from_s <= at, cosines, 0.0))
