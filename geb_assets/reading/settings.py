"""How a memory is read: seeds, PageRank, ranking and budgets of one search (spec 1.4, 1.5,
9.23-9.30), and the rounds of one question."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from geb_assets.section import Section

Quota = Annotated[int, Field(ge=0)] | None
Weight = Annotated[float, Field(ge=0.0)]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Tokens = Literal["unicode", "whitespace", "stems"]


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
    triples: Quota = 5
    """Of the baselines that have them (spec 1.5)."""
    back_fill: bool = False
    """Whether units returned before make room for others; else they are dropped after selection,
    so that later rounds bring fewer (9.27)."""


WEEK = Budget()
"""The paper's budget on day- and week-long recordings."""
MULTIHOP = Budget(units=3, observations=1)
"""The paper's budget on MultiHop-EgoQA."""


class Match(_Value):
    """How nodes are ranked by their own text and time, with the graph beside it.

    Not in the paper. A node scores (1 - c) BM25 + c cosine + g PageRank x cosine, each as a share
    of the best among nodes of its kind; an episode takes in what its neighbours in time score; and
    the sum is raised for what was recent, and for what lies in a time that the query names.
    """

    cosine: Share = 0.4
    """c: what the text cosine counts; BM25 has the rest."""
    graph: Weight = 0.3
    """g: what the graph's score counts beside them."""
    neighbours: Weight = 0.4
    """What each of the two episodes of the same scale next in time counts to an episode."""
    recency: Weight = 1.5
    """How much more what was just seen counts than what is long past."""
    recency_h: Annotated[float, Field(gt=0.0)] = 24.0
    """Hours in which that falls to 1/e of itself."""
    named_time: Weight = 1.0
    """How much more a time counts that the query names ("yesterday afternoon")."""
    depth: Annotated[int, Field(ge=1)] = 64
    """Observations scored: the best so many of each channel and of the graph. Episodes and clips
    are scored one and all."""


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
    """Lower-case unicode words, whatever stands between spaces (parity, 9.28), or the stems of
    the words that carry meaning."""
    k1: Annotated[float, Field(ge=0.0)] = 1.5
    b: Annotated[float, Field(ge=0.0, le=1.0)] = 0.75
    epsilon: Annotated[float, Field(ge=0.0)] = 0.25
    """BM25: a term in more than half of the texts counts this much of the mean weight."""
    ranking: Literal["pagerank", "match"] = "pagerank"
    """By PageRank x cosine alone, as in the paper, or as ``match`` says."""
    match: Match = Match()
    budget: Budget = WEEK


class ChainSettings(_Value):
    """Effective constants of the released evaluations on week-long memories (spec 3.3)."""

    topics: Annotated[int, Field(ge=0)] = 3
    """Most topic chains a search brings."""
    events: Annotated[int, Field(ge=0)] = 1
    """Most event chains a search brings."""
    min_hits: Annotated[int, Field(ge=1)] = 1
    """Returned 30-second captions that have to name a topic; 1 step hit is enough for an event."""
    similarity: Annotated[float, Field(ge=-1, le=1)] = 0.7
    """Cosine from which a chain that the question does not name fills a free place."""
    covered_s: Annotated[float, Field(ge=0)] = 60.0
    """Facts within this distance of a returned episode say nothing new, s."""


class AskSettings(_Value):
    """How long a question may search, and what it may carry (spec 0, 9.32)."""

    rounds: Annotated[int, Field(ge=1)] = 5
    """Most searches."""
    empty_rounds: Annotated[int, Field(ge=1)] = 2
    """Searches in a row without anything new that end the search."""
    frames: Annotated[int, Field(ge=0)] = 64
    """Most frames handed to the answerer."""
    frames_per_clip: Annotated[int, Field(ge=1)] = 16
    readout_units: Annotated[int, Field(ge=1)] = 16
    """Most units that a readout returns; a search has the memory's own budget."""
    short_episodes: Annotated[int, Field(ge=1)] | None = None
    """Most 30-second captions received over all rounds; None: as many as come."""
    chains: ChainSettings | None = ChainSettings()
    """None: no chain facts (spec 9.34)."""
    also_seen: bool = True
    """False is the ablation without references."""
    identity_notes: bool = True
    biographies: bool = True
    """Whether what was seen of an entity is shown; without, its observations only route."""


class Reading(SearchSettings, AskSettings, Section):
    """Everything that reading a memory computes with: one search's settings and one question's."""

    asset = "predictions"


DEFAULT = SearchSettings()
"""The paper's search."""
