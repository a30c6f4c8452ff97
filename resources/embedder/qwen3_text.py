"""Qwen3-Embedding on transformers: the paper's text embedder. Needs the extra ``vision``.

As the paper's searches ran it: no instruction before a query, padding on the left, the last token's
state, texts cut at 512 tokens (spec 1.7, 9.25).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from resources.identity import ModelIdentity
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

ROLE = "text_embedder"


class Qwen3TextOptions(Options):
    """Which model, and how it runs."""

    model: str = "Qwen/Qwen3-Embedding-4B"
    """A model of the hub, or a folder."""
    revision: str = "main"
    device: Device = "cuda"
    precision: Precision = "bfloat16"
    max_tokens: Annotated[int, Field(ge=8)] = 512
    """Where a text is cut, tokens."""
    dimension: Annotated[int, Field(ge=32)] | None = None
    """Numbers kept of a vector, the first ones; all where none is given."""
    batch_tokens: Annotated[int, Field(ge=1)] = 16_384
    """Tokens at a time, padding counted."""

    def fetched(self) -> tuple[str, ...]:
        return (self.model,)


class Qwen3Text:
    """Text embedder of the paper."""

    def __init__(self, options: Qwen3TextOptions) -> None:
        self._options = options

    @property
    def identity(self) -> ModelIdentity:
        o = self._options
        cut = f", first {o.dimension}" if o.dimension else ""
        return ModelIdentity(
            o.model, o.revision, digest_of(o.model), f"{o.precision}, {o.max_tokens} tokens{cut}"
        )

    @cached_property
    def dimension(self) -> int:
        o = self._options
        config = checked_kind(o.model, o.revision, "qwen3", ROLE)
        return min(o.dimension or config.hidden_size, int(config.hidden_size))

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        o = self._options
        checked_kind(o.model, o.revision, "qwen3", ROLE)
        tokenizer = pretrained("AutoTokenizer", o.model, o.revision, ROLE, padding_side="left")
        model = on_device("Qwen3Model", o.model, o.revision, o.precision, o.device, ROLE)
        return tokenizer, model

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See :meth:`resources.embedder.TextEmbedder.embed`."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        tokenizer, _ = self._loaded
        distinct = list(dict.fromkeys(texts))
        limits = {"truncation": True, "max_length": self._options.max_tokens}
        encoded = [tokenizer(text, **limits) for text in distinct]
        rows = in_batches(
            batches([len(one["input_ids"]) for one in encoded], self._options.batch_tokens),
            lambda chosen: list(self._rows([encoded[place] for place in chosen])),
            role=ROLE,
            option="batch_tokens",
        )
        row_of = dict(zip(distinct, rows, strict=True))
        return np.stack([row_of[text] for text in texts])

    def _rows(self, encoded: Sequence[Any]) -> NDArray[np.float32]:
        tokenizer, model = self._loaded
        padded = tokenizer.pad(list(encoded), padding=True, return_tensors="pt").to(model.device)
        with vision("torch").inference_mode():
            states = model(
                input_ids=padded["input_ids"], attention_mask=padded["attention_mask"]
            ).last_hidden_state
        return rows_of(states[:, -1], self._options.dimension)
