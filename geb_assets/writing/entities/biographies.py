"""What a biography is called and how long it is (paper Eq. 1; spec 9.20)."""

from __future__ import annotations

import polars as pl

from geb_assets.clock import DAY_S


def biographies(memberships: pl.DataFrame, descriptions: pl.DataFrame) -> pl.DataFrame:
    """Rows of table ``entities`` (without the recording), by entity.

    ``memberships`` holds observation and entity; ``descriptions`` is that table. The display name
    is the most frequent object name, case and spaces aside; of equally frequent ones the earliest.
    """
    told = memberships.join(
        descriptions.select("observation", "start_s", "end_s", "object_name", "is_person"),
        on="observation",
        how="inner",
    ).sort("start_s", "end_s", "observation")
    name = pl.col("object_name").str.replace_all(r"\s+", " ").str.strip_chars().str.to_lowercase()
    names = (
        told.with_columns(name=name)
        .group_by("entity", "name", maintain_order=True)
        .agg(count=pl.len(), first=pl.col("start_s").min())
        .sort("entity", "count", "first", "name", descending=[False, True, False, False])
        .group_by("entity", maintain_order=True)
        .agg(pl.col("name"))
    )
    spans = told.group_by("entity").agg(
        is_person=pl.col("is_person").mean() > 0.5,
        observations=pl.len().cast(pl.Int32),
        start_s=pl.col("start_s").min(),
        end_s=pl.col("end_s").max(),
        days=((pl.col("start_s") // DAY_S).cast(pl.Int32) + 1).unique().sort(),
    )
    return (
        names.join(spans, on="entity", how="inner")
        .select(
            "entity",
            pl.col("name").list.first().alias("display_name"),
            "is_person",
            "observations",
            "start_s",
            "end_s",
            "days",
            pl.col("name").list.slice(1).alias("other_names"),
        )
        .sort("entity")
    )
