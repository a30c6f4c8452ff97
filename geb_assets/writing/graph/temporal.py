"""Edges between successive episodes of one scale (spec 1.2 TEMPORAL_NEXT)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def temporal_edges(
    start_s: NDArray[np.float64], end_s: NDArray[np.float64], max_gap_s: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Which episodes of one scale are joined to the next, and how strongly.

    ``start_s``, ``end_s`` float64 [n] in order of start. The gap is the next start less this end,
    both cut to whole seconds. An overlap or a gap over ``max_gap_s`` joins nothing; else the weight
    is 1 / (gap + 1). Returns int64 [k], the place of each earlier one, and float64 [k] weights.
    """
    gap = np.floor(start_s[1:]) - np.floor(end_s[:-1])
    earlier = np.flatnonzero((gap >= 0) & (gap <= max_gap_s))
    return earlier, 1.0 / (gap[earlier] + 1.0)
