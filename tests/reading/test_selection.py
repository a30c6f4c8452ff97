from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geb_assets.reading import selection
from geb_assets.reading.selection import CATEGORIES, Ranked, quotas, select
from geb_assets.reading.settings import Budget

QUOTA = st.one_of(st.none(), st.integers(0, 5))
BUDGETS = st.builds(
    Budget,
    units=st.integers(1, 16),
    observations=QUOTA,
    per_entity=st.one_of(st.none(), st.integers(1, 3)),
    episodes_30sec=QUOTA,
    episodes_3min=QUOTA,
    episodes_10min=QUOTA,
    episodes_1h=QUOTA,
    clips=QUOTA,
)


def walk(ranked: Ranked, factor: np.ndarray, budget: Budget) -> list[int]:
    """Down the whole ranking, skipping what its quota refuses, until the budget is full."""
    allowed = dict(quotas(budget))
    scores = np.round(ranked.pagerank * factor, 12)
    entities: dict[int, int] = {}
    taken: list[int] = []
    for place in sorted(range(len(scores)), key=lambda n: (-scores[n], ranked.order[n])):
        category = int(ranked.category[place])
        if category < 0 or allowed[category] == 0 or ranked.pagerank[place] <= 0:
            continue
        if CATEGORIES[category] == "observation" and budget.per_entity is not None:
            own = int(ranked.entity[place])
            if entities.get(own, 0) == budget.per_entity:
                continue
            entities[own] = entities.get(own, 0) + 1
        allowed[category] -= 1
        taken.append(place)
        if len(taken) == budget.units:
            break
    return taken


@settings(deadline=None, max_examples=150)
@given(seed=st.integers(0, 2**32 - 1), budget=BUDGETS, considered=st.sampled_from([1, 4, 512]))
def test_selection_is_a_walk_down_the_ranking(seed: int, budget: Budget, considered: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 80))
    # Few distinct values, so that there are ties.
    pagerank = rng.choice([0.0, 1e-3, 2e-3, 4e-3, 0.1, 0.3], count)
    ranked = Ranked(
        pagerank,
        rng.integers(-1, len(CATEGORIES), count).astype(np.int8),
        rng.integers(0, 6, count),
        rng.permutation(count),
    )
    factor = rng.choice([-0.2, 0.3, 0.5, 1.0], count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "_CONSIDERED", considered)
        places, scores = select(ranked, lambda of: factor[of], budget)
    assert places.tolist() == walk(ranked, factor, budget)
    assert scores.tolist() == np.round(pagerank * factor, 12)[places].tolist()


def test_only_what_can_still_be_returned_is_compared_with_the_query() -> None:
    rng = np.random.default_rng(0)
    count = 100_000
    asked: list[int] = []

    def factor(places: np.ndarray) -> np.ndarray:
        asked.append(len(places))
        return np.full(len(places), 0.6)

    ranked = Ranked(
        rng.pareto(1.0, count),
        np.full(count, CATEGORIES.index("30sec"), np.int8),
        np.zeros(count, np.int64),
        np.arange(count),
    )
    places, _ = select(ranked, factor, Budget(episodes_30sec=None))
    assert len(places) == 16 and sum(asked) < 10_000
