"""Where a search enters the graph: the best matches of each channel, added up (spec 1.4, 9.23)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]
Places = NDArray[np.int64]
ChannelName = Literal["text", "lexical", "visual"]


@dataclass(frozen=True, eq=False)
class Matches:
    """Nodes that one channel found, and how well they match, at most 1."""

    channel: ChannelName
    places: Places
    """The best first."""
    values: Real

    def first(self, count: int) -> Matches:
        return Matches(self.channel, self.places[:count], self.values[:count])


def best(
    channel: ChannelName, places: Places, values: Real, order: NDArray[np.int64], count: int
) -> Matches:
    """The ``count`` best of some matches above 0; ties by node order (int64 [N], by place)."""
    chosen = highest(values, order[places], count)
    return Matches(channel, places[chosen], values[chosen])


def highest(values: Real, order: NDArray[np.int64], count: int) -> Places:
    """Where the ``count`` highest values above 0 stand, the highest first; ties by ``order``."""
    positive = np.flatnonzero(values > 0)
    if len(positive) > count:
        least = np.partition(values[positive], -count)[-count] if count else np.inf
        positive = positive[values[positive] >= least]
    return positive[np.lexsort((order[positive], -values[positive]))[:count]]


def seed_vector(found: Iterable[tuple[Matches, float]], nodes: int) -> Real:
    """Weighted matches added up on their nodes: float64 [nodes], at sum 1, or zeros.

    A channel that found nothing, or that this memory lacks, leaves its share to the others.
    """
    seeds = np.zeros(nodes)
    for matches, weight in found:
        np.add.at(seeds, matches.places, weight * matches.values)
    total = seeds.sum()
    return seeds / total if total > 0 else seeds
