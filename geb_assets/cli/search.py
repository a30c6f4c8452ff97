"""``geb search``: one search of a memory, as of any time."""

from __future__ import annotations

from textwrap import shorten
from typing import Any

from rich.table import Table as RichTable

from geb_assets.cli.output import Output
from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.reading.memory import Memory
from geb_assets.reading.units import Unit

LONGEST_QUERY = 20_000
"""Characters of a query."""
_SHOWN = 180
"""Characters of a unit's text on the screen."""


def search(output: Output, recording: str, query: str, at: str | None) -> dict[str, Any]:
    """Shows the units that one search returns; returns the JSON object."""
    if not query.strip():
        raise GebError("the query is empty; say what to look for")
    if len(query) > LONGEST_QUERY:
        raise GebError(f"the query has {len(query)} characters; use at most {LONGEST_QUERY}")
    home = Home.of_environment()
    memory = Memory.open(home, recording)
    units = memory.search(query, at=when(memory, home, at))
    for line in memory.absent:
        output.say(f"note: {line}")
    shown = RichTable("score", "when", "what", "text", box=None)
    for unit in units:
        span = f"{memory.clock.show(unit.start_s)} - {memory.clock.show(unit.end_s)}"
        kind = unit.entity or unit.scale or unit.kind
        shown.add_row(f"{unit.score:.4f}", span, kind, shorten(unit.text, _SHOWN))
    if units:
        output.plain.print(shown)
    else:
        output.say("nothing found")
    return {"units": [unit_json(unit, memory) for unit in units]}


def when(memory: Memory, home: Home, at: str | None) -> float | None:
    """The time of a question, checked against what the recording covers; None for all of it."""
    from geb_assets.reading.asking import question_time

    if at is None:
        return None
    footage = home.registry().recording(memory.recording).footage()
    return question_time(at, clock=memory.clock, spans=footage or [memory.span])


def unit_json(unit: Unit, memory: Memory) -> dict[str, Any]:
    return {
        "kind": unit.kind,
        "id": unit.id,
        "entity": unit.entity,
        "start": memory.clock.show(unit.start_s),
        "end": memory.clock.show(unit.end_s),
        "score": unit.score,
        "text": unit.text,
    }
