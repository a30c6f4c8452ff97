"""A question's run on the screen and as JSON: its rounds, the answer, and what decided it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any

from rich.table import Table as RichTable

from geb_assets.cli.output import Output
from geb_assets.cli.units import span, unit_json
from geb_assets.reading.biography import Excerpt, excerpts
from geb_assets.reading.memory import Memory
from geb_assets.reading.notes import handle
from geb_assets.reading.record import Record, Round
from geb_assets.reading.units import Unit

_SHOWN = 160
"""Characters of a text on the screen."""
_BLOCKS = 6
"""Described times of a biography on the screen; the rest are counted."""


def say_round(output: Output, round_: Round) -> None:
    """One line as a round ends."""
    if round_.decision == "answer":
        output.say(f"stopped   {round_.why}" if round_.why else "stopped")
    else:
        new = f"{len(round_.units)} new unit{'s' * (len(round_.units) != 1)}"
        output.say(f"searched  {shorten(round_.query, 90)}  ({new}, {round_.seconds:.2f} s)")
    if round_.error:
        output.say(f"          {shorten(round_.error, _SHOWN)}")


def show_record(
    output: Output, memory: Memory, record: Record, pictures: dict[str, Path] | None = None
) -> None:
    """The answer under the biographies and moments it rests on.

    ``pictures``: entity to the folder of its thumbnails.
    """
    output.say("\nwhat decided it" if record.decided else "\nwhat comes nearest")
    for excerpt in deciding(memory, record):
        _show_biography(output, memory, excerpt)
        if pictures and excerpt.entity in pictures:
            output.say(f"  pictures: {pictures[excerpt.entity]}")
    for unit in moments(record):
        output.say(f"moment {span(memory, unit)}  {unit.id}")
        output.say(f"  {shorten(unit.text, _SHOWN)}")
    for note in record.searches[-1].notes if record.searches else ():
        output.say(note)
    output.say("")
    output.say(answer_line(record))
    if record.why:
        output.say(record.why)
    if record.error:
        output.say(f"note: {record.error}")


def answer_line(record: Record) -> str:
    """The answer, with its letter and how sure it is."""
    letter = f"{record.choice}: " if record.choice else ""
    sure = "" if record.confidence is None else f"  (confidence {record.confidence:.2f})"
    # An open answer says itself where the evidence falls short.
    guessed = not record.decided and (record.choice is not None or not record.answer)
    undecided = "The evidence does not decide this. " if guessed else ""
    return f"{undecided}{letter}{record.answer or 'no answer'}{sure}"


def deciding(memory: Memory, record: Record) -> list[Excerpt]:
    """The biographies that an answer rests on, the weightiest first."""
    of_unit = {unit.id: unit.entity for unit in record.units}
    named = (of_unit.get(name, name) for name in record.supports)
    return excerpts_of(memory, record, [entity for entity in dict.fromkeys(named) if entity])


def moments(record: Record) -> list[Unit]:
    """The captions and clips that an answer rests on."""
    units = {unit.id: unit for unit in record.units if unit.entity is None}
    return [units[name] for name in record.supports if name in units]


def excerpts_of(memory: Memory, record: Record, entities: Sequence[str]) -> list[Excerpt]:
    """The biographies of these entities as the run saw them, in this order."""
    found = excerpts(
        memory.appearances(entities, at=record.at),
        {unit.id for unit in record.units if unit.kind == "observation"},
        at=record.at,
        cast=memory.cast_names(entities, at=record.at),
    )
    return sorted(found, key=lambda excerpt: entities.index(excerpt.entity))


def biography_line(memory: Memory, excerpt: Excerpt) -> str:
    """`cup · object#3 (demo/e000003), 5 encounters, DAY1 10:00:00 - DAY2 09:00:43`."""
    met = len(excerpt.blocks) + (excerpt.also.appearances if excerpt.also else 0)
    return (
        f"{excerpt.name} · {handle(excerpt.entity)} ({excerpt.entity}), "
        f"{met} encounter{'s' * (met != 1)}, {span(memory, excerpt)}"
    )


def _show_biography(output: Output, memory: Memory, excerpt: Excerpt) -> None:
    output.say(f"biography {biography_line(memory, excerpt)}")
    told = RichTable(box=None, show_header=False, pad_edge=False, padding=(0, 2))
    for block in excerpt.blocks[:_BLOCKS]:
        told.add_row("", memory.clock.show(block.start_s), shorten(block.text, _SHOWN))
    output.plain.print(told)
    more = len(excerpt.blocks[_BLOCKS:]) + (excerpt.also.appearances if excerpt.also else 0)
    if more:
        output.say(f"  and {more} more encounter{'s' * (more != 1)}")


def record_json(memory: Memory, record: Record) -> dict[str, Any]:
    """The JSON object of ``geb ask``."""
    return {
        "answer": record.answer,
        "choice": record.choice,
        "confidence": record.confidence,
        "decided": record.decided,
        "why": record.why,
        "supports": list(record.supports),
        "controller": record.controller,
        "answerer": record.answerer,
        "fault": record.error or None,
        "rounds": [
            {
                "decision": round_.decision,
                "query": round_.query,
                "why": round_.why,
                "fault": round_.error or None,
                "units": [unit.id for unit in round_.units],
                "notes": list(round_.notes),
                "seconds": round_.seconds,
            }
            for round_ in record.rounds
        ],
        "units": [unit_json(unit, memory) for unit in record.units],
        "tokens": {"prompt": record.prompt_tokens, "completion": record.completion_tokens},
        "seconds": record.seconds,
    }
