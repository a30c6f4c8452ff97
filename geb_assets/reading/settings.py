"""How a memory is searched: seeds, PageRank, ranking and budgets (spec 1.4, 1.5, 9.23-9.30)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Quota = Annotated[int, Field(ge=0)] | None
Weight = Annotated[float, Field(ge=0.0)]
Tokens = Literal["unicode", "whitespace"]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Budget(_Value):
    """What one search may return. A quota of None is no quota, 0 is none at all (9.26)."""

    units: Annotated[int, Field(ge=1)] = 16
    observations: Quota = 6
    per_entity: Annotated[int, Field(ge=1)] | None = 3
    """Most observations of one entity; a singleton is an entity of its own."""
    episodes_30sec: Quota = 8
    episodes_3min: Quota = 4
    episodes_10min: Quota = 3
    episodes_1h: Quota = 0
    """1-hour captions route, and are not returned."""
    clips: Quota = None
    back_fill: bool = False
    """Whether units returned before make room for others; else they are dropped after selection,
    so that later rounds bring fewer (9.27)."""


WEEK = Budget()
"""The paper's budget on day- and week-long recordings."""
MULTIHOP = Budget(units=3, observations=1)
"""The paper's budget on MultiHop-EgoQA."""


class SearchSettings(_Value):
    """Everything that a search computes with."""

    text_seeds: Annotated[int, Field(ge=0)] = 5
    """Most seeds by the cosine of text vectors."""
    lexical_seeds: Annotated[int, Field(ge=0)] = 5
    """Most seeds by BM25."""
    visual_seeds: Annotated[int, Field(ge=0)] = 5
    """Most seeds by the cosine of clip vectors."""
    text_weight: Weight = 0.7
    lexical_weight: Weight = 0.3
    visual_weight: Weight = 0.3
    damping: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.85
    tol: Annotated[float, Field(gt=0.0)] = 1e-6
    """L1 residual at which PageRank stops."""
    max_iter: Annotated[int, Field(ge=1)] = 200
    cosine: Literal["shifted", "raw"] = "shifted"
    """PageRank is multiplied by (cosine + 1) / 2, or by the cosine itself (9.24)."""
    textless: Annotated[float, Field(ge=0.0, le=1.0)] = 0.5
    """What it is multiplied by where a node has no text vector, as clips have none."""
    tokens: Tokens = "unicode"
    """Lower-case unicode words, or whatever stands between spaces (parity, 9.28)."""
    k1: Annotated[float, Field(ge=0.0)] = 1.5
    b: Annotated[float, Field(ge=0.0, le=1.0)] = 0.75
    epsilon: Annotated[float, Field(ge=0.0)] = 0.25
    """BM25: a term in more than half of the texts counts this much of the mean weight."""
    budget: Budget = WEEK


DEFAULT = SearchSettings()
