"""The embedders' roles: texts for search, and subjects (pictures and text) for identity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from resources.identity import ModelIdentity
from resources.images import Image


class TextEmbedder(Protocol):
    """Turns texts into vectors; queries and what is searched share one space."""

    @property
    def identity(self) -> ModelIdentity: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows float32 ``[n, D]``, in order; a text's row does not depend on the others."""
        ...


@dataclass(frozen=True, eq=False)
class Subject:
    """What identity is judged by: crops of one observation, and its name and summary."""

    crops: tuple[Image, ...]
    text: str


class IdentityEmbedder(Protocol):
    """Turns subjects into vectors whose cosine says whether they are one physical instance."""

    @property
    def identity(self) -> ModelIdentity: ...

    @property
    def dimension(self) -> int: ...

    def embed(self, subjects: Sequence[Subject]) -> NDArray[np.float32]:
        """Unit rows float32 ``[n, D]``, in order; a row does not depend on the others.

        Raises GebError for a subject without crops.
        """
        ...


@dataclass(frozen=True, eq=False)
class Film:
    """A clip as the visual channel sees it: frames in time order, ``fps`` a second."""

    frames: tuple[Image, ...]
    fps: float


class ClipEmbedder(Protocol):
    """Turns clips and the queries that look for them into vectors of one space."""

    @property
    def identity(self) -> ModelIdentity: ...

    @property
    def dimension(self) -> int: ...

    def embed_clips(self, films: Sequence[Film]) -> NDArray[np.float32]:
        """Unit rows float32 ``[n, D]``, in order; a row does not depend on the others.

        Raises GebError for a clip without frames.
        """
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows float32 ``[n, D]`` of queries, in order."""
        ...
