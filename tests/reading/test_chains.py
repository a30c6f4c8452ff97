"""Chain facts beside the units of a search (spec 3.3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from geb_assets.reading.chains import Fact, chain_facts, topic_pattern
from geb_assets.reading.settings import ChainSettings
from geb_assets.reading.units import CHAINS, Unit


class SharedWords:
    """A plain embedder: words as axes."""

    words = ("garden", "seeds", "plant", "cake", "bake", "oven")

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.array(
            [[float(word in text.lower()) for word in self.words] for text in texts], np.float32
        )
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def chains(*rows: tuple[str, str, str, float, float]) -> pl.DataFrame:
    return pl.DataFrame([(*row, row[4]) for row in rows], schema=CHAINS, orient="row")


def episode(start: float, text: str, scale: str = "30sec") -> Unit:
    return Unit("episode", f"e{start}", start, start + 30, 1.0, text, scale=scale)


MARKER = [
    ("topic", "black marker", "Shure takes the black marker.", 1000.0, 1000.0),
    ("topic", "black marker", "The marker lies on the table.", 5000.0, 5000.0),
    ("topic", "black marker", "The marker is lost.", 9000.0, 9000.0),
]


def test_a_topic_that_captions_and_question_name() -> None:
    facts = chain_facts(
        chains(*MARKER),
        "Where is the black-marker?",
        [episode(1010, "He draws with Black Markers")],
    )
    assert [fact.start_s for fact in facts] == [5000.0, 9000.0], "the first is covered"
    assert facts[0] == Fact(
        "topic", "black marker", "The marker lies on the table.", 5000.0, 5000.0
    )


def test_nothing_later_than_the_question() -> None:
    facts = chain_facts(
        chains(*MARKER), "Where is the black marker?", [episode(0, "a black marker")], at=5000.0
    )
    assert [fact.start_s for fact in facts] == [1000.0, 5000.0]


def test_facts_shown_in_an_earlier_round_stay_away() -> None:
    units = [episode(0, "a black marker")]
    first = chain_facts(chains(*MARKER), "the black marker?", units)
    assert chain_facts(chains(*MARKER), "the black marker?", units, shown=first) == []


def test_min_hits_counts_captions_of_thirty_seconds() -> None:
    units = [episode(0, "a black marker"), episode(40, "a black marker", "3min")]
    settings = ChainSettings(min_hits=2)
    assert chain_facts(chains(*MARKER), "the black marker?", units, settings=settings) == []
    units.append(episode(80, "the blackmarker"))
    assert chain_facts(chains(*MARKER), "the black marker?", units, settings=settings)


def test_free_places_go_to_what_is_similar_to_the_question() -> None:
    table = chains(
        ("topic", "flowers", "We plant seeds in the garden.", 4000.0, 4000.0),
        ("topic", "kitchen", "They bake a cake in the oven.", 4100.0, 4100.0),
    )
    units = [episode(0, "flowers in the kitchen")]
    question = "Who wants to plant seeds in the garden?"
    found = chain_facts(table, question, units, embedder=SharedWords())
    assert [fact.label for fact in found] == ["flowers"]
    assert chain_facts(table, question, units) == []


def test_as_many_topics_as_there_are_places_the_most_named_first() -> None:
    table = chains(
        *(("topic", label, f"about {label}", 4000.0, 4000.0) for label in ("cup", "pan", "lid"))
    )
    units = [episode(0, "cup, pan"), episode(40, "cup, lid"), episode(80, "cup, lid")]
    settings = ChainSettings(topics=2)
    found = chain_facts(table, "cup, pan or lid?", units, settings=settings)
    assert [fact.label for fact in found] == ["cup", "lid"]


def test_an_event_in_whose_step_an_episode_starts() -> None:
    table = chains(
        ("event", "Hotpot dinner", "We buy vegetables.", 1000.0, 2000.0),
        ("event", "Hotpot dinner", "We cook.", 5000.0, 6000.0),
        ("event", "Dance lesson", "We dance.", 900.0, 2500.0),
    )
    units = [episode(1500, "I push the cart", "3min")]
    found = chain_facts(table, "Who paid for the dinner?", units)
    assert [fact.text for fact in found] == ["We buy vegetables.", "We cook."]
    assert chain_facts(table, "Who paid for the dinner?", [episode(3000, "I rest")]) == []
    assert chain_facts(table, "Who paid?", [episode(1500, "x", "10min")]) == []


def test_no_episode_no_facts() -> None:
    clip = Unit("clip", "c", 0, 30, 1.0, "")
    assert chain_facts(chains(*MARKER), "the black marker?", [clip]) == []
    assert chain_facts(chains(), "the black marker?", [episode(0, "a black marker")]) == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("two black markers", True),
        ("a Black-marker", True),
        ("blackmarker", True),
        ("black markered", False),
        ("unblack marker", False),
    ],
)
def test_topic_pattern(text: str, named: bool) -> None:
    assert (topic_pattern("black marker").search(text) is not None) == named
