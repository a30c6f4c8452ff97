"""The answer model alone, on frames sampled evenly from all that was recorded (spec 8)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from evaluation.baselines.otherwise import Otherwise
from geb_assets.reading.units import Unit
from geb_assets.spread import spread

CLIPS = 64
"""Clips of which one frame each is shown: the paper's most frames of an answer."""


class FramesAlone(Otherwise):
    """The same memory without a search: clips evenly spaced in time, with their captions or not."""

    def __init__(self, memory: Any, *, captions: bool = False) -> None:
        super().__init__(memory)
        self.captions = captions

    def search(
        self,
        query: str,
        *,
        at: float | None = None,
        exclude: Collection[str] = (),
        budget: Any = None,
    ) -> list[Unit]:
        clips = self.memory.clips(at=at)
        excluded = set(exclude)
        return [
            unit if self.captions else replace(unit, text="")
            for unit in spread(clips, CLIPS)
            if unit.id not in excluded
        ]

    def read_out(
        self, start_s: float, end_s: float, *, at: float | None = None, entities: Collection[str]
    ) -> list[Unit]:
        """The same clips: a time that is named brings no captions either."""
        return self.search("", at=at)
