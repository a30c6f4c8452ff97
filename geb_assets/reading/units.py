"""What a search returns, and what a question needs of the memory that it searches."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import polars as pl

from geb_assets.clock import Clock

UnitKind = Literal["episode", "observation", "clip", "triple"]


@dataclass(frozen=True)
class Unit:
    """One returned node. Times are seconds on the recording clock."""

    kind: UnitKind
    id: str
    start_s: float
    end_s: float
    score: float
    """What it was ranked by; 0 for a unit that was read out by its time."""
    text: str
    """Caption, the observation's summary, or the triple's words; a clip has the caption of its
    30-second episode."""
    entity: str | None = None
    """The entity of an observation."""
    scale: str | None = None
    """The scale of an episode: `30sec`, `3min`, `10min` or `1h`."""


@dataclass(frozen=True, eq=False)
class Frame:
    """One stored frame of a clip."""

    clip: str
    time_s: float
    jpeg: bytes


APPEARANCES: dict[str, pl.DataType] = {
    "entity": pl.String(),
    "observation": pl.String(),
    "start_s": pl.Float64(),
    "end_s": pl.Float64(),
    "visible_from": pl.Float64(),
    "label": pl.String(),
    "described_from": pl.Float64(),
    "object_name": pl.String(),
    "summary": pl.String(),
}
"""Columns of :meth:`SearchedMemory.appearances`: one observation a row. ``described_from`` is the
time from which its description (name, summary) may be seen: null where there is none."""

CHAINS: dict[str, pl.DataType] = {
    "kind": pl.String(),
    "label": pl.String(),
    "text": pl.String(),
    "start_s": pl.Float64(),
    "end_s": pl.Float64(),
    "visible_from": pl.Float64(),
}
"""Columns of :meth:`SearchedMemory.chains`: one fact of a `topic` or `event` chain a row."""


class SearchedMemory(Protocol):
    """The memory of one recording, as a question asked ``at`` a time sees it.

    ``at`` is an argument of every call (None: everything), so that nothing later reaches it.
    """

    @property
    def recording(self) -> str: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def span(self) -> tuple[float, float]:
        """First start and last end of all it holds, s."""
        ...

    def search(
        self,
        query: str,
        *,
        at: float | None = None,
        exclude: Collection[str] = (),
        budget: Any = None,
    ) -> list[Unit]:
        """The units that answer a query by meaning, best first; ``exclude`` holds ids that were
        returned before (paper 3.4, spec 1.4-1.6)."""
        ...

    def read_out(
        self, start_s: float, end_s: float, *, at: float | None = None, entities: Collection[str]
    ) -> list[Unit]:
        """30-second episodes and clips that overlap a time, and the observations there of these
        entities, in time order. A point takes the unit that holds it, else the nearest within
        60 s (spec 9.31)."""
        ...

    def appearances(self, entities: Sequence[str], *, at: float | None = None) -> pl.DataFrame:
        """Every observation of these entities with ``visible_from <= at``, in time order, with
        the columns of :data:`APPEARANCES`."""
        ...

    def cast_names(self, entities: Sequence[str], *, at: float | None = None) -> dict[str, str]:
        """Entity to cast name, for those that are named at that time."""
        ...

    def separated(self, entities: Sequence[str], *, at: float | None = None) -> set[frozenset[str]]:
        """Pairs of these entities of which two observations, visible at that time, were proven
        different (spec 9.39)."""
        ...

    def chains(self, *, at: float | None = None) -> pl.DataFrame:
        """Facts with ``visible_from <= at``, with the columns of :data:`CHAINS`."""
        ...

    def frames(self, clip: str, *, at: float | None = None) -> list[Frame]:
        """Stored frames of a clip up to that time, in time order."""
        ...
