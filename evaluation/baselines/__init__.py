"""Other systems' ways of searching, over the same memory: variant name to what searches it.

A baseline that differs by its rows alone is a variant like any other; these search otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from evaluation.baselines.frames_alone import FramesAlone
from evaluation.baselines.per_store import PerStore
from geb_assets.reading.memory import Memory
from geb_assets.reading.units import SearchedMemory

BASELINES: Mapping[str, Callable[[Memory], SearchedMemory]] = {
    "per_store": PerStore,
    "frames_alone": FramesAlone,
    "frames_and_captions": lambda memory: FramesAlone(memory, captions=True),
}
