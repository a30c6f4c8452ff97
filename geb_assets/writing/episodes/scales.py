"""The four time scales, their grid, and the ids of episodes."""

from __future__ import annotations

from typing import Literal, get_args

import polars as pl

from geb_assets.clock import stamp

Scale = Literal["30sec", "3min", "10min", "1h"]
SCALES: tuple[Scale, ...] = get_args(Scale)
"""From fine to coarse."""

COARSER: dict[Scale, Scale] = {"3min": "30sec", "10min": "3min", "1h": "10min"}
"""Each coarse scale and the next finer one, from which it is composed."""

UNIT_S = 30.0
"""Length of the finest unit, s; clips and units lie on the same clock grid."""

EPISODE = pl.Schema(
    {
        "scale": pl.String,
        "start_s": pl.Float64,
        "end_s": pl.Float64,
        "visible_from": pl.Float64,
        "text": pl.String,
        "source": pl.String,
    }
)
"""An episode before it has a recording and an id."""


def unit_of(time_s: pl.Expr) -> pl.Expr:
    """The unit a time lies in, counted from the clock's zero: Int64."""
    return (time_s / UNIT_S).floor().cast(pl.Int64)


def first_unit() -> pl.Expr:
    """The first unit that a row of the clips table lies in, by its place in its grid: Int64."""
    return pl.col("cell") * pl.col("grid_s") // int(UNIT_S)


def last_unit() -> pl.Expr:
    """The last unit that a row of the clips table lies in: Int64."""
    return ((pl.col("cell") + 1) * pl.col("grid_s") - 1) // int(UNIT_S)


def episode_id(recording: str, scale: str, start_s: float) -> str:
    """``ego/30sec/d001-13:20:30.00``."""
    return f"{recording}/{scale}/{stamp(start_s)}"
