"""``geb ask``: a question answered from a memory, with what decided it on the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from geb_assets.asked import keep
from geb_assets.cli.output import Output
from geb_assets.cli.page import require_page, write_page
from geb_assets.cli.pictures import thumbnails
from geb_assets.cli.readers import Model, readers, way_out
from geb_assets.cli.record import deciding, record_json, say_round, show_record
from geb_assets.cli.units import when
from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.reading.asking import ask as ask_memory
from geb_assets.reading.memory import Memory
from geb_assets.reading.question import Question

T = TypeVar("T")


def ask(
    output: Output,
    recording: str,
    question: str,
    *,
    at: str | None,
    choices: Sequence[str],
    model: Model | None,
    page: Path | None,
) -> dict[str, Any]:
    """Answers, shows the rounds and the biographies it rests on; returns the JSON object.

    Raises GebError for what the user has to mend, and where a model gave no answer at all.
    """
    if page is not None:
        require_page(page)
    home = Home.of_environment()
    memory = Memory.open(home, recording)
    asked_at = when(memory, home, at)
    _check(Question.of(question, clock=memory.clock, at=asked_at, choices=choices))
    for line in memory.absent:
        output.say(f"note: {line}")
    with way_out():
        pair = readers(home, model)
        record = ask_memory(
            memory,
            question,
            at=asked_at,
            choices=choices,
            controller=pair.controller,
            answerer=pair.answerer,
            watch=partial(say_round, output),
        )
    if record.error and not record.answer:
        _kept(output, lambda: keep(home, record))
        raise GebError(f"no answer: {record.error}; or ask with --model embedded")
    pictures = _kept(output, lambda: thumbnails(home, recording, deciding(memory, record)))
    show_record(output, memory, record, pictures)
    _kept(output, lambda: keep(home, record))
    if page is not None:
        write_page(home, memory, record, page)
        output.say(f"page: {page}")
    return record_json(memory, record)


def _kept(output: Output, write: Callable[[], T]) -> T | None:
    """What is written beside an answer. A home that refuses it takes nothing from the answer."""
    try:
        return write()
    except (GebError, OSError) as error:
        output.say(f"note: not kept: {error}")
        return None


def _check(question: Question) -> None:
    """Choices of a benchmark may repeat, as released; whoever types them has mistyped."""
    written = [choice.casefold() for choice in question.choices]
    for choice in question.choices:
        if written.count(choice.casefold()) > 1:
            raise GebError(f"the choice '{choice}' stands there twice; give each once")
