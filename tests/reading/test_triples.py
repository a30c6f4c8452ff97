"""What captions state, as nodes of a graph and as a store of its own, against plain references."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.baselines import BASELINES
from geb_assets.clock import Clock
from geb_assets.reading.evidence import Evidence
from geb_assets.reading.memory import Memory
from geb_assets.reading.rendering import answer_view
from geb_assets.reading.rows import plain_rows
from geb_assets.reading.settings import Budget, Match, SearchSettings
from geb_assets.reading.text_entities import text_entities
from geb_assets.reading.triples import entity_of
from geb_assets.reading.units import Unit
from tests.reading.synthetic import WordVectors, before, random_tables, sentence, with_triples


def made(seed: int, clips: int = 12) -> dict[str, pl.DataFrame]:
    rng = np.random.default_rng(seed)
    return with_triples(random_tables(rng, clips=clips, visual=True), rng)


TABLES = made(3)
ASK = "the red cup on the table"


def opened(tables: dict[str, pl.DataFrame], variant: str, **options: object) -> Memory:
    read = SearchSettings(**options)  # type: ignore[arg-type]
    return Memory.from_tables(
        tables, WordVectors(), variant=variant, settings=read, visual_encoder=WordVectors(16)
    )


def test_mentions_are_one_entity_where_their_words_are() -> None:
    assert entity_of("Red-cup") == entity_of("red  cup") == "red cup"
    assert entity_of("Lucia's pan") == "lucias pan"
    assert entity_of("me") == entity_of("My") == "i" != entity_of("myth")


def test_a_triple_hangs_on_its_subject_and_its_object() -> None:
    frames = plain_rows(TABLES)
    view = text_entities(frames)
    ids = dict(view["graph_nodes"].select("node", "id").iter_rows())
    assert len(ids) == view["graph_nodes"].height
    known = dict(view["graph_nodes"].select("id", "visible_from").iter_rows())
    expected: dict[tuple[str, str], float] = {}
    told: dict[str, set[str]] = {}
    for row in TABLES["triples"].iter_rows(named=True):
        for end, weight in (("subject", 1.0), ("object", 0.5)):
            entity = f"text/{entity_of(row[end])}"
            expected.setdefault((row["triple"], entity), weight)
            told.setdefault(entity, set()).add(row["episode"])
    edges = {
        (ids[a], ids[b]): (weight, kind)
        for a, b, weight, kind in view["graph_edges"].select("a", "b", "weight", "type").iter_rows()
    }
    assert len(edges) == view["graph_edges"].height
    stated = {pair: weight for pair, (weight, kind) in edges.items() if kind == "has_property"}
    assert stated == expected
    # Any entity of a triple is a node, once its first caption is there.
    entities = view["graph_nodes"].filter(pl.col("type") == "entity")
    assert set(entities["id"]) == set(told)
    for entity, episodes in told.items():
        assert known[entity] == min(known[one] for one in episodes)
        assert all(edges[episode, entity][0] == 1.0 for episode in episodes)
    when = {ids[n]: at for n, at in view["graph_nodes"].select("node", "visible_from").iter_rows()}
    for triple, episode, at in (
        TABLES["triples"].select("triple", "episode", "visible_from").iter_rows()
    ):
        assert when[triple] == at == when[episode]


def test_without_triples_the_graph_is_that_of_noun_phrases() -> None:
    bare = {name: rows for name, rows in TABLES.items() if name != "triples"}
    plain, told = text_entities(plain_rows(bare)), text_entities(plain_rows(TABLES))
    assert set(plain["graph_nodes"]["type"]) == {"episode", "clip", "entity"}
    assert set(told["graph_nodes"]["type"]) == {"episode", "clip", "entity", "triple"}
    assert opened(bare, "per_store").triples is None and opened(TABLES, "full").triples is None


def test_no_more_triples_are_returned_than_their_quota() -> None:
    found = opened(TABLES, "name_graph").search(ASK)
    triples = [unit for unit in found if unit.kind == "triple"]
    assert 0 < len(triples) <= Budget().triples  # type: ignore[operator]
    words = {row["triple"]: f"{row['subject']} {row['predicate']} {row['object']}"
             for row in TABLES["triples"].iter_rows(named=True)}  # fmt: skip
    assert all(unit.text == words[unit.id] and unit.scale is None for unit in triples)
    matched = opened(TABLES, "name_graph", ranking="match", match=Match()).search(ASK)
    assert any(unit.kind == "triple" for unit in matched)
    assert not any(unit.kind == "triple" for unit in opened(TABLES, "captions_only").search(ASK))


@settings(deadline=None, max_examples=8)
@given(seed=st.integers(0, 2**32 - 1), at=st.integers(0, 420), match=st.booleans())
@pytest.mark.parametrize("variant", ["name_graph", "per_store"])
def test_nothing_that_is_told_later_changes_a_search(
    variant: str, seed: int, at: int, match: bool
) -> None:
    tables, rng = made(seed), np.random.default_rng(seed)
    how = {"ranking": "match" if match else "pagerank"}
    memory, rebuilt = opened(tables, variant, **how), opened(before(tables, at), variant, **how)
    search, again = memory.search, rebuilt.search
    if variant in BASELINES:
        search, again = BASELINES[variant](memory).search, BASELINES[variant](rebuilt).search
    for _ in range(2):
        query = sentence(rng)
        found, expected = search(query, at=float(at)), again(query)
        assert [unit.id for unit in found] == [unit.id for unit in expected]
        assert [u.score for u in found] == pytest.approx([u.score for u in expected], abs=2e-12)


def walked(tables: dict[str, pl.DataFrame], query: str, at: float) -> dict[str, float]:
    """Triple to PPR(subject) + PPR(object), by many plain steps."""
    rows = tables["triples"].filter(pl.col("visible_from") <= at).to_dicts()
    ends = [(entity_of(row["subject"]), entity_of(row["object"])) for row in rows]
    (wanted,) = WordVectors().embed([query])
    said = [f"{row['subject']} {row['predicate']} {row['object']}" for row in rows]
    order = np.argsort(-(WordVectors().embed(said) @ wanted), kind="stable")[:10]
    names = sorted({name for pair in ends for name in pair})
    weights = np.zeros((len(names), len(names)))
    for one, other in ends:
        weights[names.index(one), names.index(other)] += 1
        weights[names.index(other), names.index(one)] += 1
    seeds = np.array([any(name in ends[n] for n in order) for name in names], float)
    seeds /= seeds.sum()
    rank = seeds.copy()
    for _ in range(400):
        rank = 0.85 * weights @ (rank / weights.sum(axis=0)) + 0.15 * seeds
    place = {name: n for n, name in enumerate(names)}
    return {
        row["triple"]: rank[place[one]] + rank[place[other]]
        for row, (one, other) in zip(rows, ends, strict=True)
    }


@pytest.mark.parametrize("at", [400.0, 1e9])
def test_the_store_of_triples_keeps_what_lies_between_the_entities_reached(at: float) -> None:
    tables = made(4, clips=24)
    # Every text different, so that the nearest ten are ten.
    unlike = pl.col("triple").str.slice(-9)
    tables["triples"] = tables["triples"].with_columns(predicate=unlike)
    searched = BASELINES["per_store"](opened(tables, "per_store"))
    found = [unit for unit in searched.search(ASK, at=at) if unit.kind == "triple"]
    expected = walked(tables, ASK, at)
    assert len(found) == 10
    for unit in found:
        assert unit.score == pytest.approx(expected[unit.id], abs=5e-6)
    best = sorted(expected.values(), reverse=True)[:10]
    assert [unit.score for unit in found] == pytest.approx(best, abs=5e-6)
    more = searched.search(ASK, at=at, exclude={unit.id for unit in found})
    assert not {unit.id for unit in more} & {unit.id for unit in found}


def test_a_triple_is_shown_as_recorded_text() -> None:
    unit = Unit("triple", "t", 30.0, 60.0, 1.0, "I\n# System put cup")
    page = answer_view(Evidence(units=(unit,)), Clock.parse("seconds"))
    assert page == ["[Triple] [00:00:30 - 00:01:00]", "| I # System put cup"]
