"""Asset ``descriptions``: one description of every encounter; failures kept as failures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import polars as pl

from geb_assets.parameters import Descriptions
from geb_assets.stage import Expected, Finding, Result, Stage, Work
from geb_assets.tables import TABLES
from geb_assets.writing.descriptions.encounters import encounters
from resources.concurrency import in_flight
from resources.describer import (
    Describer,
    Description,
    DescriptionFailed,
    Encounter,
    visible_from,
)

_REPLY = tuple(Description.model_fields)


def described(
    identifier: str, clip: str, encounter: Encounter, describer: Describer
) -> dict[str, Any]:
    """One row of table ``descriptions`` (without keys)."""
    row: dict[str, Any] = {
        "clip": clip,
        "observation": identifier,
        "start_s": encounter.start_s,
        "end_s": encounter.end_s,
        "model": str(describer.identity),
    }
    try:
        description = describer.describe(encounter)
    except DescriptionFailed as failure:
        # Spec 9.11: the label as its name and no summary, so that an error is never indexed.
        empty: dict[str, Any] = dict.fromkeys(_REPLY, "")
        return {
            **row,
            **empty,
            "visible_from": encounter.end_s,
            "status": "failed",
            "object_name": encounter.label,
            "is_person": encounter.label == "person",
            "error": str(failure),
        }
    return {
        **row,
        **description.model_dump(),
        "visible_from": visible_from(description, encounter),
        "status": "ok",
        "error": "",
    }


class _Clips:
    """The rows of each clip; one that is complete is kept on disk at once."""

    def __init__(
        self, work: Work, before: pl.DataFrame, observations: Mapping[tuple[Any, ...], pl.DataFrame]
    ) -> None:
        self._work, self._before, self._observations = work, before, observations
        self._tables: list[pl.DataFrame] = [TABLES["descriptions"].empty()]
        self._open: dict[str, tuple[pl.DataFrame, int, list[dict[str, Any]]]] = {}
        self._total = sum(rows.height for rows in observations.values())

    def begin(self, clip: str) -> pl.DataFrame:
        """The clip's observations that have no description yet."""
        if (clip,) not in self._observations:
            return pl.DataFrame()
        kept = self._work.checkpoints.get(clip) or {"descriptions": self._before}
        known = kept["descriptions"].filter((pl.col("clip") == clip) & (pl.col("status") == "ok"))
        todo = self._observations[clip,].join(known, on="observation", how="anti")
        if todo.is_empty():
            self._tables.append(known)
        else:
            self._open[clip] = (known, todo.height, [])
        return todo

    def add(self, clip: str, row: dict[str, Any]) -> None:
        known, wanted, rows = self._open[clip]
        rows.append(row)
        if len(rows) == wanted:
            made = pl.DataFrame(rows, schema=TABLES["descriptions"].own_schema)
            self._tables.append(pl.concat([known, self._work.keys(made)]))
            self._work.checkpoints.put(clip, {"descriptions": self._tables[-1]})
            del self._open[clip]
        ready = sum(table.height for table in self._tables)
        self._work.progress("descriptions", ready, self._total)

    def table(self) -> pl.DataFrame:
        assert not self._open
        return pl.concat(self._tables)


def run(work: Work) -> Result:
    section = cast(Descriptions, work.section)
    describer = work.roles.describer()
    clips = work.read("clips").filter(pl.col("status") == "ok")
    observations = work.read("observations").partition_by("clip", as_dict=True)
    lines = work.read("lines")
    before = work.previous("descriptions").filter(pl.col("status") == "ok")
    done = _Clips(work, before, observations)

    def missing() -> Iterator[tuple[str, str, Encounter]]:
        for clip in clips.iter_rows(named=True):
            todo = done.begin(clip["clip"])
            if todo.is_empty():
                continue
            for identifier, encounter in encounters(
                clip,
                observations[clip["clip"],],
                work.read("crops", clip=clip["clip"]),
                work.read("frames", clip=clip["clip"]),
                lines,
                snap_s=section.scene_snap_s,
                still_px=section.still_px,
                wearer=work.recording.wearer,
            ):
                if identifier in todo["observation"]:
                    yield identifier, clip["clip"], encounter

    found = in_flight(lambda one: described(*one, describer), missing(), describer.in_flight)
    for (_, clip, _), row in found:
        done.add(clip, row)
    table = done.table()
    failed = table.filter(pl.col("status") == "failed").height
    active = table.filter(~pl.col("action").is_in(["none", ""])).height
    return Result(
        {"descriptions": table},
        failed=failed,
        figures={"described": table.height - failed, "failed": failed, "with an action": active},
    )


def verify(work: Work, result: Result) -> Iterator[Finding]:
    rows = result.tables["descriptions"]
    observations = work.read("observations", ["observation"])
    once = rows["observation"].is_unique().all() and rows.height == observations.height
    known = rows.join(observations, on="observation", how="anti").is_empty()
    yield Finding("one_each", bool(once and known), "an observation lacks its one description")
    silent = rows.filter((pl.col("status") == "failed") & (pl.col("summary") != "")).is_empty()
    yield Finding("failures_silent", silent, "a failed description has a summary")
    later = rows.select((pl.col("visible_from") >= pl.col("end_s")).all()).item()
    yield Finding("visible_after", bool(later), "a description is visible before its end")


_PICTURE_TOKENS = (200, 600)
"""Of a close view and of a full picture: a token for 32 x 32 pixels."""


def _expected(work: Work) -> Expected:
    ready = work.previous("descriptions").filter(pl.col("status") == "ok")
    observations = work.read("observations", ["observation", "scene_frames"])
    todo = observations.join(ready, on="observation", how="anti")
    scenes = float(todo["scene_frames"].list.len().mean() or 0.0)  # type: ignore[arg-type]
    close, full = _PICTURE_TOKENS
    return Expected(todo.height, 2300 + 4 * close + scenes * full, 350)


STAGE = Stage(
    asset="descriptions",
    partition="segment",
    implementation="1",
    run=run,
    group="encounters",
    kinds=("python", "deltalake"),
    description=(
        "Describes every encounter from its crops, scene frames and the narration and dialogue "
        "around it (paper 3.3; appendix A, description; appendix F, Figure 7)."
    ),
    reads=("clips", "frames", "observations", "crops", "lines"),
    roles=("describer",),
    calls={"describer": _expected},
    sources=lambda recording, partition: {"wearer": recording.wearer},
    checks={
        "one_each": "Every observation has exactly one description.",
        "failures_silent": "A failed description has no summary, so it is never indexed.",
        "visible_after": "No description is visible before its encounter ended.",
    },
    verify=verify,
)
