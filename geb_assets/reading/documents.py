"""The texts of a memory, each with the stretch of question times in which it holds.

An episode has its caption from the moment it is visible, a triple its words. An observation has
its detector's label from the end of the encounter, and its description instead from the moment that
is visible; a failed description is none (design "What must hold" 2 and 4; spec 9.10, 9.11, 9.28).
"""

from __future__ import annotations

import polars as pl

from geb_assets.reading.rows import Frames
from geb_assets.reading.triples import texts

ALWAYS = float("inf")
COLUMNS = ("place", "from_s", "until_s", "name", "text", "searched")


def documents(nodes: pl.DataFrame, frames: Frames) -> pl.DataFrame:
    """Texts of the nodes, with the columns of :data:`COLUMNS`, by (from_s, place).

    ``nodes``: place, id, type and visible_from of every node. A text holds at t where
    from_s <= t < until_s. ``searched`` is what is indexed: the caption, the label, or name and
    summary together.
    """
    captions = (
        nodes.filter(pl.col("type") == "episode")
        .join(frames["episodes"].select("episode", "text"), left_on="id", right_on="episode")
        .with_columns(
            from_s="visible_from", until_s=pl.lit(ALWAYS), name=pl.lit(""), searched="text"
        )
    )
    stated = (
        nodes.filter(pl.col("type") == "triple")
        .join(texts(frames), left_on="id", right_on="triple")
        .with_columns(
            from_s="visible_from", until_s=pl.lit(ALWAYS), name=pl.lit(""), searched="text"
        )
    )
    seen = nodes.filter(pl.col("type") == "observation").join(
        described(frames), left_on="id", right_on="observation", how="left"
    )
    from_s = pl.max_horizontal("described_from", "visible_from")
    told = seen.filter(pl.col("described_from").is_not_null()).with_columns(
        from_s=from_s,
        until_s=pl.lit(ALWAYS),
        name="object_name",
        text="summary",
        searched=pl.when(pl.col("summary") == "")
        .then("object_name")
        .otherwise(pl.format("{}. {}", "object_name", "summary")),
    )
    until = pl.when(pl.col("described_from").is_null()).then(ALWAYS).otherwise(from_s)
    labelled = (
        seen.join(
            frames["observations"].select("observation", "label"),
            left_on="id",
            right_on="observation",
            how="left",
        )
        .with_columns(pl.col("label").fill_null(""))
        .with_columns(
            from_s="visible_from", until_s=until, name="label", text="label", searched="label"
        )
        .filter(pl.col("until_s") > pl.col("from_s"))
    )
    parts = (captions, stated, told, labelled)
    return pl.concat([part.select(COLUMNS) for part in parts]).sort("from_s", "place")


def described(frames: Frames) -> pl.DataFrame:
    """Observations with a description: (observation, described_from, object_name, summary)."""
    return (
        frames["descriptions"]
        .filter(pl.col("status") == "ok")
        .select("observation", "object_name", "summary", described_from="visible_from")
    )
