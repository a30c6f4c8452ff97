"""Rows of the lines table out of imported lines."""

from __future__ import annotations

import polars as pl

from geb_assets.tables import TABLES


def number_lines(lines: pl.DataFrame, recording: str) -> pl.DataFrame:
    """Imported lines, in time order, as rows of the lines table; ids count from l0000000."""
    number = pl.int_range(pl.len()).cast(pl.String).str.zfill(7)
    rows = lines.with_columns(
        recording=pl.lit(recording),
        line=pl.lit(f"{recording}/l") + number,
        visible_from=pl.col("end_s"),
    )
    table = TABLES["lines"]
    return rows.select(pl.col(name).cast(dtype) for name, dtype in table.schema.items())
