"""The answerer: reads the question and all the evidence, and answers or says that it cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from geb_assets.reading.answerer.intervals import Intervals
from geb_assets.reading.evidence import Evidence
from geb_assets.reading.question import Question


@dataclass(frozen=True)
class Answer:
    """An answer and what it rests on."""

    text: str
    """The choice's text, or the answer in words; empty where none could be had."""
    choice: str | None = None
    """The choice's letter."""
    confidence: float | None = None
    """0 to 1; None where the answerer gives none."""
    decided: bool = True
    """False where the evidence does not decide the question."""
    why: str = ""
    supports: tuple[str, ...] = ()
    """Ids of the units and entities that it rests on, the weightiest first."""
    intervals: Intervals = ()
    """The times that it names as its evidence, where the question wants them."""
    error: str = ""
    failed: bool = False
    """Whether the model gave no reply, rather than one of no use."""
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Answerer(Protocol):
    """Answers a question from evidence alone."""

    @property
    def name(self) -> str:
        """What it is and which model serves it."""
        ...

    @property
    def reads_frames(self) -> bool:
        """Whether frames are of use to it; none are fetched otherwise."""
        ...

    def answer(self, question: Question, evidence: Evidence) -> Answer:
        """Raises GebError only for what the user has to mend; other faults are in ``error``."""
        ...
