"""The roles that write captions: of 30 seconds from pictures, of longer stretches from captions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from resources.describer import Line
from resources.identity import ModelIdentity


class NotCaptioned(Exception):
    """No usable reply; its text says why. A rerun asks again."""


class Captioner(Protocol):
    """Tells a stretch of half a minute from its pictures and what is said meanwhile."""

    @property
    def identity(self) -> ModelIdentity: ...
    @property
    def in_flight(self) -> int: ...

    def caption(self, pictures: Sequence[bytes], lines: Sequence[Line], wearer: str) -> str:
        """2 to 4 sentences; ``pictures`` are JPEG in order of time. Raises NotCaptioned."""
        ...


class Summarizer(Protocol):
    """Tells a longer stretch from the captions of shorter ones."""

    @property
    def identity(self) -> ModelIdentity: ...
    @property
    def in_flight(self) -> int: ...

    def summarize(self, captions: Sequence[str], words: int) -> str:
        """At most about ``words`` words. Raises NotCaptioned."""
        ...
