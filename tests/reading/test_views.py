"""Variants and baselines are views: what each leaves out is gone, and nothing else."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from geb_assets.reading.answerer.embedded import EmbeddedAnswerer
from geb_assets.reading.asking import ask, replay
from geb_assets.reading.controller.embedded import EmbeddedController
from geb_assets.reading.memory import Memory
from geb_assets.reading.rows import plain_rows
from geb_assets.reading.settings import AskSettings, Reading
from geb_assets.reading.text_entities import phrases, text_entities
from geb_assets.reading.variants import VARIANTS, appended
from tests.reading.synthetic import WordVectors, random_tables

TABLES = random_tables(np.random.default_rng(5))
ASK = "the red cup on the table"


def opened(variant: str) -> Memory:
    return Memory.from_tables(TABLES, WordVectors(), variant=variant)


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_is_searched_and_asked(variant: str) -> None:
    memory = opened(variant)
    found = memory.search(ASK)
    assert found
    settings = VARIANTS[variant].settings(Reading())
    record = ask(memory, ASK, controller=EmbeddedController(), answerer=EmbeddedAnswerer(),
                 settings=settings)  # fmt: skip
    assert record.units


@pytest.mark.parametrize("variant", ["captions_only", "name_graph", "appended"])
def test_without_observations_only_captions_and_clips_are_returned(variant: str) -> None:
    assert {unit.kind for unit in opened(variant).search(ASK)} <= {"episode", "clip"}


def test_captions_name_their_things_by_form() -> None:
    text = "I put the red cup on a wooden table. Lucia and my friend Shure wash it, then the cups."
    assert phrases(text) == {"red cup", "wooden tabl", "friend shure wash", "cup"}
    assert phrases("") == set()
    assert phrases("Then Lucia left with Katrina.") == {"lucia leav", "katrina"}


def test_what_two_captions_name_joins_them() -> None:
    frames = plain_rows(TABLES)
    view = text_entities(frames)
    added = view["graph_nodes"].filter(pl.col("type") == "entity")
    short = frames["episodes"].filter(pl.col("scale") == "30sec")
    spoken = {row["episode"]: phrases(row["text"]) for row in short.iter_rows(named=True)}
    counts: dict[str, int] = {}
    for named in spoken.values():
        for phrase in named:
            counts[phrase] = counts.get(phrase, 0) + 1
    assert set(added["id"]) == {f"text/{p}" for p, n in counts.items() if n >= 2}
    ids = dict(view["graph_nodes"].select("node", "id").iter_rows())
    before = frames["graph_edges"].height
    joined = {(ids[a], ids[b]) for a, b, w in view["graph_edges"].select("a", "b", "weight")
              .iter_rows() if ids[b].startswith("text/") and w == 1.0}  # fmt: skip
    assert joined == {
        (episode, f"text/{p}") for episode, named in spoken.items() for p in named if counts[p] >= 2
    }
    assert before > 0


def test_a_named_thing_is_there_once_two_captions_are() -> None:
    frames = plain_rows(TABLES)
    view = text_entities(frames)
    told: dict[str, list[float]] = {}
    seen = dict(frames["graph_nodes"].select("id", "visible_from").iter_rows())
    for row in frames["episodes"].filter(pl.col("scale") == "30sec").iter_rows(named=True):
        for phrase in phrases(row["text"]):
            told.setdefault(f"text/{phrase}", []).append(seen[row["episode"]])
    added = view["graph_nodes"].filter(pl.col("type") == "entity")
    known = dict(added.select("id", "visible_from").iter_rows())
    assert known == {one: sorted(told[one])[1] for one in known}
    ids = dict(view["graph_nodes"].select("node", "id").iter_rows())
    for b, at in view["graph_edges"].select("b", "visible_from").iter_rows():
        if ids[b] in known:
            assert at >= known[ids[b]]


def test_descriptions_stand_behind_the_caption_of_their_time_once_they_are_known() -> None:
    frames = plain_rows(TABLES)
    view = appended(frames)
    nodes = dict(frames["graph_nodes"].select("node", "id").iter_rows())
    kinds = dict(frames["graph_nodes"].select("node", "type").iter_rows())
    told = {
        row["observation"]: row
        for row in frames["descriptions"].filter(pl.col("status") == "ok").iter_rows(named=True)
    }
    expected: dict[str, list[dict[str, object]]] = {}
    for a, b in (
        frames["graph_edges"]
        .filter(pl.col("type") == "episode_context")
        .select("a", "b")
        .iter_rows()
    ):
        one, other = (a, b) if kinds[a] == "episode" else (b, a)
        if nodes[other] in told:
            expected.setdefault(nodes[one], []).append(told[nodes[other]])
    was = dict(frames["episodes"].select("episode", "text").iter_rows())
    known = dict(frames["graph_nodes"].select("id", "visible_from").iter_rows())
    now = dict(view["graph_nodes"].select("id", "visible_from").iter_rows())
    assert expected
    for episode, text in view["episodes"].select("episode", "text").iter_rows():
        own = expected.get(episode, [])
        assert text.startswith(was[episode])
        for row in own:
            assert row["summary"] in text
        assert now[episode] == max([known[episode], *(row["visible_from"] for row in own)])


def test_appended_captions_are_embedded_as_they_are_read() -> None:
    memory, plain = opened("appended"), opened("captions_only")
    assert memory.index.text is not None
    assert plain.index.text is not None
    assert len(memory.index.text.place) == len(plain.index.text.place)
    text = next(unit.text for unit in memory.search(ASK) if unit.scale == "30sec")
    (vector,) = WordVectors().embed([text])
    (row,), (cosine,) = memory.index.text.top(vector, 1, np.inf)
    assert cosine > 0.999
    place = int(memory.index.text.place[row])
    assert memory.index.nodes.texts[int(memory.index.nodes.text_at(place, np.inf))] == text


def test_without_biographies_nothing_of_them_is_shown_and_the_searches_may_stay() -> None:
    memory = opened("full")
    seen: list[object] = []

    class Watching(EmbeddedAnswerer):
        def answer(self, question, evidence):  # type: ignore[no-untyped-def]
            seen.append(evidence)
            return super().answer(question, evidence)

    record = ask(memory, ASK, controller=EmbeddedController(), answerer=Watching())
    full = seen.pop()
    assert full.excerpts  # type: ignore[attr-defined]
    variant = VARIANTS["no_biographies_answer"]
    assert variant.settings(AskSettings()) == AskSettings()
    again = replay(
        memory, record, answerer=Watching(), settings=variant.answers_with(AskSettings())
    )
    less = seen.pop()
    assert again.rounds == record.rounds
    assert not less.excerpts  # type: ignore[attr-defined]
    assert not less.notes  # type: ignore[attr-defined]
    assert {unit.kind for unit in less.units} <= {"episode", "clip"}  # type: ignore[attr-defined]
