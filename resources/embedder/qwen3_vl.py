"""Qwen3-VL-Embedding on transformers: identity from crops, name and summary; clips for search.

The prompt is the model's own chat template: the instruction as the system's message, pictures
before the text, the last token's state (spec 1.7, 9.12). Needs the extra ``vision``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from geb_assets.errors import GebError
from resources.embedder import Film, Subject
from resources.identity import ModelIdentity
from resources.images import Image
from resources.options import Device, Options, Precision
from resources.torch_models import (
    batches,
    checked_kind,
    digest_of,
    in_batches,
    on_device,
    pretrained,
    rows_of,
    vision,
)

DOCUMENT = "Represent the user's input."
"""Instruction of what is searched, and of both sides of identity, which is symmetric."""
QUERY = "Retrieve images or text relevant to the user's query."
_PIXELS = {"shortest_edge": 4 * 32 * 32, "longest_edge": 1800 * 32 * 32}
"""Fewest and most pixels of a picture, as the model's makers run it."""
_FRAME_PIXELS = 360 * 420
"""Most pixels of a clip's frame."""
_LONGEST_RATIO = 100
"""A longer sliver is widened: the picture processor refuses ratios of 200."""


class Qwen3VLOptions(Options):
    """Which model, and how it runs."""

    model: str = "Qwen/Qwen3-VL-Embedding-8B"
    """A model of the hub, or a folder."""
    revision: str = "main"
    device: Device = "cuda"
    precision: Precision = "bfloat16"
    dimension: Annotated[int, Field(ge=32)] | None = None
    """Numbers kept of a vector, the first ones; all where none is given."""
    batch_tokens: Annotated[int, Field(ge=1)] = 16_384
    """Tokens at a time, pictures' and padding counted."""

    def fetched(self) -> tuple[str, ...]:
        return (self.model,)


class _Qwen3VL:
    """What both roles share: a conversation in, a unit row out."""

    role: str

    def __init__(self, options: Qwen3VLOptions) -> None:
        self._options = options

    @property
    def identity(self) -> ModelIdentity:
        o = self._options
        cut = f", first {o.dimension}" if o.dimension else ""
        return ModelIdentity(o.model, o.revision, digest_of(o.model), f"{o.precision}{cut}")

    @cached_property
    def dimension(self) -> int:
        o = self._options
        config = checked_kind(o.model, o.revision, "qwen3_vl", self.role)
        whole = int(config.text_config.hidden_size)
        return min(o.dimension or whole, whole)

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        o = self._options
        checked_kind(o.model, o.revision, "qwen3_vl", self.role)
        processor = pretrained("Qwen3VLProcessor", o.model, o.revision, self.role)
        model = on_device("Qwen3VLModel", o.model, o.revision, o.precision, o.device, self.role)
        return processor, model

    def _encoded(self, instruction: str, content: Sequence[Any], **pictures: Any) -> Any:
        """One input of the model, not padded."""
        processor, _ = self._loaded
        text = processor.apply_chat_template(
            [
                {"role": "system", "content": [{"type": "text", "text": instruction}]},
                {"role": "user", "content": list(content)},
            ],
            add_generation_prompt=True,
            tokenize=False,
        )
        return processor(text=[text], return_tensors="pt", **pictures)

    def _embedded(self, encoded: Sequence[Any]) -> NDArray[np.float32]:
        rows = in_batches(
            batches([one["input_ids"].shape[1] for one in encoded], self._options.batch_tokens),
            lambda chosen: list(self._rows([encoded[place] for place in chosen])),
            role=self.role,
            option="batch_tokens",
        )
        return np.stack(rows)

    def _rows(self, encoded: Sequence[Mapping[str, Any]]) -> NDArray[np.float32]:
        torch = vision("torch")
        processor, model = self._loaded
        longest = max(one["input_ids"].shape[1] for one in encoded)
        fills = {
            "input_ids": processor.tokenizer.pad_token_id,
            "attention_mask": 0,
            "mm_token_type_ids": 0,
        }
        inputs: dict[str, Any] = {}
        for name in dict.fromkeys(name for one in encoded for name in one):
            parts = [one[name] for one in encoded if name in one]
            if name in fills:
                parts = [
                    torch.nn.functional.pad(part, (0, longest - part.shape[1]), value=fills[name])
                    for part in parts
                ]
            joined = torch.cat(parts).to(model.device)
            inputs[name] = joined.to(model.dtype) if joined.is_floating_point() else joined
        with torch.inference_mode():
            states = model(**inputs).last_hidden_state
        last = inputs["attention_mask"].sum(dim=1) - 1
        chosen = states[torch.arange(len(states), device=states.device), last]
        return rows_of(chosen, self._options.dimension)


