"""The role that takes captions apart into triples, for the baselines that search those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from resources.identity import ModelIdentity


class NotExtracted(Exception):
    """No usable reply; its text says why. A rerun asks again."""


class Triple(NamedTuple):
    """One statement of a caption."""

    subject: str
    predicate: str
    object: str


class Extractor(Protocol):
    """Takes a caption apart."""

    @property
    def identity(self) -> ModelIdentity: ...
    @property
    def in_flight(self) -> int: ...

    def triples(self, caption: str) -> Sequence[Triple]:
        """What a caption states, in its order, nothing twice. Raises NotExtracted."""
        ...
