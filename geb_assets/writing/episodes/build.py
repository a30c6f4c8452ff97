"""All episodes of one recording: released, told by lines, seen in clips, and composed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, cast

import numpy as np
import polars as pl

from geb_assets.tables import TABLES
from geb_assets.writing.episodes.extract import extract
from geb_assets.writing.episodes.from_lines import episodes_from_lines
from geb_assets.writing.episodes.from_observations import compose_from_observations
from geb_assets.writing.episodes.scales import COARSER, EPISODE, UNIT_S, episode_id, unit_of
from geb_assets.writing.episodes.windows import windows

Coarse = Literal["3min", "10min", "1h"]

Shorten = Callable[[Sequence[Sequence[str]], int], Sequence[str | None]]
"""Texts of each window and the most words to one text each; None where it could not be had."""


def extracted(windows_texts: Sequence[Sequence[str]], words: int) -> list[str | None]:
    """Each window's text composed of its sentences, without a model."""
    return [extract(texts, words) for texts in windows_texts]


def build_episodes(
    recording: str,
    *,
    lines: pl.DataFrame,
    released: pl.DataFrame,
    clips: pl.DataFrame,
    descriptions: pl.DataFrame,
    words: Mapping[str, int],
    captioned: pl.DataFrame | None = None,
    shorten: Shorten = extracted,
    source: str = "composed",
) -> pl.DataFrame:
    """Rows of the episodes table at every scale.

    ``lines``, ``clips`` and ``descriptions`` are rows of their tables (empty where there are none);
    ``released`` holds scale, start_s, end_s, text; ``words`` is the longest composed caption of
    ``3min``, ``10min`` and ``1h``. A unit takes its released caption, else the one ``captioned`` by
    a model (EPISODE), else its lines, else what its clips show. ``shorten`` makes the coarse ones,
    which say ``source``. A coarse window is composed where no released caption of that scale
    overlaps it.
    """
    given = _released(released)
    rows = [
        _finest(
            given.filter(pl.col("scale") == "30sec"),
            pl.DataFrame(schema=EPISODE) if captioned is None else captioned,
            lines,
            clips,
            descriptions,
        )
    ]
    for scale in COARSER:
        coarse = cast(Coarse, scale)
        own = given.filter(pl.col("scale") == coarse)
        composed = compose_coarser(rows[-1], coarse, words[coarse], shorten, source)
        rows.append(_sorted(pl.concat([own, _apart(composed, own)])))
    return _table(recording, pl.concat(rows))


def compose_coarser(
    finer: pl.DataFrame,
    scale: Coarse,
    words: int,
    shorten: Shorten = extracted,
    source: str = "composed",
) -> pl.DataFrame:
    """Episodes of ``scale`` composed from the next finer ones, EPISODE, at most ``words`` long.

    Visible when the window has ended and everything it is made of is visible.
    """
    finer = _sorted(finer)
    cut = windows(finer["start_s"].to_numpy(), finer["end_s"].to_numpy(), scale)
    parts = (
        finer.with_columns(window=pl.Series(cut.of, dtype=pl.Int64))
        .group_by("window", maintain_order=True)
        .agg(pl.col("text"), pl.col("visible_from").max())
    )
    made = {
        "scale": [scale] * parts.height,
        "start_s": cut.start_s,
        "end_s": cut.end_s,
        "visible_from": np.maximum(cut.end_s, parts["visible_from"].to_numpy()),
        "text": shorten(parts["text"].to_list(), words),
        "source": [source] * parts.height,
    }
    return pl.DataFrame(made, schema=EPISODE).drop_nulls("text")


def _finest(
    given: pl.DataFrame,
    captioned: pl.DataFrame,
    lines: pl.DataFrame,
    clips: pl.DataFrame,
    descriptions: pl.DataFrame,
) -> pl.DataFrame:
    given = pl.concat([given, _elsewhere(captioned, given)])
    told = _elsewhere(episodes_from_lines(lines), given)
    seen = compose_from_observations(clips, descriptions)
    return _sorted(pl.concat([given, told, _elsewhere(seen, pl.concat([given, told]))]))


def _released(released: pl.DataFrame) -> pl.DataFrame:
    """Released captions as EPISODE; captions of one scale and start are one."""
    return (
        released.sort("scale", "start_s", "end_s", "text")
        .group_by("scale", "start_s", maintain_order=True)
        .agg(
            end_s=pl.col("end_s").max(),
            visible_from=pl.col("end_s").max(),
            text=pl.col("text").unique(maintain_order=True).str.join(" "),
        )
        .with_columns(source=pl.lit("released"))
        .select(EPISODE.names())
    )


def _elsewhere(episodes: pl.DataFrame, taken: pl.DataFrame) -> pl.DataFrame:
    """The finest episodes whose unit none of ``taken`` touches."""
    spans = pl.int_ranges(
        unit_of(pl.col("start_s")),
        pl.max_horizontal(unit_of(pl.col("start_s")), unit_of(pl.col("end_s") - 1e-6)) + 1,
    )
    units = taken.select(spans.explode().alias("unit"))
    # Episodes cut at their unit's end start inside it, so the start tells the unit.
    return episodes.filter(~unit_of(pl.col("start_s")).is_in(units["unit"].unique().implode()))


def _apart(composed: pl.DataFrame, own: pl.DataFrame) -> pl.DataFrame:
    """The composed windows that no released one overlaps."""
    if own.is_empty():
        return composed
    ordered = own.sort("start_s")
    begun = np.searchsorted(ordered["start_s"].to_numpy(), composed["end_s"].to_numpy())
    reach = np.maximum.accumulate(ordered["end_s"].to_numpy())
    meets = (begun > 0) & (reach[np.maximum(begun - 1, 0)] > composed["start_s"].to_numpy())
    return composed.filter(pl.Series(~meets))


def _sorted(episodes: pl.DataFrame) -> pl.DataFrame:
    return episodes.sort("start_s", "end_s", "source", "text")


def _table(recording: str, episodes: pl.DataFrame) -> pl.DataFrame:
    table = TABLES["episodes"]
    if episodes.is_empty():
        return table.empty()
    # Units made here are named by the grid, so that a clip's episode can be told from its time.
    named = (pl.col("scale") == "30sec") & (pl.col("source") != "released")
    at = pl.when(named).then(unit_of(pl.col("start_s")) * UNIT_S).otherwise(pl.col("start_s"))
    ids = [
        episode_id(recording, scale, start)
        for scale, start in episodes.select("scale", at.alias("at")).iter_rows()
    ]
    return (
        episodes.with_columns(recording=pl.lit(recording), episode=pl.Series(ids, dtype=pl.String))
        .select(pl.col(name).cast(dtype) for name, dtype in table.schema.items())
        .sort(table.order)
    )
