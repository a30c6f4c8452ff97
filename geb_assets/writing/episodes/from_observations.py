"""30-second episodes out of what the clips themselves show."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from geb_assets.writing.episodes.scales import EPISODE, UNIT_S, first_unit, last_unit, unit_of

NOTHING = frozenset({"", "none", "unclear", "no activity"})
"""Values by which a description says that it does not know."""


def compose_from_observations(clips: pl.DataFrame, descriptions: pl.DataFrame) -> pl.DataFrame:
    """One episode, EPISODE, for every unit that holds described observations.

    ``clips`` and ``descriptions`` are rows of their tables; failed descriptions say nothing. An
    episode spans its clips inside the unit and is visible when all that it tells is visible.
    """
    told = (
        descriptions.filter(pl.col("status") == "ok")
        .join(
            clips.select(
                "clip",
                clip_start="start_s",
                clip_end="end_s",
                first=first_unit(),
                last=last_unit(),
            ),
            on="clip",
            how="inner",
        )
        .with_columns(
            # An observation lies in its clip, so its unit is one of its clip's.
            unit=unit_of(pl.col("start_s")).clip(pl.col("first"), pl.col("last"))
        )
        .sort("start_s", "end_s", "observation")
        .group_by("unit", maintain_order=True)
        .agg(
            start_s=pl.max_horizontal(
                pl.col("clip_start").min(), pl.col("unit").first().cast(pl.Float64) * UNIT_S
            ),
            end_s=pl.min_horizontal(
                pl.col("clip_end").max(), (pl.col("unit").first() + 1).cast(pl.Float64) * UNIT_S
            ),
            visible_from=pl.col("visible_from").max(),
            seen=pl.struct("object_name", "location", "action"),
        )
        .with_columns(
            scale=pl.lit("30sec"),
            visible_from=pl.max_horizontal("visible_from", "end_s"),
            text=pl.col("seen").map_elements(_tell, return_dtype=pl.String),
            source=pl.lit("observations"),
        )
    )
    return told.select(EPISODE.names()).sort("start_s")


def _tell(seen: Iterable[dict[str, str]]) -> str:
    """``Seen: red cup (on the table), person. Red cup: lifted.`` - each thing and action once."""
    places: dict[str, str] = {}
    actions: dict[tuple[str, str], str] = {}
    shown: dict[str, str] = {}
    for one in seen:
        name, place, action = (
            " ".join(one[key].split()).rstrip(".") for key in ("object_name", "location", "action")
        )
        key = name.casefold()
        if key in NOTHING:
            continue
        shown.setdefault(key, name)
        if place.casefold() not in NOTHING:
            places.setdefault(key, place)
        if action.casefold() not in NOTHING:
            actions.setdefault((key, action.casefold()), action)
    if not shown:
        return "Nothing that could be named is seen."
    things = [f"{name} ({places[key]})" if key in places else name for key, name in shown.items()]
    done = [
        f"{shown[key][:1].upper()}{shown[key][1:]}: {action}."
        for (key, _), action in actions.items()
    ]
    return " ".join([f"Seen: {', '.join(things)}.", *done])
