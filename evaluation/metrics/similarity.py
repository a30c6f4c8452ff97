"""Sentence similarity of answers and references (spec 5.4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from geb_assets.errors import GebError
from resources.embedder import TextEmbedder


def sentence_similarity(
    answers: Sequence[str], references: Sequence[str], embedder: TextEmbedder
) -> NDArray[np.float64]:
    """Cosine of each answer and its reference: float64 [N].

    The benchmark's figure is the mean with all-MiniLM-L6-v2; state the embedder beside any other.
    Raises GebError where there is not one reference for each answer.
    """
    if len(answers) != len(references):
        raise GebError(
            f"{len(answers)} answers for {len(references)} references; give one for each"
        )
    a = embedder.embed(answers).astype(np.float64)
    b = embedder.embed(references).astype(np.float64)
    return np.asarray((a * b).sum(axis=1))
