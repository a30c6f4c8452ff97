"""The controller: reads the question and what was found, and searches again or stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from geb_assets.reading.biography import Excerpt
from geb_assets.reading.question import Question
from geb_assets.reading.record import Round


@dataclass(frozen=True)
class Progress:
    """How far a question's search has come."""

    question: Question
    rounds: tuple[Round, ...] = ()
    """The searches made so far."""
    views: tuple[str, ...] = ()
    """What each of them showed, as it was printed then (spec 9.35)."""
    excerpts: tuple[Excerpt, ...] = ()
    """The biographies of all entities known so far."""
    rounds_left: int = 5


@dataclass(frozen=True)
class Decision:
    """Search with a query, or answer. Why is for the reader of the record."""

    action: Literal["search", "answer"]
    query: str = ""
    why: str = ""
    limit: int | None = None
    """Most units to take from this search, where fewer than the budget are wanted."""
    error: str = ""
    """A fault of the model that was mended on the way to this decision."""
    failed: bool = False
    """Whether the model gave no reply, and the search goes on without it."""
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Controller(Protocol):
    """Decides the next step of a question's search."""

    @property
    def name(self) -> str:
        """What it is and which model serves it."""
        ...

    def decide(self, progress: Progress) -> Decision:
        """The next step. Raises GebError only for what the user has to mend."""
        ...
