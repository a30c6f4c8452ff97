"""The pictures beside an answer: thumbnails of biographies, and frames of moments."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from geb_assets.clock import stamp
from geb_assets.errors import refusal
from geb_assets.home import Home
from geb_assets.reading.biography import Excerpt
from geb_assets.reading.memory import Memory
from geb_assets.reading.record import Record
from geb_assets.reading.units import Frame, Unit
from geb_assets.spread import spread


def crops(home: Home, recording: str, observations: Sequence[str]) -> dict[str, bytes]:
    """Observation to its best crop, JPEG bytes; none of a recording without video."""
    rows = (
        home.store.scan("crops", recording=recording)
        .filter((pl.col("rank") == 0) & pl.col("observation").is_in(list(observations)))
        .select("observation", "jpeg")
        .collect()
    )
    return dict(rows.iter_rows())


def thumbnails(home: Home, recording: str, shown: Sequence[Excerpt]) -> dict[str, Path]:
    """Writes the crops of these biographies under the home's cache; entity to its folder.

    A folder holds what the last answer showed of its entity.
    """
    blocks = [block for excerpt in shown for block in excerpt.blocks]
    jpegs = crops(home, recording, [block.observation for block in blocks])
    folders: dict[str, Path] = {}
    try:
        for excerpt in shown:
            folder = home.cache / "pictures" / recording / excerpt.entity.rsplit("/", 1)[-1]
            shutil.rmtree(folder, ignore_errors=True)  # of an earlier answer
            for block in excerpt.blocks:
                if block.observation in jpegs:
                    folder.mkdir(parents=True, exist_ok=True)
                    name = stamp(block.start_s).replace(":", ".")
                    (folder / f"{name}.jpg").write_bytes(jpegs[block.observation])
                    folders[excerpt.entity] = folder
    except OSError as error:
        raise refusal(home.path, error) or error from None
    return folders


def frames(memory: Memory, record: Record, moment: Unit, *, most: int) -> list[Frame]:
    """Evenly spaced frames of the returned clips that a moment lies in, none later than asked."""
    stored = [
        frame
        for unit in record.units
        if unit.kind == "clip" and unit.start_s < moment.end_s and unit.end_s > moment.start_s
        for frame in memory.frames(unit.id, at=record.at)
        if moment.start_s <= frame.time_s <= moment.end_s
    ]
    return spread(stored, most)
