"""The roles that name people: who of the cast is seen in a clip, and what each wears on a day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from resources.describer import Line
from resources.identity import ModelIdentity


class NotNamed(Exception):
    """No usable reply; its text says why. A rerun asks again."""


@dataclass(frozen=True, eq=False)
class Scene:
    """One frame of a clip with the people in it: observation to box, xyxy px of the picture."""

    time_s: float
    jpeg: bytes
    people: Mapping[str, NDArray[np.float32]]


class Namer(Protocol):
    """Assigns the people of one clip to the cast, all in one call."""

    @property
    def identity(self) -> ModelIdentity: ...
    @property
    def in_flight(self) -> int: ...

    def assign(
        self, frames: Sequence[Scene], lines: Sequence[Line], cast: Sequence[str]
    ) -> Mapping[str, str]:
        """Observation to cast name; an unknown one is left out. Raises NotNamed."""
        ...


class Wardrobe(Protocol):
    """Distills what somebody wears on one day."""

    @property
    def identity(self) -> ModelIdentity: ...
    @property
    def in_flight(self) -> int: ...

    def distill(self, looks: Sequence[str]) -> Sequence[str]:
        """Stable features of the clothing and hair that these looks agree on. Raises NotNamed."""
        ...
