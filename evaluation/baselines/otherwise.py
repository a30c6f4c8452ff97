"""A memory that is searched in another way, and is the same in everything else."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import polars as pl

from geb_assets.clock import Clock
from geb_assets.reading.memory import Memory
from geb_assets.reading.units import Frame, Unit


class Otherwise:
    """Passes everything but the search on to the memory."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    @property
    def recording(self) -> str:
        return self.memory.recording

    @property
    def clock(self) -> Clock:
        return self.memory.clock

    @property
    def span(self) -> tuple[float, float]:
        return self.memory.span

    def search(
        self,
        query: str,
        *,
        at: float | None = None,
        exclude: Collection[str] = (),
        budget: Any = None,
    ) -> list[Unit]:
        raise NotImplementedError

    def read_out(
        self, start_s: float, end_s: float, *, at: float | None = None, entities: Collection[str]
    ) -> list[Unit]:
        return self.memory.read_out(start_s, end_s, at=at, entities=entities)

    def appearances(self, entities: Sequence[str], *, at: float | None = None) -> pl.DataFrame:
        return self.memory.appearances(entities, at=at)

    def cast_names(self, entities: Sequence[str], *, at: float | None = None) -> dict[str, str]:
        return self.memory.cast_names(entities, at=at)

    def separated(self, entities: Sequence[str], *, at: float | None = None) -> set[frozenset[str]]:
        return self.memory.separated(entities, at=at)

    def chains(self, *, at: float | None = None) -> pl.DataFrame:
        return self.memory.chains(at=at)

    def frames(self, clip: str, *, at: float | None = None) -> list[Frame]:
        return self.memory.frames(clip, at=at)
