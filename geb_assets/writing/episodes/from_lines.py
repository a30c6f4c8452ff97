"""30-second episodes out of narration and dialogue (spec 2.2)."""

from __future__ import annotations

import polars as pl

from geb_assets.writing.episodes.scales import EPISODE, UNIT_S, unit_of

_CLOSED = r"[.!?…。！？][\"'”’)]*$"


def episodes_from_lines(lines: pl.DataFrame) -> pl.DataFrame:
    """One episode, EPISODE, for every unit in which a line starts.

    ``lines`` are rows of the lines table. A line belongs to the unit in which it starts, however
    long it lasts, so none is lost at an edge and its unit is known when it begins. An episode
    spans its lines (first start, last end), as released captions do, cut at the unit's end; it is
    visible when the last of its lines has ended. Lines equal in all are told once.
    """
    narration = pl.col("text") + pl.when(pl.col("text").str.contains(_CLOSED)).then(
        pl.lit("")
    ).otherwise(pl.lit("."))
    # A quote inside would end the dialogue's own quotation early.
    quoted = '"' + pl.col("text").str.replace_all(r"[\"“”]", "'") + '"'
    dialogue = (
        pl.when(pl.col("speaker") == "").then(quoted).otherwise(pl.col("speaker") + ": " + quoted)
    )
    told = pl.when(pl.col("kind") == "transcript").then(dialogue).otherwise(narration)
    return (
        lines.sort("start_s", "end_s", "line")
        .unique(["start_s", "end_s", "kind", "speaker", "text"], keep="first", maintain_order=True)
        .with_columns(unit=unit_of(pl.col("start_s")), told=told)
        .group_by("unit", maintain_order=True)
        .agg(
            start_s=pl.col("start_s").min(),
            end_s=pl.min_horizontal(
                pl.col("end_s").max(), (pl.col("unit").first() + 1).cast(pl.Float64) * UNIT_S
            ),
            visible_from=pl.col("visible_from").max(),
            text=pl.col("told").str.join(" "),
        )
        .with_columns(scale=pl.lit("30sec"), source=pl.lit("lines"))
        .select(EPISODE.names())
    )
