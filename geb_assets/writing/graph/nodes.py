"""The nodes of a recording's graph, numbered in time order."""

from __future__ import annotations

from typing import Literal, get_args

import polars as pl

from geb_assets.writing.episodes.scales import first_unit, last_unit, unit_of

NodeType = Literal["episode", "clip", "observation", "entity"]
NODE_TYPES: tuple[NodeType, ...] = get_args(NodeType)
"""Also the order of nodes that start together."""

COLUMNS = ("id", "type", "start_s", "end_s", "visible_from")


def captioned(clips: pl.DataFrame, episodes: pl.DataFrame) -> pl.DataFrame:
    """Which clip shares a unit of the clock grid with which 30-second episode.

    Rows of (clip, unit, episode), a clip once for each unit it reaches into that has an episode.
    A clip that could not be decoded has none.
    """
    units = pl.int_ranges(first_unit(), last_unit() + 1)
    finest = episodes.filter(pl.col("scale") == "30sec").select(
        "episode", unit=unit_of(pl.col("start_s"))
    )
    return (
        clips.filter(pl.col("status") == "ok")
        .select("clip", unit=units)
        .explode("unit")
        .join(finest, on="unit", how="inner")
    )


def recurring(memberships: pl.DataFrame, observations: pl.DataFrame) -> pl.DataFrame:
    """The observations of entities seen at least twice, with their entity's span.

    Rows of (observation, entity, start_s, end_s, visible_from), the last three the entity's: it
    becomes visible with its second observation.
    """
    spans = observations.select("observation", "start_s", "end_s", "visible_from")
    own = memberships.select("observation", "entity").join(spans, on="observation", how="inner")
    entities = (
        own.group_by("entity")
        .agg(
            pl.col("start_s").min(),
            pl.col("end_s").max(),
            pl.col("visible_from").bottom_k(2).max(),
            seen=pl.len(),
        )
        .filter(pl.col("seen") >= 2)
        .drop("seen")
    )
    return own.select("observation", "entity").join(entities, on="entity", how="inner")


def number_nodes(
    clips: pl.DataFrame,
    episodes: pl.DataFrame,
    observations: pl.DataFrame,
    captions: pl.DataFrame,
    members: pl.DataFrame,
) -> pl.DataFrame:
    """Nodes (node, id, type, start_s, end_s, visible_from) in order of start, type and id.

    ``captions`` is :func:`captioned`, ``members`` is :func:`recurring`. Every episode and every
    observation is a node, a clip with a caption (spec 9.22), and an entity seen at least twice.
    """
    shown = clips.join(captions.select("clip").unique(), on="clip", how="semi")
    parts = {
        "episode": episodes.rename({"episode": "id"}),
        "clip": shown.with_columns(id="clip", visible_from="end_s"),
        "observation": observations.rename({"observation": "id"}),
        "entity": members.rename({"entity": "id"}).unique("id"),
    }
    rows = [
        parts[kind].select(
            pl.lit(rank, dtype=pl.Int8).alias("rank"),
            "id",
            pl.lit(kind).alias("type"),
            "start_s",
            "end_s",
            "visible_from",
        )
        for rank, kind in enumerate(NODE_TYPES)
    ]
    ordered = pl.concat(rows).sort("start_s", "rank", "id")
    return ordered.select(pl.int_range(pl.len(), dtype=pl.Int64).alias("node"), *COLUMNS)
