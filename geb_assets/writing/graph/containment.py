"""Which finer episodes lie wholly inside which coarser ones (spec 1.2 CONTAINS)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Seconds = NDArray[np.float64]


def contained_pairs(
    outer_start: Seconds, outer_end: Seconds, inner_start: Seconds, inner_end: Seconds
) -> NDArray[np.int64]:
    """Pairs with inner start >= outer start and inner end <= outer end: int64 [P, 2].

    Outer float64 [m] and inner float64 [n] spans, in s; a pair is (outer, inner), ordered by outer,
    then by inner start. The inner spans that start inside an outer one are found by bisection.
    """
    order = np.argsort(inner_start, kind="stable")
    starts = inner_start[order]
    low = np.searchsorted(starts, outer_start, side="left")
    high = np.searchsorted(starts, outer_end, side="right")
    counts = np.maximum(high - low, 0)
    outer = np.repeat(np.arange(len(outer_start)), counts)
    # Places low, low + 1, ... of each outer span, laid end to end.
    offset = np.arange(len(outer)) - np.repeat(np.cumsum(counts) - counts, counts)
    inner = order[np.repeat(low, counts) + offset]
    inside = inner_end[inner] <= outer_end[outer]
    return np.column_stack((outer[inside], inner[inside])).astype(np.int64)
