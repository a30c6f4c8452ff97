"""Identity embedding joined from a picture's vector and a text's: the embedded profile's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geb_assets.errors import GebError
from resources.appearance import Appearance
from resources.embedder import Subject, TextEmbedder
from resources.identity import ModelIdentity, joint_digest
from resources.vectors import unit


class PooledIdentity:
    """``concat(sqrt(w) * mean picture, sqrt(1 - w) * text)``, unit parts, so that the cosine of
    two subjects is ``w * pictures' cosine + (1 - w) * texts' cosine``.

    A ``picture_weight`` of 1 leaves the text out, of 0 the pictures. Which models are used is the
    identity; the weight is a parameter.
    """

    def __init__(
        self, appearance: Appearance, text: TextEmbedder, *, picture_weight: float = 1.0
    ) -> None:
        if not 0 <= picture_weight <= 1:
            raise GebError(f"embedder: picture_weight {picture_weight} is not within [0, 1]")
        self._appearance = appearance
        self._text = text
        self._weight = picture_weight

    @property
    def identity(self) -> ModelIdentity:
        parts = [part.identity for part in self._parts]
        if len(parts) == 1:
            return parts[0]
        return ModelIdentity(
            " + ".join(part.name for part in parts),
            " + ".join(part.revision for part in parts),
            joint_digest(*(part.digest for part in parts)),
        )

    @property
    def dimension(self) -> int:
        return sum(part.dimension for part in self._parts)

    @property
    def _parts(self) -> list[Appearance | TextEmbedder]:
        pictures: list[Appearance | TextEmbedder] = [self._appearance] if self._weight > 0 else []
        return pictures + ([self._text] if self._weight < 1 else [])

    def embed(self, subjects: Sequence[Subject]) -> NDArray[np.float32]:
        """See :meth:`resources.embedder.IdentityEmbedder.embed`."""
        for number, subject in enumerate(subjects):
            if not subject.crops:
                raise GebError(f"embedder: subject {number} has no crops; give it at least one")
        if not subjects:
            return np.zeros((0, self.dimension), np.float32)
        parts: list[NDArray[np.float32]] = []
        if self._weight > 0:
            counts = np.array([len(subject.crops) for subject in subjects])
            rows = self._appearance.embed([crop for subject in subjects for crop in subject.crops])
            starts = np.cumsum(counts) - counts
            sums = np.asarray(np.add.reduceat(rows, starts, axis=0), np.float32)
            parts.append(unit(sums) * np.float32(self._weight**0.5))
        if self._weight < 1:
            rows = self._text.embed([subject.text for subject in subjects])
            parts.append(rows * np.float32((1 - self._weight) ** 0.5))
        return unit(np.concatenate(parts, axis=1))