class Qwen3VLIdentity(_Qwen3VL):
    """Identity embedder of the paper: crops, name and summary in one vector."""

    role = "identity_embedder"

    def embed(self, subjects: Sequence[Subject]) -> NDArray[np.float32]:
        """See :meth:`resources.embedder.IdentityEmbedder.embed`."""
        for number, subject in enumerate(subjects):
            if not subject.crops:
                raise GebError(f"embedder: subject {number} has no crops; give it at least one")
        if not subjects:
            return np.zeros((0, self.dimension), np.float32)
        return self._embedded([self._subject(subject) for subject in subjects])

    def _subject(self, subject: Subject) -> Any:
        content = [{"type": "image"} for _ in subject.crops]
        return self._encoded(
            DOCUMENT,
            [*content, {"type": "text", "text": subject.text}],
            images=[_rgb(crop) for crop in subject.crops],
            images_kwargs={"size": _PIXELS},
        )


class Qwen3VLClips(_Qwen3VL):
    """Clips of the visual channel and the queries that look for them."""

    role = "clip_embedder"

    def embed_clips(self, films: Sequence[Film]) -> NDArray[np.float32]:
        """See :meth:`resources.embedder.ClipEmbedder.embed_clips`."""
        for number, film in enumerate(films):
            if not film.frames:
                raise GebError(f"embedder: clip {number} has no frames; give it at least one")
        if not films:
            return np.zeros((0, self.dimension), np.float32)
        return self._embedded([self._film(film) for film in films])

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See :meth:`resources.embedder.ClipEmbedder.embed`."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return self._embedded(
            [self._encoded(QUERY, [{"type": "text", "text": text}]) for text in texts]
        )

    def _film(self, film: Film) -> Any:
        processor, _ = self._loaded
        cell = processor.video_processor.patch_size * processor.video_processor.merge_size
        frames = [_fitted(_rgb(frame), cell) for frame in film.frames]
        return self._encoded(
            DOCUMENT,
            [{"type": "video"}],
            videos=[np.stack(frames)],
            video_metadata=[
                {
                    "total_num_frames": len(frames),
                    "fps": film.fps,
                    "frames_indices": list(range(len(frames))),
                }
            ],
            videos_kwargs={"do_resize": False, "do_sample_frames": False},
        )


def _rgb(image: Image) -> Image:
    """RGB, and no longer than a hundred times its width."""
    height, width = image.shape[:2]
    least = -(-max(height, width) // _LONGEST_RATIO)
    if min(height, width) < least:
        size = (max(width, least), max(height, least))
        image = np.asarray(cv2.resize(image, size), np.uint8)
    return np.ascontiguousarray(image[..., ::-1])


def _fitted(image: Image, cell: int) -> Image:
    """The picture at a size in whole cells and of at most ``_FRAME_PIXELS``."""
    height, width = image.shape[:2]
    scale = min(1.0, (_FRAME_PIXELS / (height * width)) ** 0.5)
    size = tuple(max(cell, int(side * scale) // cell * cell) for side in (width, height))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
