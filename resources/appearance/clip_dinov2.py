"""CLIP ViT-B/32 and DINOv2 on transformers: the paper's regrouping (spec 6). Extra ``vision``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from geb_assets.errors import GebError
from resources.identity import ModelIdentity, joint_digest
from resources.images import Image
from resources.options import Device, Options, Precision
from resources.torch_models import (
    digest_of,
    in_batches,
    on_device,
    pretrained,
    rows_of,
    vision,
)
from resources.vectors import unit

CLIP_SHARE, CLIP_SLOPE, CLIP_MIDDLE = 0.15, 20.0, 0.925
"""Score = 0.15 sigmoid(20 (CLIP's cosine - 0.925)) + 0.85 DINOv2's cosine (spec 6)."""

_SIDE = 224
_CLIP_MEAN, _CLIP_DEVIATION = (
    (0.48145466, 0.4578275, 0.40821073),
    (
        0.26862954,
        0.26130258,
        0.27577711,
    ),
)
_DINO_MEAN, _DINO_DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class ClipDinoOptions(Options):
    """Which two models, and how they run."""

    clip: str = "openai/clip-vit-base-patch32"
    clip_revision: str = "main"
    dino: str = "facebook/dinov2-giant"
    dino_revision: str = "main"
    device: Device = "cuda"
    precision: Precision = "float16"
    batch: Annotated[int, Field(ge=1)] = 64
    """Crops at a time."""

    def fetched(self) -> tuple[str, ...]:
        return (self.clip, self.dino)


class ClipDino:
    """Appearance of the paper. A row is CLIP's unit vector and then DINOv2's, each over sqrt(2).

    Kept side by side, a track's mean row holds each model's mean, and :meth:`similarity` takes them
    apart again: the score is no cosine of the whole.
    """

    def __init__(self, options: ClipDinoOptions) -> None:
        self._options = options

    @property
    def identity(self) -> ModelIdentity:
        o = self._options
        digests = [digest_of(name) for name in (o.clip, o.dino)]
        return ModelIdentity(
            f"{o.clip} + {o.dino}",
            f"{o.clip_revision} + {o.dino_revision}",
            joint_digest(*digests) if any(digests) else "",
            o.precision,
        )

    @cached_property
    def _split(self) -> int:
        """How many numbers of a row are CLIP's."""
        o = self._options
        config = pretrained("CLIPVisionConfig", o.clip, o.clip_revision, "appearance")
        return int(config.projection_dim)

    @cached_property
    def dimension(self) -> int:
        o = self._options
        config = pretrained("Dinov2Config", o.dino, o.dino_revision, "appearance")
        return self._split + int(config.hidden_size)

    @cached_property
    def _models(self) -> tuple[Any, Any]:
        o = self._options
        clip, dino = (
            on_device(kind, name, revision, o.precision, o.device, "appearance")
            for kind, name, revision in (
                ("CLIPVisionModelWithProjection", o.clip, o.clip_revision),
                ("Dinov2Model", o.dino, o.dino_revision),
            )
        )
        return clip, dino

    def embed(self, crops: Sequence[Image]) -> NDArray[np.float32]:
        """See :meth:`resources.appearance.Appearance.embed`."""
        for number, crop in enumerate(crops):
            if crop.ndim != 3 or crop.size == 0:
                raise GebError(f"appearance: crop {number} has no pixels; drop empty boxes first")
        if not crops:
            return np.zeros((0, self.dimension), np.float32)
        places = range(len(crops))
        batch = self._options.batch
        rows = in_batches(
            [places[begin : begin + batch] for begin in places[::batch]],
            lambda chosen: list(self._rows([crops[place] for place in chosen])),
            role="appearance",
            option="batch",
        )
        return np.stack(rows)

    def _rows(self, crops: Sequence[Image]) -> NDArray[np.float32]:
        torch = vision("torch")
        clip, dino = self._models
        # Aspect is not kept, as the constants were set.
        squares = np.stack([_square(crop) for crop in crops])

        def seen(mean: tuple[float, ...], deviation: tuple[float, ...], model: Any) -> Any:
            pixels = (squares / 255 - np.array(mean)) / np.array(deviation)
            tensor = torch.from_numpy(pixels.transpose(0, 3, 1, 2).astype(np.float32))
            return tensor.to(model.device, model.dtype)

        with torch.inference_mode():
            looks = clip(pixel_values=seen(_CLIP_MEAN, _CLIP_DEVIATION, clip)).image_embeds
            shapes = dino(pixel_values=seen(_DINO_MEAN, _DINO_DEVIATION, dino)).pooler_output
        halves = [rows_of(looks), rows_of(shapes)]
        return np.concatenate(halves, axis=1) * np.float32(0.5**0.5)

    def similarity(self, means: NDArray[np.float32]) -> NDArray[np.float32]:
        """Spec 6's score; see :meth:`resources.appearance.Appearance.similarity`."""
        return clip_dino_score(means[:, : self._split], means[:, self._split :])


def clip_dino_score(clip: NDArray[np.float32], dino: NDArray[np.float32]) -> NDArray[np.float32]:
    """Score float32 [T, T] of tracks from each model's mean rows, float32 [T, D] of any length."""
    clip_cosine, dino_cosine = (
        (rows := unit(part).astype(np.float64)) @ rows.T for part in (clip, dino)
    )
    lifted = 1 / (1 + np.exp(-CLIP_SLOPE * (clip_cosine - CLIP_MIDDLE)))
    score = CLIP_SHARE * lifted + (1 - CLIP_SHARE) * dino_cosine
    return np.asarray((score + score.T) / 2, np.float32)


def _square(crop: Image) -> NDArray[np.float64]:
    """RGB [224, 224, 3] in 0..255."""
    shrinks = max(crop.shape[:2]) > _SIDE
    way = cv2.INTER_AREA if shrinks else cv2.INTER_CUBIC
    resized = cv2.resize(crop, (_SIDE, _SIDE), interpolation=way)
    return np.asarray(resized[..., ::-1], np.float64)
