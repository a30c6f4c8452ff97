"""Captions of 30 seconds by a model that sees the clips, with what is said in them (spec 2.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import polars as pl

from geb_assets.spread import spread
from geb_assets.writing.episodes.scales import EPISODE, UNIT_S, first_unit, last_unit, unit_of
from resources.captioner import Captioner, NotCaptioned
from resources.concurrency import in_flight
from resources.describer import Line


def untold(clips: pl.DataFrame, released: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """The clips that lie in units without a released caption or a line of narration.

    ``released`` holds start_s and end_s of captions; the others are rows of their tables.
    """
    spans = pl.int_ranges(
        unit_of(pl.col("start_s")),
        pl.max_horizontal(unit_of(pl.col("start_s")), unit_of(pl.col("end_s") - 1e-6)) + 1,
    )
    narrated = lines.filter(pl.col("kind") == "caption")
    told = pl.concat(
        [
            released.select(spans.explode().alias("unit")),
            narrated.select(unit_of(pl.col("start_s")).alias("unit")),
        ]
    )["unit"].unique()
    return clips.filter(~first_unit().is_in(told.implode()) | ~last_unit().is_in(told.implode()))


def caption_units(
    clips: pl.DataFrame,
    lines: pl.DataFrame,
    frames_of: Callable[[Mapping[str, Any]], pl.DataFrame],
    captioner: Captioner,
    *,
    wearer: str,
    most: int,
    progress: Callable[[int, int], None],
) -> tuple[pl.DataFrame, int]:
    """One episode, EPISODE, for every unit of these clips; and how many calls failed.

    At most ``most`` evenly spaced pictures of a unit go with the dialogue that starts in it. A
    unit whose call failed has no episode, nor has one of which no picture is stored. An episode
    is visible when its clips and lines are over.
    """
    units: dict[int, list[dict[str, Any]]] = {}
    placed = clips.with_columns(first=first_unit(), last=last_unit())
    for clip in placed.sort("start_s").iter_rows(named=True):
        for unit in range(clip["first"], clip["last"] + 1):
            units.setdefault(unit, []).append(clip)

    def tell(one: tuple[int, list[dict[str, Any]]]) -> dict[str, Any] | None:
        unit, own = one
        start, end = unit * UNIT_S, (unit + 1) * UNIT_S
        shown = pl.concat([frames_of(clip) for clip in own]).sort("time_s")
        shown = shown.filter((pl.col("time_s") >= start) & (pl.col("time_s") < end))
        if shown.is_empty():
            return {}
        said = lines.filter((pl.col("start_s") >= start) & (pl.col("start_s") < end))
        columns = ("start_s", "end_s", "kind", "speaker", "text")
        spoken = [Line(*row) for row in said.select(columns).iter_rows()]
        try:
            text = captioner.caption(spread(shown["jpeg"].to_list(), most), spoken, wearer)
        except NotCaptioned:
            return None
        last = min(end, max(clip["end_s"] for clip in own))
        return {
            "scale": "30sec", "start_s": max(start, own[0]["start_s"]), "end_s": last,
            "visible_from": max([last, *said["visible_from"].to_list()]), "text": text,
            "source": "captioned",
        }  # fmt: skip

    rows: list[dict[str, Any]] = []
    failed = 0
    found: Iterable[tuple[Any, dict[str, Any] | None]] = in_flight(
        tell, units.items(), captioner.in_flight
    )
    for done, (_, made) in enumerate(found):
        progress(done + 1, len(units))
        failed += made is None
        rows += [made] if made else []
    return pl.DataFrame(rows, schema=EPISODE).sort("start_s"), failed
