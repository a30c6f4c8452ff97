"""The way a search is done elsewhere: everything is indexed for one t, then scored in full.

igraph's prpack, rank_bm25 over all texts, the cosine with every text vector (once for the seeds,
once for the ranking) and a ranking in plain Python, with the same formulas and budgets as here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geb_assets.reading.selection import CATEGORIES
from geb_assets.reading.settings import WEEK


@dataclass(frozen=True, eq=False)
class Contents:
    """What is visible at one time, by node in node order."""

    ids: Sequence[str]
    category: NDArray[np.int8]
    entity: NDArray[np.int64]
    edges: NDArray[np.int64]
    weights: NDArray[np.float64]
    text_nodes: NDArray[np.int64]
    """Nodes with a text, in order."""
    tokens: Sequence[Sequence[str]]
    """Of each of them."""
    vectors: NDArray[np.float32]
    """Unit rows [n, D] of the same nodes."""


class PeerMemory:
    """An index of one time. Raises ImportError without the ``bench`` extra."""

    def __init__(self, contents: Contents) -> None:
        import igraph
        from rank_bm25 import BM25Okapi

        self._contents = contents
        started = time.perf_counter()
        self._graph = igraph.Graph(n=len(contents.ids), edges=contents.edges.tolist())
        self._graph.es["weight"] = contents.weights.tolist()
        graph_s = time.perf_counter() - started
        started = time.perf_counter()
        self._bm25 = BM25Okapi(contents.tokens)
        self.build_s = {"graph": graph_s, "bm25": time.perf_counter() - started}

    def search(
        self, words: Sequence[str], vector: NDArray[np.float32]
    ) -> tuple[list[tuple[str, float]], Mapping[str, float]]:
        """Ids and scores, best first, and the seconds of each component."""
        contents = self._contents
        seconds: dict[str, float] = {}
        started = time.perf_counter()

        def lap(component: str) -> None:
            nonlocal started
            now = time.perf_counter()
            seconds[component] = seconds.get(component, 0.0) + now - started
            started = now

        cosines = contents.vectors @ vector
        reset: dict[int, float] = {}
        for place in np.argsort(-cosines, kind="stable")[:5].tolist():
            if cosines[place] > 0:
                _add(reset, int(contents.text_nodes[place]), 0.7 * float(cosines[place]))
        lap("cosine")
        scores = np.maximum(self._bm25.get_scores(list(words)), 0.0)
        if scores.max() > 0:
            scores = scores / scores.max()
            for place in np.argsort(-scores, kind="stable")[:5].tolist():
                _add(reset, int(contents.text_nodes[place]), 0.3 * float(scores[place]))
        lap("bm25")
        seeds = np.ones(len(contents.ids)) if not reset else np.zeros(len(contents.ids))
        for node, value in reset.items():
            seeds[node] = value
        pagerank = self._graph.personalized_pagerank(
            directed=False,
            damping=0.85,
            weights="weight",
            reset=(seeds / seeds.sum()).tolist(),
            implementation="prpack",
        )
        lap("pagerank")
        again = contents.vectors @ vector
        lap("cosine")
        similarity: dict[int, float] = dict(
            zip(contents.text_nodes.tolist(), again.tolist(), strict=True)
        )
        ranking = []
        for node, value in enumerate(pagerank):
            if contents.category[node] >= 0:
                ranking.append((value * (similarity.get(node, 0.0) + 1.0) / 2.0, node))
        ranking.sort(key=lambda pair: -pair[0])
        units = self._walk(ranking)
        lap("ranking")
        return units, seconds

    def _walk(self, ranking: Sequence[tuple[float, int]]) -> list[tuple[str, float]]:
        contents = self._contents
        room: dict[str, Any] = {
            "observation": WEEK.observations,
            "clip": WEEK.clips,
            "30sec": WEEK.episodes_30sec,
            "3min": WEEK.episodes_3min,
            "10min": WEEK.episodes_10min,
            "1h": WEEK.episodes_1h,
        }
        entities: dict[int, int] = {}
        units: list[tuple[str, float]] = []
        for score, node in ranking:
            name = CATEGORIES[contents.category[node]]
            if room[name] == 0:
                continue
            if name == "observation":
                entity = int(contents.entity[node])
                if entities.get(entity, 0) == WEEK.per_entity:
                    continue
                entities[entity] = entities.get(entity, 0) + 1
            if room[name] is not None:
                room[name] -= 1
            units.append((contents.ids[node], score))
            if len(units) == WEEK.units:
                break
        return units


def _add(values: dict[int, float], key: int, value: float) -> None:
    values[key] = values.get(key, 0.0) + value
