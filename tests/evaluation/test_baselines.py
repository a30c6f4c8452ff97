"""Baselines search otherwise, as of the same time, and share the rest of the memory."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.baselines import BASELINES
from evaluation.baselines.per_store import CANDIDATES, KEPT_EPISODES
from geb_assets.reading.asking import ask
from geb_assets.reading.evidence import Evidence
from geb_assets.reading.memory import Memory
from geb_assets.reading.record import Record
from geb_assets.reading.settings import Match, Reading
from geb_assets.reading.variants import VARIANTS
from tests.reading.synthetic import (
    WordVectors,
    before,
    random_tables,
    sentence,
    with_frames,
    with_triples,
)
from tests.reading.test_asking import Echo, Plan
from tests.reading.test_memory import same

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


def received(
    tables: dict[str, pl.DataFrame], name: str, queries: list[str], at: float, match: bool
) -> tuple[Record, Evidence]:
    """What a question asked at a time is led by, and what its answer rests on."""
    reading = Reading(ranking="match" if match else "pagerank", match=Match())
    read = VARIANTS[name].settings(reading)
    memory = Memory.from_tables(
        tables,
        WordVectors(),
        variant=name,
        settings=read,  # type: ignore[arg-type]
        visual_encoder=WordVectors(16),
    )
    searched = BASELINES[name](memory) if name in BASELINES else memory
    echo = Echo()
    record = ask(
        searched, queries[0], at=at, controller=Plan(queries), answerer=echo, settings=read
    )
    return record, echo.given[0]


@settings(deadline=None, max_examples=8)
@given(
    seed=st.integers(0, 2**32 - 1),
    share=st.floats(0.02, 1.1),
    told=st.booleans(),
    match=st.booleans(),
)
@pytest.mark.parametrize(
    "name", ["captions_only", "name_graph", "name_graph_6", "per_store", "frames_alone",
             "frames_and_captions"]
)  # fmt: skip
def test_a_question_receives_what_a_memory_cut_at_its_time_would_give(
    name: str, seed: int, share: float, told: bool, match: bool
) -> None:
    rng = np.random.default_rng(seed)
    # More clips than are ever shown.
    tables = with_frames(random_tables(rng, clips=80, per_clip=1, visual=True))
    if told:
        tables = with_triples(tables, rng)
    # Also exactly a moment at which something becomes visible.
    for at in (share * 2400.0, float(rng.choice(tables["graph_nodes"]["visible_from"]))):
        early = max(0, int(at) - 100)
        named = f"between 00:{early // 60:02d}:00 and 00:{early // 60 + 5:02d}:00"
        queries = [sentence(rng), f"What was there {named}?", sentence(rng)]
        # Where a question is searched for once, that may be by its time.
        rng.shuffle(queries)
        (record, shown), (again, expected) = (
            received(some, name, queries, at, match) for some in (tables, before(tables, at))
        )
        assert [(one.decision, one.query, one.read_out) for one in record.rounds] == [
            (one.decision, one.query, one.read_out) for one in again.rounds
        ]
        same(list(shown.units), list(expected.units))
        assert (shown.excerpts, shown.notes) == (expected.excerpts, expected.notes)
        assert shown.facts == expected.facts
        assert [(one.clip, one.time_s, one.jpeg) for one in shown.frames] == [
            (one.clip, one.time_s, one.jpeg) for one in expected.frames
        ]
