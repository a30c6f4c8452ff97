"""The appearance role: pictures alone, for regrouping the tracks of a clip (spec 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from resources.identity import ModelIdentity
from resources.images import Image


class Appearance(Protocol):
    """Turns crops into vectors and says how alike two tracks look."""

    @property
    def identity(self) -> ModelIdentity: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, crops: Sequence[Image]) -> NDArray[np.float32]:
        """Unit rows float32 ``[n, D]``, in order; a crop's row does not depend on the others.

        Raises GebError for a crop without pixels.
        """
        ...

    def similarity(self, means: NDArray[np.float32]) -> NDArray[np.float32]:
        """Score float32 ``[T, T]``, symmetric, at most 1: how alike two tracks look.

        ``means`` float32 ``[T, D]``: the mean of each track's rows, of any length.
        """
        ...
