"""Each store searched by itself, as WorldMM does (spec 8): captions by scale, triples, clips.

Of the captions the nearest 10, 5, 5 and 3 of the four scales are candidates and 3 are kept, by
their cosine: what that system asks a model to rank falls back to the scores. Where a chat model
told triples, the entities of the nearest 10 seed a walk over the graph of entities, and the 10 are
kept whose two ends it reaches most. Of the clips the nearest 3 are kept where the memory has clip
vectors. There is no graph between the stores, and no model merges triples as time goes on: each is
there from its caption on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from evaluation.baselines.otherwise import Otherwise
from geb_assets.reading.dense import DenseIndex
from geb_assets.reading.memory import Memory
from geb_assets.reading.nodes import NodeIndex
from geb_assets.reading.pagerank import personalized_pagerank
from geb_assets.reading.selection import CATEGORIES, DIGITS
from geb_assets.reading.triples import entity_of
from geb_assets.reading.units import Unit

CANDIDATES = {"30sec": 10, "3min": 5, "10min": 5, "1h": 3}
KEPT_EPISODES = 3
SEEDING_TRIPLES = 10
KEPT_TRIPLES = 10
KEPT_CLIPS = 3
DAMPING = 0.85

Real = NDArray[np.float64]
Places = NDArray[np.int64]
Vectors = NDArray[np.float32]

_TRIPLE = CATEGORIES.index("triple")


class PerStore(Otherwise):
    """The same memory, its stores searched one by one."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        told = memory.triples
        self._triples = None if told is None else TripleGraph.of(told, memory.index.nodes)

    def search(
        self,
        query: str,
        *,
        at: float | None = None,
        exclude: Collection[str] = (),
        budget: Any = None,
    ) -> list[Unit]:
        asked = self.memory.encode(query)
        found: list[Unit] = []
        index = self.memory.index
        if index.text is not None and asked.text_vector is not None:
            places, cosines = _nearest(index.text, asked.text_vector, at)
            stated = index.nodes.category[places] == _TRIPLE
            left = dict(CANDIDATES)
            for unit in self._units(places[~stated], cosines[~stated], at, exclude):
                if unit.scale in left and left[unit.scale] > 0:
                    left[unit.scale] -= 1
                    found.append(unit)
            found = found[:KEPT_EPISODES]
            if self._triples is not None and stated.any():
                ranked, scores = self._triples.ranked(places[stated], _when(at))
                found += islice(self._units(ranked, scores, at, exclude), KEPT_TRIPLES)
        if index.visual is not None and asked.visual_vector is not None:
            units = self._units(*_nearest(index.visual, asked.visual_vector, at), at, exclude)
            found += islice((unit for unit in units if unit.kind == "clip"), KEPT_CLIPS)
        return found

    def _units(
        self, places: Places, scores: Real, at: float | None, exclude: Collection[str]
    ) -> Iterator[Unit]:
        """The units at these places that were not returned before."""
        excluded = set(exclude)
        for place, score in zip(places.tolist(), scores.tolist(), strict=True):
            unit = self.memory.unit_at(place, at=at)
            if unit.id not in excluded:
                yield replace(unit, score=score)


def _when(at: float | None) -> float:
    return np.inf if at is None else float(at)


def _nearest(store: DenseIndex, vector: Vectors, at: float | None) -> tuple[Places, Real]:
    """All places of a store that are visible, the nearest first, and their cosines."""
    rows, cosines = store.top(vector, len(store.place), _when(at))
    order = np.argsort(-cosines, kind="stable")
    return store.place[rows[order]], cosines[order]


@dataclass(frozen=True, eq=False)
class TripleGraph:
    """Entities, joined by the triples between them: as often as they are told."""

    places: Places
    """Node of each triple [T], ascending: the earlier visible ones first."""
    subject: Places
    """Number of each triple's subject [T]."""
    object: Places
    from_s: Real
    entities: int

    @classmethod
    def of(cls, triples: pl.DataFrame, nodes: NodeIndex) -> TripleGraph:
        """Of rows with the columns of :data:`rows.TRIPLES`, which are nodes."""
        places = np.flatnonzero(nodes.category == _TRIPLE)
        ends = {
            triple: (entity_of(subject), entity_of(other))
            for triple, subject, other in triples.select("triple", "subject", "object").iter_rows()
        }
        told = [ends[nodes.ids[place]] for place in places.tolist()]
        number = {name: n for n, name in enumerate(sorted({end for pair in told for end in pair}))}
        pairs = np.array([(number[a], number[b]) for a, b in told], np.int64).reshape(-1, 2)
        return cls(places, pairs[:, 0], pairs[:, 1], nodes.from_s[places], len(number))

    def ranked(self, nearest: Places, at: float) -> tuple[Places, Real]:
        """The triples visible ``at``, by the PageRank of subject and object together, and that.

        ``nearest``: these triples by their text, the nearest first; the entities of the first 10
        are the seeds, each alike, and ties go by it.
        """
        seen = self.from_s <= at
        ends = np.concatenate([self.subject[seen], self.object[seen]])
        back = np.concatenate([self.object[seen], self.subject[seen]])
        shape = self.entities, self.entities
        joined = sparse.coo_array((np.ones(len(ends)), (ends, back)), shape=shape).tocsr()
        rows = np.searchsorted(self.places, nearest)
        first = rows[:SEEDING_TRIPLES]
        seeds, there = np.zeros(self.entities), np.zeros(self.entities, bool)
        seeds[self.subject[first]] = seeds[self.object[first]] = 1.0
        there[ends] = True
        rank = personalized_pagerank(joined, seeds, visible=there, damping=DAMPING)
        sums = np.round(rank[self.subject[rows]] + rank[self.object[rows]], DIGITS)
        order = np.argsort(-sums, kind="stable")
        return nearest[order], sums[order]
