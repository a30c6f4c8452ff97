"""Which nodes a search returns: the best by score, under quotas (spec 1.5, 9.24, 9.26)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geb_assets.reading.settings import Budget

Real = NDArray[np.float64]
Places = NDArray[np.int64]

CATEGORIES = ("observation", "clip", "30sec", "3min", "10min", "1h", "triple")
"""What quotas are given for; a node's category is a place in this tuple, or -1: never returned."""

_OBSERVATION = CATEGORIES.index("observation")
_CONSIDERED = 512
"""Nodes scored at first, the highest in PageRank."""
DIGITS = 12
"""Scores that agree to this many decimals are ties, which node order settles: rounding in the
propagation must not."""


def quotas(budget: Budget) -> Mapping[int, int]:
    """Category to the most of its units that fit."""
    given = {
        "observation": budget.observations,
        "clip": budget.clips,
        "30sec": budget.episodes_30sec,
        "3min": budget.episodes_3min,
        "10min": budget.episodes_10min,
        "1h": budget.episodes_1h,
        "triple": budget.triples,
    }
    return {
        place: min(budget.units, budget.units if (quota := given[name]) is None else quota)
        for place, name in enumerate(CATEGORIES)
    }


@dataclass(frozen=True, eq=False)
class Ranked:
    """The nodes that a search may return, visible ones only."""

    pagerank: Real
    """Float64 [N]."""
    category: NDArray[np.int8]
    """Int8 [N]."""
    entity: NDArray[np.int64]
    """Int64 [N]: which observations count as one entity's."""
    order: NDArray[np.int64]
    """Int64 [N]: node order, which settles ties."""


def select(ranked: Ranked, factor: Callable[[Places], Real], budget: Budget) -> tuple[Places, Real]:
    """The units of a search, best first: places int64 [k] and scores float64 [k].

    ``factor`` gives the similarity, at most 1, that PageRank is multiplied by; it is asked only for
    nodes that can still be returned, since a score is at most its PageRank. Of equal scores the
    earlier node is first. Walking down the ranking until the budget is full, skipping what its
    quotas refuse, gives the same units.
    """
    allowed = quotas(budget)
    # The last place answers for category -1.
    admitted = np.zeros(len(CATEGORIES) + 1, bool)
    admitted[[category for category, quota in allowed.items() if quota > 0]] = True
    candidates = np.flatnonzero((ranked.pagerank > 0) & admitted[ranked.category])
    size = _CONSIDERED
    while True:
        considered, beyond = _highest(ranked.pagerank, candidates, size)
        scores = np.round(ranked.pagerank[considered] * factor(considered), DIGITS)
        ranking = np.lexsort((ranked.order[considered], -scores))
        considered, scores = considered[ranking], scores[ranking]
        kept = _within(ranked, considered, allowed, budget.per_entity)[: budget.units]
        # A node left out scores at most `beyond`: below that nothing is settled.
        settled = len(considered) == len(candidates) or (
            bool(len(kept))
            and scores[kept[-1]] > beyond + 10.0**-DIGITS
            and (len(kept) == budget.units or _full(ranked, considered[kept], allowed))
        )
        if settled:
            return considered[kept], scores[kept]
        size *= 8


def _highest(pagerank: Real, candidates: Places, size: int) -> tuple[Places, float]:
    """The candidates of highest PageRank, and the highest PageRank among the others."""
    if size >= len(candidates):
        return candidates, 0.0
    values = pagerank[candidates]
    parted = np.argpartition(values, len(values) - size)
    return candidates[parted[-size:]], float(values[parted[:-size]].max())


def _within(
    ranked: Ranked, ranking: Places, allowed: Mapping[int, int], per_entity: int | None
) -> Places:
    """Which places of a ranking its quotas admit: ascending int64."""
    kept: list[Places] = []
    for category, quota in allowed.items():
        own = np.flatnonzero(ranked.category[ranking] == category)
        if category == _OBSERVATION and per_entity is not None:
            own = own[_times_before(ranked.entity[ranking[own]]) < per_entity]
        kept.append(own[:quota])
    return np.sort(np.concatenate(kept))


def _times_before(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each key has already come, int64 [n]."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = (
        np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(keys) else np.zeros(0, bool)
    )
    starts = np.maximum.accumulate(np.where(first, np.arange(len(keys)), 0))
    counts = np.empty(len(keys), np.int64)
    counts[order] = np.arange(len(keys)) - starts
    return counts


def _full(ranked: Ranked, chosen: Places, allowed: Mapping[int, int]) -> bool:
    """Whether every quota is used up."""
    counts = np.bincount(ranked.category[chosen], minlength=len(CATEGORIES))
    return all(counts[category] >= quota for category, quota in allowed.items())
