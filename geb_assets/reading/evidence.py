"""All that a question has gathered, as the answerer is handed it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from geb_assets.reading.biography import Excerpt, excerpts
from geb_assets.reading.chains import Fact
from geb_assets.reading.notes import identity_notes
from geb_assets.reading.units import Frame, SearchedMemory, Unit
from geb_assets.spread import spread


@dataclass(frozen=True)
class Evidence:
    """Units of all rounds and what belongs to them, as of the question's time."""

    units: tuple[Unit, ...] = ()
    """In the order received."""
    excerpts: tuple[Excerpt, ...] = ()
    """One for each entity with a received observation."""
    notes: tuple[str, ...] = ()
    separated: frozenset[frozenset[str]] = frozenset()
    """Pairs of these entities proven different; empty in the variant without identity notes."""
    facts: tuple[Fact, ...] = ()
    frames: tuple[Frame, ...] = ()
    """In time order."""

    @property
    def names(self) -> dict[str, str]:
        """Entity to display name, in the order shown."""
        return {excerpt.entity: excerpt.name for excerpt in self.excerpts}


def gather(
    memory: SearchedMemory,
    units: Sequence[Unit],
    facts: Sequence[Fact],
    *,
    at: float | None,
    also_seen: bool = True,
    notes: bool = True,
    biographies: bool = True,
) -> Evidence:
    """The biographies and identity notes of the units' entities, without frames (spec 9.35-9.39).

    ``also_seen``, ``notes`` and ``biographies`` set to False are the paper's ablations; without
    biographies an observation is not shown either: it has only led to what is.
    """
    if not biographies:
        units = [unit for unit in units if unit.kind != "observation"]
    entities = list(dict.fromkeys(unit.entity for unit in units if unit.entity))
    found: list[Excerpt] = []
    lines: list[str] = []
    apart: set[frozenset[str]] = set()
    if entities:
        found = excerpts(
            memory.appearances(entities, at=at),
            {unit.id for unit in units if unit.kind == "observation"},
            at=at,
            cast=memory.cast_names(entities, at=at),
            also_seen=also_seen,
        )
        if notes:
            names = {excerpt.entity: excerpt.name for excerpt in found}
            apart = memory.separated(list(names), at=at)
            lines = identity_notes(names, apart)
    return Evidence(tuple(units), tuple(found), tuple(lines), frozenset(apart), tuple(facts))


def choose_frames(
    memory: SearchedMemory,
    units: Sequence[Unit],
    *,
    at: float | None,
    total: int,
    per_clip: int,
) -> tuple[Frame, ...]:
    """Frames of the returned clips, first come, evenly spaced where a clip has more than its share
    (spec 1.6, 9.32); in time order."""
    chosen: list[Frame] = []
    for unit in units:
        room = min(per_clip, total - len(chosen))
        if unit.kind != "clip" or room <= 0:
            continue
        stored = memory.frames(unit.id, at=at)
        chosen += spread(stored, room)
    return tuple(sorted(chosen, key=lambda frame: (frame.time_s, frame.clip)))
