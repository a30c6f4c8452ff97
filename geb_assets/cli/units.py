"""Units and times as commands show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from geb_assets.home import Home
from geb_assets.reading.asking import question_time
from geb_assets.reading.biography import Excerpt, display_names
from geb_assets.reading.memory import Memory
from geb_assets.reading.notes import handle
from geb_assets.reading.units import Unit


def when(memory: Memory, home: Home, at: str | None) -> float | None:
    """The time of a question, checked against what the recording covers; None for all of it."""
    if at is None:
        return None
    footage = home.registry().recording(memory.recording).footage()
    return question_time(at, clock=memory.clock, spans=footage or [memory.span])


def span(memory: Memory, thing: Unit | Excerpt) -> str:
    """First and last time, on the recording's clock."""
    return f"{memory.clock.show(thing.start_s)} - {memory.clock.show(thing.end_s)}"


def called(memory: Memory, units: Sequence[Unit], at: float | None) -> dict[str, str]:
    """Entity to `cup · object#3`, for the entities of these units."""
    entities = list(dict.fromkeys(unit.entity for unit in units if unit.entity))
    if not entities:
        return {}
    names = display_names(
        memory.appearances(entities, at=at), at=at, cast=memory.cast_names(entities, at=at)
    )
    return {entity: f"{names[entity]} · {handle(entity)}" for entity in entities}


def unit_json(unit: Unit, memory: Memory) -> dict[str, Any]:
    """A unit as JSON carries it."""
    return {
        "kind": unit.kind,
        "id": unit.id,
        "entity": unit.entity,
        "start": memory.clock.show(unit.start_s),
        "end": memory.clock.show(unit.end_s),
        "score": unit.score,
        "text": unit.text,
    }
