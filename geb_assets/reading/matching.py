"""How well nodes fit a query by their own text and time, with the graph's score beside it.

Not the paper's ranking: see :class:`geb_assets.reading.settings.Match`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geb_assets.reading.settings import Match
from geb_assets.reading.times import When

Real = NDArray[np.float64]

_HOUR_S = 3600.0


@dataclass(frozen=True, eq=False)
class Candidates:
    """The nodes that are scored; arrays of equal length, the episodes first."""

    episodes: int
    """How many are episodes; those lie by (kind, start)."""
    kind: NDArray[np.int8]
    """Scores of one kind are comparable: places in :data:`selection.CATEGORIES`."""
    start_s: Real
    end_s: Real
    lexical: Real
    """BM25, 0 where no word is shared."""
    cosine: Real
    """Of the texts' vectors, 0 where there is none."""
    graph: Real
    """PageRank x cosine."""


def match_scores(
    nodes: Candidates, settings: Match, *, now: float, named: Sequence[When] = ()
) -> Real:
    """Scores float64 [n] as of ``now``, s on the recording clock.

    ``named``: the times that the query names.
    """
    cosine = np.maximum(nodes.cosine, 0.0)
    own = (1.0 - settings.cosine) * share_of_best(nodes.lexical, nodes.kind)
    own += settings.cosine * share_of_best(cosine, nodes.kind)
    own += settings.graph * share_of_best(nodes.graph, nodes.kind)
    first = slice(nodes.episodes)
    own[first] = with_neighbours(own[first], nodes.kind[first], settings.neighbours)
    age_h = np.maximum(now - nodes.end_s, 0.0) / _HOUR_S
    raised = 1.0 + settings.recency * np.exp(-age_h / settings.recency_h)
    raised *= 1.0 + settings.named_time * within(nodes.start_s, nodes.end_s, named)
    return np.asarray(own * raised)


def share_of_best(values: Real, kind: NDArray[np.int8]) -> Real:
    """Each value >= 0 as a share of the highest of its kind."""
    best = np.zeros(int(kind.max(initial=-1)) + 1)
    np.maximum.at(best, kind, values)
    return np.divide(values, best[kind], out=np.zeros_like(values), where=best[kind] > 0)


def with_neighbours(values: Real, kind: NDArray[np.int8], share: float) -> Real:
    """Each value with ``share`` of the one before and the one after it, where those are of its
    kind, as a weighted mean."""
    beside = kind[1:] == kind[:-1]
    found = values.copy()
    found[1:] += share * np.where(beside, values[:-1], 0.0)
    found[:-1] += share * np.where(beside, values[1:], 0.0)
    return found / (1.0 + 2.0 * share)


def within(start_s: Real, end_s: Real, whens: Sequence[When]) -> Real:
    """1 for a span whose middle lies in one of the times, else 0."""
    middle = (start_s + end_s) / 2.0
    inside = np.zeros(len(middle), bool)
    for when in whens:
        inside |= (middle >= when.start_s) & (middle <= when.end_s)
    return inside.astype(np.float64)
