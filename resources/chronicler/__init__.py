"""The role that follows topics and events through captions (spec 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from resources.identity import ModelIdentity


class NotTold(Exception):
    """No usable reply; its text says why. A rerun asks again."""


@dataclass(frozen=True)
class Moment:
    """A text at a time, s."""

    start_s: float
    end_s: float
    text: str


@dataclass(frozen=True)
class Step:
    """One step of an event: which of the moments handed over it is made of, and what it is."""

    label: str
    moments: tuple[int, ...]
    text: str


class Chronicler(Protocol):
    """Follows topics and events through captions."""

    @property
    def identity(self) -> ModelIdentity: ...
    @property
    def in_flight(self) -> int: ...

    def facts(self, topic: str, captions: Sequence[Moment]) -> Sequence[tuple[int, str]]:
        """What captions say of a topic: place of the caption and the fact. Raises NotTold."""
        ...

    def steps(self, captions: Sequence[Moment], known: Sequence[str], most: int) -> Sequence[Step]:
        """The events of one day, as steps; ``known`` are events of earlier days that may go on.

        Raises NotTold.
        """
        ...
