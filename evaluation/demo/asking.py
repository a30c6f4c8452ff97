"""The demonstration's questions put to its memory; the truth only judges the answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from evaluation.demo.questions import DemoQuestion, shown
from evaluation.demo.render import DemoRecording
from geb_assets.reading.answerer.embedded import EmbeddedAnswerer
from geb_assets.reading.asking import ask
from geb_assets.reading.controller.embedded import EmbeddedController
from geb_assets.reading.memory import Memory
from geb_assets.reading.record import Record


@dataclass(frozen=True)
class Asked:
    """One question with the memory's answer."""

    question: DemoQuestion
    record: Record

    @property
    def right(self) -> bool:
        return self.question.is_right(self.record.answer, self.record.choice)


def ask_all(memory: Memory, recording: DemoRecording) -> Iterator[Asked]:
    """Asks the five questions of the demonstration, with the embedded controller and answerer."""
    for question in shown(pl.read_parquet(recording.truth), recording.seed):
        record = ask(
            memory,
            question.question,
            at=question.at,
            choices=list(question.choices.values()),
            controller=EmbeddedController(),
            answerer=EmbeddedAnswerer(),
        )
        yield Asked(question, record)
