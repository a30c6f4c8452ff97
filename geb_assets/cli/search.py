"""``geb search``: one search of a memory, as of any time."""

from __future__ import annotations

from textwrap import shorten
from typing import Any

from geb_assets.cli.output import Output
from geb_assets.cli.units import called, span, unit_json, when
from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.reading.memory import Memory
from geb_assets.reading.question import require_text

LONGEST_QUERY = 20_000
"""Characters of a query."""
_SHOWN = 180
"""Characters of a unit's text on the screen."""


def search(output: Output, recording: str, query: str, at: str | None) -> dict[str, Any]:
    """Shows the units that one search returns; returns the JSON object."""
    if not query.strip():
        raise GebError("the query is empty; say what to look for")
    if len(query) > LONGEST_QUERY:
        raise GebError(f"the query has {len(query):,} characters; use at most {LONGEST_QUERY:,}")
    require_text(query, "the query")
    home = Home.of_environment()
    memory = Memory.open(home, recording)
    asked_at = when(memory, home, at)
    units = memory.search(query, at=asked_at)
    for line in memory.absent:
        output.say(f"note: {line}")
    names = called(memory, units, asked_at)
    for unit in units:
        what = names[unit.entity] if unit.entity else unit.scale or unit.kind
        output.say(
            f"{unit.score:.4f}  {span(memory, unit)}  {what}  {unit.entity or unit.id}\n"
            f"        {shorten(unit.text, _SHOWN) or '(frames alone)'}"
        )
    if not units:
        output.say("nothing found")
    return {"units": [unit_json(unit, memory) for unit in units]}
