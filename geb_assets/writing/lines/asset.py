"""Asset ``lines``: narration and dialogue on the recording's clock."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from geb_assets.clock import Clock
from geb_assets.parameters import Lines
from geb_assets.registry import Recording
from geb_assets.stage import Finding, Result, Stage, Work
from geb_assets.writing.added import as_added
from geb_assets.writing.lines.footage import near_footage
from geb_assets.writing.lines.imported import Imported
from geb_assets.writing.lines.number import number_lines
from geb_assets.writing.lines.read import in_time_order, read_lines


def lines_sources(recording: Recording, partition: str) -> Any:
    """The files of lines, the clock they are read on, and the footage they have to lie near."""
    return {
        "clock": recording.clock,
        "files": [
            {
                # A file's name may tell its day, hour or scale.
                "name": Path(file.path).name,
                "digest": file.digest,
                "kind": file.kind,
                "start_s": file.start_s,
            }
            for file in recording.lines
        ],
        "footage": [list(span) for span in recording.footage()],
    }


def imported(recording: Recording) -> list[Imported]:
    """What the recording's files of lines hold.

    Raises GebError where a file is gone or is no longer the one added.
    """
    contents: list[Imported] = []
    for file in recording.lines:
        clock = Clock.parse(recording.clock)
        contents.append(
            read_lines(as_added(file), kind=file.kind, clock=clock, start_s=file.start_s)
        )
    return contents


def run(work: Work) -> Result:
    section = cast(Lines, work.section)
    contents = imported(work.recording)
    everything = in_time_order([content.lines for content in contents])
    spans = np.array(work.recording.footage(), np.float64).reshape(-1, 2)
    near = near_footage(everything, spans, section.footage_margin_s)
    rows = number_lines(near, work.name)
    kinds = rows["kind"].value_counts(sort=True)
    notes = [note for content in contents for note in content.notes]
    return Result(
        {"lines": rows},
        figures={
            **dict(kinds.iter_rows()),
            "far from footage": everything.height - near.height,
            "notes": "; ".join(notes) or "none",
        },
    )


def verify(work: Work, result: Result) -> Iterator[Finding]:
    rows = result.tables["lines"]
    yield Finding("unique_ids", rows["line"].is_unique().all(), "two lines share an id")
    forward = rows.select((pl.col("end_s") >= pl.col("start_s")).all()).item()
    yield Finding("times_forward", bool(forward), "a line ends before it starts")


STAGE = Stage(
    asset="lines",
    partition="recording",
    implementation="1",
    run=run,
    group="episodic_memory",
    kinds=("polars", "deltalake"),
    description=(
        "Narration and dialogue from EgoLife files, SRT, CSV or JSON, kept where they lie near "
        "footage (paper 3.3; appendix A, description)."
    ),
    sources=lines_sources,
    checks={
        "unique_ids": "Line ids are unique.",
        "times_forward": "No line ends before it starts.",
    },
    verify=verify,
)
