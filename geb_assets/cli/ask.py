"""``geb ask``: a question answered from a memory, with what decided it on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from geb_assets.asked import keep
from geb_assets.cli.output import Output
from geb_assets.cli.page import write_page
from geb_assets.cli.pictures import thumbnails
from geb_assets.cli.record import deciding, record_json, say_round, show_record
from geb_assets.cli.units import when
from geb_assets.home import Home
from geb_assets.reading.answerer.embedded import EmbeddedAnswerer
from geb_assets.reading.asking import ask as ask_memory
from geb_assets.reading.controller.embedded import EmbeddedController
from geb_assets.reading.memory import Memory
from geb_assets.reading.question import Question


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
    asked_at = when(memory, home, at)
    Question.of(question, clock=memory.clock, at=asked_at, choices=choices)
    for line in memory.absent:
        output.say(f"note: {line}")
    record = ask_memory(
        memory,
        question,
        at=asked_at,
        choices=choices,
        controller=EmbeddedController(),
        answerer=EmbeddedAnswerer(),
        watch=partial(say_round, output),
    )
    keep(home, record)
    pictures = thumbnails(home, recording, deciding(memory, record))
    show_record(output, memory, record, pictures)
    if page is not None:
        write_page(home, memory, record, page)
        output.say(f"page: {page}")
    return record_json(memory, record)
