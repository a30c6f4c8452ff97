from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geb_assets.errors import GebError
from geb_assets.reading.memory import Memory
from geb_assets.reading.settings import MULTIHOP, Budget, Match, SearchSettings
from geb_assets.reading.units import Unit
from tests.reading.synthetic import WORDS, WordVectors, before, random_tables, sentence


def same(found: list[Unit], expected: list[Unit]) -> None:
    assert [(u.kind, u.id, u.text, u.entity, u.scale, u.start_s, u.end_s) for u in found] == [
        (u.kind, u.id, u.text, u.entity, u.scale, u.start_s, u.end_s) for u in expected
    ]
    assert [u.score for u in found] == pytest.approx([u.score for u in expected], abs=2e-12)


VARIANTS = [
    None,
    "no_association",
    "name_keyed",
    "no_same_instance_edges",
    "no_timeline_edges",
]


@settings(deadline=None, max_examples=24)
@given(
    seed=st.integers(0, 2**32 - 1),
    times=st.lists(st.integers(0, 420), min_size=2, max_size=4),
    variant=st.sampled_from(VARIANTS),
    tokens=st.sampled_from(["unicode", "whitespace", "stems"]),
    match=st.sampled_from([None, Match(), Match(depth=3, cosine=0.9, graph=2.0)]),
)
def test_a_search_at_a_time_is_a_search_of_what_was_there(
    seed: int, times: list[int], variant: str | None, tokens: str, match: Match | None
) -> None:
    rng = np.random.default_rng(seed)
    tables = random_tables(rng, visual=bool(seed % 2))
    options = {
        "encoder": WordVectors(),
        "visual_encoder": WordVectors(16),
        "variant": variant,
        "settings": SearchSettings(
            tokens=tokens,
            ranking="pagerank" if match is None else "match",
            match=match or Match(),
        ),
    }
    memory = Memory.from_tables(tables, **options)
    # Also exactly the moments at which something becomes visible.
    instants = [*times, *rng.choice(tables["graph_nodes"]["visible_from"].to_numpy(), 2)]
    for at in instants:
        query = sentence(rng)
        rebuilt = Memory.from_tables(before(tables, at), **options)
        same(memory.search(query, at=at), rebuilt.search(query))
        entities = tables["memberships"]["entity"].unique().sort().to_list()
        assert memory.appearances(entities, at=at).equals(rebuilt.appearances(entities))
        assert memory.separated(entities, at=at) == rebuilt.separated(entities)
        assert memory.cast_names(entities, at=at) == rebuilt.cast_names(entities)
        assert memory.chains(at=at).equals(rebuilt.chains())
        window = sorted(rng.uniform(0, 360, 2))
        same(
            memory.read_out(*window, at=at, entities=entities[:3]),
            rebuilt.read_out(*window, entities=entities[:3]),
        )
        same(
            memory.read_out(window[0], window[0], at=at, entities=()),
            rebuilt.read_out(window[0], window[0], entities=()),
        )


def test_lenient_context_shows_a_description_with_its_encounter() -> None:
    tables = random_tables(np.random.default_rng(2))
    strict = Memory.from_tables(tables, WordVectors())
    lenient = Memory.from_tables(tables, WordVectors(), variant="lenient_context")
    rows = tables["descriptions"].filter(
        (pl.col("status") == "ok") & (pl.col("visible_from") > pl.col("end_s"))
    )
    one = rows.row(0, named=True)
    entity = tables["memberships"].filter(pl.col("observation") == one["observation"])["entity"][0]

    def told(memory: Memory, at: float) -> str | None:
        seen = memory.appearances([entity], at=at)
        return seen.filter(pl.col("observation") == one["observation"])["summary"].item()

    assert told(strict, one["end_s"]) is None
    assert told(strict, one["visible_from"]) == one["summary"]
    assert told(lenient, one["end_s"]) == one["summary"]


def test_before_its_description_an_observation_is_its_label() -> None:
    tables = random_tables(np.random.default_rng(2), clips=2)
    late = tables["descriptions"].with_columns(visible_from=pl.col("end_s") + 1000.0)
    late = late.with_columns(status=pl.lit("ok"), summary=pl.lit("zebra"))
    memory = Memory.from_tables({**tables, "descriptions": late}, WordVectors())
    assert not memory.index.lexical.scores("zebra", 500.0)[0].size
    everything = Budget(units=100, observations=None, per_entity=None)
    units = memory.search("cup", at=500.0, budget=everything)
    labels = dict(tables["observations"].select("observation", "label").iter_rows())
    seen = [unit for unit in units if unit.kind == "observation"]
    assert seen and all(unit.text == labels[unit.id] for unit in seen)
    after = [unit for unit in memory.search("zebra") if unit.kind == "observation"]
    assert after and all(unit.text == "zebra" for unit in after)


def test_a_failed_description_is_never_indexed() -> None:
    tables = random_tables(np.random.default_rng(4))
    broken = tables["descriptions"].with_columns(
        status=pl.lit("failed"), summary=pl.lit("Error generating caption"),
        object_name=pl.lit("Error"),
    )  # fmt: skip
    memory = Memory.from_tables({**tables, "descriptions": broken}, WordVectors())
    assert not memory.index.lexical.scores("error generating caption", np.inf)[0].size
    assert not any("Error" in unit.text for unit in memory.search("error cup"))


