"""Which lines lie near a recording's footage."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray


def near_footage(lines: pl.DataFrame, spans: NDArray[np.float64], margin_s: float) -> pl.DataFrame:
    """The rows of ``lines`` that lie within ``margin_s`` of footage.

    ``lines`` is any frame with start_s and end_s; ``spans`` float64 [n, 2] are the start and end
    of each stretch of footage, in any order. No spans: the recording has no video, all are kept.
    """
    if len(spans) == 0:
        return lines
    ordered = spans[np.argsort(spans[:, 0], kind="stable")]
    starts = ordered[:, 0] - margin_s
    reach = np.maximum.accumulate(ordered[:, 1]) + margin_s
    # Of the stretches that begin by a line's end, the one that reaches furthest decides.
    begun = np.searchsorted(starts, lines["end_s"].to_numpy(), side="right")
    near = (begun > 0) & (reach[np.maximum(begun - 1, 0)] >= lines["start_s"].to_numpy())
    return lines.filter(pl.Series(near))
