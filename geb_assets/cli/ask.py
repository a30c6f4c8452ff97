"""``geb ask``: a question answered from a memory, with what decided it on the screen."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any

import polars as pl

from geb_assets.cli.output import Output
from geb_assets.cli.search import unit_json, when
from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.reading.answerer.embedded import EmbeddedAnswerer
from geb_assets.reading.asking import ask as ask_memory
from geb_assets.reading.biography import excerpts
from geb_assets.reading.controller.embedded import EmbeddedController
from geb_assets.reading.memory import Memory
from geb_assets.reading.record import Record, Round

_SHOWN = 200
"""Characters of a text on the screen."""


def ask(
    output: Output,
    recording: str,
    question: str,
    *,
    at: str | None,
    choices: Sequence[str],
    page: Path | None,
) -> dict[str, Any]:
    """Answers, shows the rounds and the biographies it rests on; returns the JSON object."""
    home = Home.of_environment()
    memory = Memory.open(home, recording)
    for line in memory.absent:
        output.say(f"note: {line}")
    record = answered(home, memory, question, at=at, choices=choices, output=output)
    tell(output, memory, record)
    if page is not None:
        write_page(home, memory, record, page)
        output.say(f"page: {page}")
    return record_json(memory, record)


def answered(
    home: Home,
    memory: Memory,
    question: str,
    *,
    at: str | None,
    choices: Sequence[str],
    output: Output,
) -> Record:
    """The record of one question, its rounds told as they end."""

    def watch(round_: Round) -> None:
        if round_.decision == "search":
            output.say(f"searched: {shorten(round_.query, 90)}  ({len(round_.units)} new units)")

    return ask_memory(
        memory,
        question,
        at=when(memory, home, at),
        choices=choices,
        controller=EmbeddedController(),
        answerer=EmbeddedAnswerer(),
        watch=watch,
    )


def tell(output: Output, memory: Memory, record: Record) -> None:
    """The answer, and the biographies and moments it rests on."""
    units = {unit.id: unit for unit in record.units}
    shown: set[str] = set()
    for name in record.supports:
        entity = units[name].entity if name in units else name
        if entity is None and name in units:
            unit = units[name]
            span = f"{memory.clock.show(unit.start_s)} - {memory.clock.show(unit.end_s)}"
            output.say(f"  moment {span}: {shorten(unit.text, _SHOWN)}")
        elif entity and entity not in shown:
            shown.add(entity)
            _tell_biography(output, memory, record, entity)
    output.say("")
    for note in record.searches[-1].notes if record.searches else ():
        output.say(f"  {note}")
    letter = f"{record.choice}: " if record.choice else ""
    sure = "" if record.confidence is None else f"  (confidence {record.confidence:.2f})"
    output.say(f"{letter}{record.answer or 'no answer'}{sure}")
    output.say(record.why if record.decided else f"The evidence does not decide this. {record.why}")


def _tell_biography(output: Output, memory: Memory, record: Record, entity: str) -> None:
    for excerpt in _excerpts(memory, record, [entity]):
        span = f"{memory.clock.show(excerpt.start_s)} - {memory.clock.show(excerpt.end_s)}"
        output.say(f"  biography {entity} '{excerpt.name}', {span}")
        for block in excerpt.blocks:
            output.say(f"    {memory.clock.show(block.start_s)}  {shorten(block.text, _SHOWN)}")
        if excerpt.also is not None:
            output.say(f"    also seen {excerpt.also.appearances} more times")


def _excerpts(memory: Memory, record: Record, entities: Sequence[str]) -> Any:
    selected = {unit.id for unit in record.units if unit.kind == "observation"}
    return excerpts(
        memory.appearances(entities, at=record.at),
        selected,
        at=record.at,
        cast=memory.cast_names(entities, at=record.at),
    )


def record_json(memory: Memory, record: Record) -> dict[str, Any]:
    return {
        "answer": record.answer,
        "choice": record.choice,
        "confidence": record.confidence,
        "decided": record.decided,
        "why": record.why,
        "supports": list(record.supports),
        "rounds": [
            {
                "decision": round_.decision,
                "query": round_.query,
                "why": round_.why,
                "units": [unit.id for unit in round_.units],
                "notes": list(round_.notes),
                "seconds": round_.seconds,
            }
            for round_ in record.rounds
        ],
        "units": [unit_json(unit, memory) for unit in record.units],
        "seconds": record.seconds,
    }


def write_page(home: Home, memory: Memory, record: Record, page: Path) -> None:
    """An HTML page of one answer: its rounds, and the crops of the biographies it met."""
    entities = list(dict.fromkeys(unit.entity for unit in record.units if unit.entity))
    crops = (
        home.store.scan("crops", recording=memory.recording)
        .filter(pl.col("rank") == 0)
        .select("observation", "jpeg")
        .collect()
    )
    jpegs = dict(crops.iter_rows())
    parts = [
        "<!doctype html><meta charset='utf-8'><title>geb ask</title>",
        "<style>body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto}"
        "img{height:90px;margin:2px}.t{color:#666}</style>",
        f"<h1>{html.escape(record.question)}</h1>",
        f"<p><b>{html.escape((record.choice or '') + ' ' + record.answer)}</b><br>"
        f"{'' if record.decided else 'The evidence does not decide this. '}"
        f"{html.escape(record.why)}</p>",
    ]
    for excerpt in _excerpts(memory, record, entities) if entities else ():
        used = " &mdash; decided the answer" if excerpt.entity in record.supports else ""
        parts.append(f"<h2>{html.escape(excerpt.name)} <span class=t>{excerpt.entity}</span>{used}")
        parts.append("</h2>")
        for block in excerpt.blocks:
            picture = base64.b64encode(jpegs.get(block.observation, b"")).decode()
            parts.append(
                f"<p><img src='data:image/jpeg;base64,{picture}'><br>"
                f"<span class=t>{memory.clock.show(block.start_s)}</span> "
                f"{html.escape(block.text)}</p>"
            )
    for number, round_ in enumerate(record.searches, 1):
        parts.append(f"<h2>Round {number}: {html.escape(round_.query)}</h2><ul>")
        parts += [
            f"<li><span class=t>{memory.clock.show(unit.start_s)} {unit.kind} "
            f"{unit.score:.4f}</span> {html.escape(unit.text)}</li>"
            for unit in round_.units
        ]
        parts.append("</ul>")
    try:
        page.write_text("\n".join(parts), encoding="utf-8")
    except OSError as error:
        raise GebError(f"{page} cannot be written: {error.strerror}; name another file") from None