def test_threads_share_a_memory() -> None:
    rng = np.random.default_rng(7)
    memory = Memory.from_tables(random_tables(rng), WordVectors())
    asked = [(sentence(rng), float(rng.uniform(0, 400))) for _ in range(24)]
    alone = [memory.search(query, at=at) for query, at in asked]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda pair: memory.search(pair[0], at=pair[1]), asked))
    assert together == alone


def test_what_was_returned_before_is_dropped_after_selection_or_makes_room() -> None:
    memory = Memory.from_tables(random_tables(np.random.default_rng(8)), WordVectors())
    first = memory.search("red cup")
    known = [unit.id for unit in first[:10]]
    again = memory.search("red cup", exclude=known)
    assert again == first[10:]
    filled = memory.search("red cup", exclude=known, budget=Budget(back_fill=True))
    assert len(filled) > len(again) and not {unit.id for unit in filled} & set(known)
    assert memory.search("red cup", exclude=[*known, "no such id"]) == again


def test_budgets() -> None:
    memory = Memory.from_tables(random_tables(np.random.default_rng(9)), WordVectors())
    units = memory.search("red cup on the table")
    entities = [unit.entity for unit in units if unit.kind == "observation"]
    assert len(units) == 16 and 0 < len(entities) <= 6
    assert max(entities.count(entity) for entity in entities) <= 3
    assert not any(unit.scale == "1h" for unit in units)
    small = memory.search("red cup on the table", budget=MULTIHOP)
    assert len(small) == 3 and sum(unit.kind == "observation" for unit in small) <= 1
    only = Budget(observations=0, episodes_30sec=None, episodes_3min=0, episodes_10min=0, clips=0)
    assert {unit.scale for unit in memory.search("cup", budget=only)} == {"30sec"}


def test_absent_channels_are_said_and_the_others_share() -> None:
    tables = random_tables(np.random.default_rng(10), visual=True)
    full = Memory.from_tables(tables, WordVectors(), visual_encoder=WordVectors(16))
    assert full.absent == () and len(full.matches("cup")) == 3
    deaf = Memory.from_tables(tables, WordVectors())
    assert "visual" in deaf.absent[0] and deaf.seeds("cup").sum() == pytest.approx(1)
    bare = {name: rows for name, rows in tables.items() if "embeddings" not in name}
    assert len(Memory.from_tables(bare, WordVectors()).absent) == 1
    blind = Memory.from_tables(bare, WordVectors(), visual_encoder=WordVectors(16))
    assert len(blind.absent) == 2 and "no clip vectors" in blind.absent[1]
    assert [m.channel for m in blind.matches("cup")] == ["lexical"]
    assert blind.search("cup")


def test_odd_queries() -> None:
    memory = Memory.from_tables(random_tables(np.random.default_rng(11)), WordVectors())
    for query in ("", "谁拿走了杯子", "x" * 50_000, "!?", '"); DROP TABLE', "cup " * 3000):
        assert len(memory.search(query)) <= 16
    assert memory.search("cup", at=-1.0) == []
    assert memory.search("cup", at=0.0) == []


def test_nothing_at_all() -> None:
    memory = Memory.from_tables({}, WordVectors())
    assert memory.search("cup") == [] and memory.span == (0.0, 0.0)
    assert memory.read_out(0, 10, entities=["nobody"]) == []
    assert memory.appearances(["nobody"]).is_empty() and memory.separated(["nobody"]) == set()


def test_a_clip_has_the_caption_of_its_episode_once_that_is_visible() -> None:
    tables = random_tables(np.random.default_rng(12))
    memory = Memory.from_tables(tables, WordVectors())
    captions = tables["episodes"].filter(pl.col("scale") == "30sec")
    for start, text, told in captions.select("start_s", "text", "visible_from").iter_rows():
        units = memory.read_out(start, start + 30, at=told, entities=())
        assert [unit.text for unit in units if unit.kind == "clip"] == [text]
        if told > start + 30:
            units = memory.read_out(start, start + 30, at=start + 30, entities=())
            assert [unit.text for unit in units if unit.kind == "clip"] == [""]


def test_a_query_of_another_model_is_refused() -> None:
    memory = Memory.from_tables(random_tables(np.random.default_rng(13)), WordVectors(7))
    with pytest.raises(GebError, match="24"):
        memory.search("cup")


def test_vectors_of_two_models_are_refused() -> None:
    tables = random_tables(np.random.default_rng(13))
    mixed = tables["episode_embeddings"].with_columns(vector=pl.lit(b"\0<" * 8))
    with pytest.raises(GebError, match="different lengths"):
        Memory.from_tables({**tables, "episode_embeddings": mixed}, WordVectors())


def test_unknown_variant() -> None:
    with pytest.raises(GebError, match="no variant 'x'"):
        Memory.from_tables({}, WordVectors(), variant="x")


def test_words_of_the_vocabulary_are_all_found() -> None:
    tables = random_tables(np.random.default_rng(14), clips=20)
    memory = Memory.from_tables(tables, WordVectors())
    texts = " ".join(tables["episodes"]["text"]).lower().split()
    for word in WORDS:
        found = memory.index.lexical.scores(word, np.inf)[0]
        assert len(found) or word.lower() not in texts
