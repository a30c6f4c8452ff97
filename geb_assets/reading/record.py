"""The record of a question's run: what was searched, found and answered; stored and replayed."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from geb_assets.reading.chains import Fact
from geb_assets.reading.units import Unit


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Round(_Frozen):
    """One round: the controller's decision and what came of it."""

    decision: Literal["search", "answer"]
    query: str = ""
    """Empty for the decision to answer."""
    why: str = ""
    """The controller's reason, where it has one."""
    read_out: tuple[float, float] | None = None
    """The time that the query read out, s; None for a search by meaning."""
    units: tuple[Unit, ...] = ()
    """The units that no earlier round returned, best first."""
    facts: tuple[Fact, ...] = ()
    """Chain facts shown beside them."""
    notes: tuple[str, ...] = ()
    """Identity notes as they stood after this round."""
    error: str = ""
    """What went wrong in the controller, and was mended."""
    failed: bool = False
    """Whether the controller's model gave no reply, and the search went on without it."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    """Time of the decision and the search, s."""


class Reference(_Frozen):
    """One frame handed to the answerer."""

    clip: str
    time_s: float


class Record(_Frozen):
    """A whole run. ``Record.model_validate_json(record.model_dump_json())`` gives it back."""

    recording: str
    question: str
    at: float | None
    choices: tuple[str, ...]
    evidence_in: tuple[float, float] | None = None
    """Where the answer was asked to name the seconds that it rests on, s; None: it was not."""
    controller: str
    """Name of the controller and its model."""
    answerer: str
    rounds: tuple[Round, ...]
    frames: tuple[Reference, ...] = ()
    answer: str
    choice: str | None
    """The letter of the choice, from A; None for an open-ended question or no choice made."""
    confidence: float | None
    """0 to 1; None where the answerer gives none."""
    decided: bool
    """False where the evidence does not decide the question."""
    why: str
    """What the answer rests on, in one line."""
    supports: tuple[str, ...] = ()
    """Ids of the units and entities that it rests on, the weightiest first."""
    intervals: tuple[tuple[float, float], ...] = ()
    """First and last second, both inside, of each time that it names as its evidence, s."""
    error: str = ""
    """What went wrong in the answerer; a failed call leaves the answer empty."""
    failed: bool = False
    """Whether the answerer's model gave no reply, rather than one of no use."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    """Of the controller and the answerer together."""
    seconds: float = 0.0

    @property
    def answer_tokens(self) -> tuple[int, int]:
        """Tokens read and written by the answerer alone."""
        return (
            self.prompt_tokens - sum(round_.prompt_tokens for round_ in self.rounds),
            self.completion_tokens - sum(round_.completion_tokens for round_ in self.rounds),
        )

    @property
    def searches(self) -> tuple[Round, ...]:
        return tuple(round_ for round_ in self.rounds if round_.decision == "search")

    @property
    def units(self) -> tuple[Unit, ...]:
        """All units received, in the order received."""
        return tuple(unit for round_ in self.rounds for unit in round_.units)
