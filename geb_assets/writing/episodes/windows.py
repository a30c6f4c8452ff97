"""Which finer episodes form one coarse window, day by day (spec 2.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from geb_assets.clock import DAY_S

GRID_S = 180.0
BATCH_S: dict[str, float] = {"10min": 600.0, "1h": 3600.0}


@dataclass(frozen=True)
class Windows:
    """Coarse windows in time order: ``of`` int64 [n] is the window of each finer episode,
    ``start_s`` and ``end_s`` float64 [k] the label of each window."""

    of: NDArray[np.int64]
    start_s: NDArray[np.float64]
    end_s: NDArray[np.float64]


def windows(
    start_s: NDArray[np.float64],
    end_s: NDArray[np.float64],
    scale: Literal["3min", "10min", "1h"],
) -> Windows:
    """The windows of ``scale`` over finer episodes in order of start, float64 [n] each.

    3 min: cut at multiples of 180 s of the clock and labelled by those bounds, but a day's first
    window is labelled from its first episode. 10 min and 1 h: a window opens at an episode's start,
    takes what starts within 600 or 3600 s, and is labelled first start to last end. An episode
    belongs to the day in which it starts; no window holds two days (spec 12.10).
    """
    if len(start_s) == 0:
        return Windows(np.empty(0, np.int64), np.empty(0), np.empty(0))
    day = np.floor_divide(start_s, DAY_S)
    opens = _grid_opens(start_s) if scale == "3min" else _batch_opens(start_s, day, BATCH_S[scale])
    first = np.flatnonzero(opens)
    of = np.cumsum(opens) - 1
    if scale == "3min":
        edge = np.floor_divide(start_s[first], GRID_S) * GRID_S
        new_day = np.r_[True, np.diff(day[first]) != 0]
        return Windows(of, np.where(new_day, start_s[first], edge), edge + GRID_S)
    return Windows(of, start_s[first], np.maximum.reduceat(end_s, first))


def _grid_opens(start_s: NDArray[np.float64]) -> NDArray[np.bool_]:
    # A day is a whole number of windows, so a change of day is a change of window.
    opens: NDArray[np.bool_] = np.diff(np.floor_divide(start_s, GRID_S), prepend=-1.0) != 0
    return opens


def _batch_opens(
    start_s: NDArray[np.float64], day: NDArray[np.float64], length_s: float
) -> NDArray[np.bool_]:
    opens = np.zeros(len(start_s), np.bool_)
    place = 0
    while place < len(start_s):
        opens[place] = True
        full = int(np.searchsorted(start_s, start_s[place] + length_s))
        next_day = int(np.searchsorted(day, day[place], side="right"))
        place = min(full, next_day)
    return opens
