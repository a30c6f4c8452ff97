"""Baselines search otherwise, as of the same time, and share the rest of the memory."""

from __future__ import annotations

import numpy as np
import pytest

from evaluation.baselines import BASELINES
from evaluation.baselines.per_store import CANDIDATES, KEPT_EPISODES
from geb_assets.reading.memory import Memory
from geb_assets.reading.variants import VARIANTS
from tests.reading.synthetic import WordVectors, random_tables

TABLES = random_tables(np.random.default_rng(3))
ASK = "the red cup on the table"


def opened(name: str) -> Memory:
    return Memory.from_tables(TABLES, WordVectors(), variant=VARIANTS[name])


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("at", [None, 95.0])
def test_nothing_later_is_found_and_nothing_twice(name: str, at: float | None) -> None:
    searched = BASELINES[name](opened(name))
    first = searched.search(ASK, at=at)
    assert first
    assert all(unit.end_s <= (at or np.inf) for unit in first)
    again = searched.search(ASK, at=at, exclude={unit.id for unit in first})
    assert not {unit.id for unit in again} & {unit.id for unit in first}


def test_each_store_gives_its_nearest() -> None:
    memory = opened("per_store")
    found = BASELINES["per_store"](memory).search(ASK)
    embed = WordVectors().embed
    (query,) = embed([ASK])
    texts = TABLES["episodes"].select("episode", "scale", "text").rows()
    cosines = {name: float(embed([text])[0] @ query) for name, _, text in texts}
    best: list[str] = []
    for scale, count in CANDIDATES.items():
        own = [name for name, of, _ in texts if of == scale]
        best += sorted(own, key=lambda name: -cosines[name])[:count]
    best.sort(key=lambda name: -cosines[name])
    assert [unit.id for unit in found] == best[:KEPT_EPISODES]


def test_frames_alone_are_spread_over_all_that_was_seen() -> None:
    memory = opened("frames_alone")
    bare = BASELINES["frames_alone"](memory).search(ASK)
    told = BASELINES["frames_and_captions"](memory).search(ASK)
    assert {unit.kind for unit in bare} == {"clip"}
    assert not any(unit.text for unit in bare)
    assert any(unit.text for unit in told)
    assert [unit.id for unit in bare] == [unit.id for unit in told]
    frames_alone = BASELINES["frames_alone"](memory)
    assert frames_alone.read_out(0.0, 1e9, entities=()) == bare
    assert [unit.start_s for unit in bare] == sorted(unit.start_s for unit in bare)
