"""Biography excerpts: what a question has seen of each entity so far, and what it could ask for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

Span = tuple[float, float]

ALSO_GAP_S = 30.0
"""Appearances this close are listed as one time (spec 9.37)."""
ALSO_LISTED = 12
"""Most times listed."""


@dataclass(frozen=True)
class Block:
    """One selected observation: its span and what is told of it."""

    observation: str
    start_s: float
    end_s: float
    text: str


@dataclass(frozen=True)
class AlsoSeen:
    """The visible appearances that no search has selected, merged (paper 3.4; spec 9.37)."""

    appearances: int
    times: tuple[Span, ...]
    """The first of the merged spans, in time order."""
    more: int = 0
    """Merged spans left out."""
    more_until: float | None = None
    """End of the last one left out, s."""


@dataclass(frozen=True)
class Excerpt:
    """One entity as a question sees it: spec 9.35-9.38."""

    entity: str
    name: str
    start_s: float
    """First start over all its visible observations, selected or not."""
    end_s: float
    """Last end over all its visible observations."""
    blocks: tuple[Block, ...]
    also: AlsoSeen | None
    """None where every visible appearance is selected."""


def excerpts(
    appearances: pl.DataFrame,
    selected: Collection[str],
    *,
    at: float | None = None,
    cast: Mapping[str, str] | None = None,
    also_seen: bool = True,
) -> list[Excerpt]:
    """One excerpt for each entity with a selected observation, by its first selected time.

    ``appearances`` has the columns of :data:`geb_assets.reading.units.APPEARANCES`; rows later
    than ``at`` are dropped. ``selected`` holds observation ids of all rounds so far; ``cast`` the
    cast names known at that time. ``also_seen=False`` leaves the unselected times out (the
    variant without references).
    """
    seen = _visible(appearances, at)
    chosen = set(selected)
    names = display_names(seen, at=at, cast=cast)
    found: list[Excerpt] = []
    for (entity,), rows in seen.group_by("entity", maintain_order=True):
        here = rows.filter(pl.col("observation").is_in(list(chosen)))
        if here.is_empty():
            continue
        rest = rows.filter(~pl.col("observation").is_in(list(chosen)))
        found.append(
            Excerpt(
                entity=str(entity),
                name=names[str(entity)],
                start_s=rows["start_s"].min(),  # type: ignore[arg-type]
                end_s=rows["end_s"].max(),  # type: ignore[arg-type]
                blocks=tuple(
                    Block(*row)
                    for row in here.select("observation", "start_s", "end_s", "told").iter_rows()
                ),
                also=_also(rest) if also_seen and not rest.is_empty() else None,
            )
        )
    return sorted(found, key=lambda excerpt: (excerpt.blocks[0].start_s, excerpt.entity))


def display_names(
    appearances: pl.DataFrame, *, at: float | None = None, cast: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Entity to its name at that time (spec 9.20).

    The cast name, else the most frequent name of its visible observations (case and spaces
    aside), of equally frequent ones the earliest. An observation whose description is not visible
    yet goes by its detector's label.
    """
    names = (
        _visible(appearances, at)
        .with_columns(
            name=pl.col("known_as")
            .str.replace_all(r"\s+", " ")
            .str.strip_chars()
            .str.to_lowercase()
        )
        .group_by("entity", "name", maintain_order=True)
        .agg(count=pl.len(), first=pl.col("start_s").min())
        .sort("entity", "count", "first", "name", descending=[False, True, False, False])
        .unique("entity", keep="first", maintain_order=True)
    )
    return {**dict(names.select("entity", "name").iter_rows()), **(cast or {})}


def merged(spans: Sequence[Span], gap_s: float = ALSO_GAP_S) -> list[Span]:
    """The spans in time order, joined where the gap between them is at most ``gap_s``."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start - joined[-1][1] <= gap_s:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _also(rest: pl.DataFrame) -> AlsoSeen:
    times = merged(list(rest.select("start_s", "end_s").iter_rows()))
    left = times[ALSO_LISTED:]
    return AlsoSeen(
        appearances=rest.height,
        times=tuple(times[:ALSO_LISTED]),
        more=len(left),
        more_until=left[-1][1] if left else None,
    )


def _visible(appearances: pl.DataFrame, at: float | None) -> pl.DataFrame:
    """Visible rows in time order, with what each is known as and what is told of it."""
    now = float("inf") if at is None else at
    described = pl.col("described_from").is_not_null() & (pl.col("described_from") <= now)
    return (
        appearances.filter(pl.col("visible_from") <= now)
        .with_columns(
            known_as=pl.when(described & (pl.col("object_name") != ""))
            .then("object_name")
            .otherwise("label"),
            told=pl.when(described).then("summary").otherwise(pl.lit("")),
        )
        .sort("start_s", "end_s", "observation")
    )
