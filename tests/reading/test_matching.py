"""Ranking by text, time and graph, against the formula written out node by node."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geb_assets.reading.matching import Candidates, match_scores
from geb_assets.reading.settings import Match
from geb_assets.reading.times import When


def written_out(nodes: Candidates, match: Match, now: float, named: list[When]) -> list[float]:
    def share(values: np.ndarray, n: int) -> float:
        best = max(float(v) for v, k in zip(values, nodes.kind, strict=True) if k == nodes.kind[n])
        return max(float(values[n]), 0.0) / best if best > 0 else 0.0

    def own(n: int) -> float:
        return (
            (1 - match.cosine) * share(nodes.lexical, n)
            + match.cosine * share(nodes.cosine, n)
            + match.graph * share(nodes.graph, n)
        )

    found = []
    for n in range(len(nodes.kind)):
        score = own(n)
        if n < nodes.episodes:
            beside = [
                m for m in (n - 1, n + 1)
                if 0 <= m < nodes.episodes and nodes.kind[m] == nodes.kind[n]
            ]  # fmt: skip
            score += match.neighbours * sum(own(m) for m in beside)
            score /= 1 + 2 * match.neighbours
        hours = max(now - float(nodes.end_s[n]), 0.0) / 3600
        score *= 1 + match.recency * math.exp(-hours / match.recency_h)
        middle = (float(nodes.start_s[n]) + float(nodes.end_s[n])) / 2
        if any(when.start_s <= middle <= when.end_s for when in named):
            score *= 1 + match.named_time
        found.append(score)
    return found


@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    match=st.builds(
        Match,
        cosine=st.floats(0, 1),
        graph=st.floats(0, 3),
        neighbours=st.floats(0, 2),
        recency=st.floats(0, 4),
        recency_h=st.floats(0.1, 100),
        named_time=st.floats(0, 3),
    ),
)
def test_scores_are_the_formula(seed: int, match: Match) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 20))
    episodes = int(rng.integers(0, count + 1))
    start = rng.uniform(0, 90_000, count)
    nodes = Candidates(
        episodes=episodes,
        kind=np.concatenate(
            [np.sort(rng.integers(2, 6, episodes)), np.zeros(count - episodes)]
        ).astype(np.int8),
        start_s=start,
        end_s=start + rng.uniform(0, 600, count),
        lexical=rng.choice([0.0, 1.0, 2.5, 7.0], count),
        cosine=rng.uniform(-0.5, 1.0, count),
        graph=rng.uniform(0.0, 0.01, count),
    )
    named = [When(10_000.0, 30_000.0), When(50_000.0, 60_000.0)][: int(rng.integers(0, 3))]
    found = match_scores(nodes, match, now=80_000.0, named=named)
    assert found == pytest.approx(written_out(nodes, match, 80_000.0, named))
