"""MobileNetV2's last maps in three bands, and colours in three bands: CPU, no torch.

Chosen by ``evaluation.bench.identity_features``: the last linear maps (320, no rectifier) spread
better than the 1,280 pooled features, bands keep what is above what, and colours under the light's
own tint tell apart what the network takes for one kind.
"""

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
from resources.appearance.mobilenetv2_graph import MAPS, MEAN, SIDE, mobilenetv2
from resources.identity import ModelIdentity
from resources.images import Image
from resources.packages import MOBILENETV2_WEIGHTS, fetch
from resources.vectors import unit

BANDS = 3
COLOUR_SHARE = 0.3
"""Weight of the colours' cosine; the rest is the maps'."""

_BINS = (3, 6, 6)
_RANGES = (0, 256, 64, 192, 64, 192)
_COLOUR_SIDE = 64
_DIMENSION = BANDS * (MAPS + _BINS[0] * _BINS[1] * _BINS[2])


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
            "mobilenetv2-bands-colours",
            f"{MOBILENETV2_WEIGHTS.project} {MOBILENETV2_WEIGHTS.version}",
            MOBILENETV2_WEIGHTS.sha256,
        )

    @property
    def dimension(self) -> int:
        return _DIMENSION

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
            return np.zeros((0, _DIMENSION), np.float32)
        session = self._session
        with ThreadPoolExecutor(self._workers) as pool:
            return np.stack(list(pool.map(lambda crop: _row(crop, session), crops)))

    def similarity(self, means: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosine; see :meth:`resources.appearance.Appearance.similarity`."""
        rows = unit(means)
        return np.asarray(np.minimum(rows @ rows.T, 1), np.float32)


def _row(crop: Image, session: Any) -> NDArray[np.float32]:
    """Unit row of one crop: the bands of the maps, each at one length, then the colours'."""
    (maps,) = session.run(None, {"pictures": network_input(crop)})
    bands = unit(np.stack([b.mean(axis=(1, 2)) for b in np.array_split(maps[0], BANDS, axis=1)]))
    return np.concatenate(
        [
            bands.ravel() * np.float32(((1 - COLOUR_SHARE) / BANDS) ** 0.5),
            colours(crop).ravel() * np.float32((COLOUR_SHARE / BANDS) ** 0.5),
        ]
    )


def network_input(crop: Image) -> NDArray[np.float32]:
    """``[1, 3, 224, 224]`` float32: the crop amid the square, aspect kept, RGB less the mean."""
    scale = SIDE / max(crop.shape[:2])
    width, height = (max(1, round(side * scale)) for side in crop.shape[1::-1])
    resized = cv2.resize(
        crop, (width, height), interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    )
    y, x = (SIDE - height) // 2, (SIDE - width) // 2
    square = np.zeros((1, 3, SIDE, SIDE), np.float32)
    square[0, :, y : y + height, x : x + width] = (resized[..., ::-1] - MEAN).transpose(2, 0, 1)
    return square


def colours(crop: Image) -> NDArray[np.float32]:
    """Unit rows ``[3, 108]``: square roots of a Lab histogram of each band of the crop's ellipse.

    The channels are scaled to one mean first (gray world), which takes out the light's tint.
    """
    small = cv2.resize(crop, (_COLOUR_SIDE, _COLOUR_SIDE), interpolation=cv2.INTER_AREA)
    tint = small.mean(axis=(0, 1))
    lit = np.clip(small * (tint.mean() / np.maximum(tint, 1)), 0, 255)
    lab = cv2.cvtColor(lit.astype(np.uint8), cv2.COLOR_BGR2LAB)
    axis = np.linspace(-1, 1, _COLOUR_SIDE)
    inside = np.asarray(np.hypot(axis[:, None], axis) <= 1, np.uint8)
    histograms = [
        cv2.calcHist(
            [np.ascontiguousarray(lab[rows])], [0, 1, 2], inside[rows], list(_BINS), list(_RANGES)
        ).ravel()
        for rows in np.array_split(np.arange(_COLOUR_SIDE), BANDS)
    ]
    return unit(np.sqrt(np.stack(histograms).astype(np.float32)))
