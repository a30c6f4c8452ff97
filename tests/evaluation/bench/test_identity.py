"""Identity errors are what they say, and a search under a budget feels them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.bench.identity import CONDITIONS, Kitchen, figures, measure, perturbed
from evaluation.benchmarks.hdepic import MOVEMENTS
from evaluation.benchmarks.question import Question

OBJECTS = 12


@given(seed=st.integers(0, 10_000), share=st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_merges_join_whole_objects_and_splits_part_them(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    objects = rng.permutation(np.repeat(np.arange(OBJECTS), 3))
    names = objects // 2
    merged = perturbed(objects, names, "merged", share, rng)
    split = perturbed(objects, names, "split", share, rng)
    for one in range(OBJECTS):
        assert len(set(merged[objects == one])) == 1
    for label in np.unique(split):
        assert len(set(objects[split == label])) == 1
    changed = round(share * OBJECTS)
    assert len(np.unique(split)) == OBJECTS + changed
    assert OBJECTS - changed <= len(np.unique(merged)) <= OBJECTS
    if changed > 0:
        assert len(np.unique(merged)) < OBJECTS
        # Two of one name are joined sooner than strangers.
        for label in np.unique(merged):
            assert len(set(names[merged == label])) == 1


@pytest.fixture(scope="module")
def movements() -> pl.DataFrame:
    """Six bowls that move four times each, in turns, a minute apart."""
    rows = [
        (
            "v",
            f"bowl{n}",
            f"bowl{n}",
            "bowl",
            f"t{n}{k}",
            60.0 * (6 * k + n),
            60.0 * (6 * k + n) + 9,
        )
        for k in range(4)
        for n in range(6)
    ]
    return pl.DataFrame(rows, schema=MOVEMENTS, orient="row").sort("start_s")


def question(movements: pl.DataFrame, name: str) -> Question:
    own = movements.filter(pl.col("object") == name).select("start_s", "end_s")
    start = own["start_s"][1]
    text = f"seen at <TIME 00:{int(start // 60):02d}:{start % 60:06.3f} video 1>"
    return Question(name, text, {}, "", None, recording="v", evidence=tuple(own.iter_rows()))


def test_true_identity_finds_what_names_and_none_cannot(movements: pl.DataFrame) -> None:
    questions = [question(movements, f"bowl{n}") for n in range(6)]
    found = measure(movements, questions, units=5, draws=2)
    assert found["gold"].mean() == 1.0
    assert found["name-keyed"].mean() == 0.0
    assert found["no association"].mean() == 0.0
    lines = {line["identity"]: line for line in figures(found)}
    assert list(lines) == [one.name for one in CONDITIONS]
    assert lines["name-keyed"]["high_minus_gold"] == -1.0
    assert lines["20% merged"]["complete_coverage"] < 1.0
    assert lines["20% split"]["complete_coverage"] < 1.0


def test_a_search_returns_what_it_was_shown_first_and_no_more_than_its_budget(
    movements: pl.DataFrame,
) -> None:
    kitchen = Kitchen.of("v", movements)
    memory = kitchen.memory(np.arange(24) % 6, "full")
    received = kitchen.received(memory, 7, 5)
    assert len(received) == 5
    assert received[0] == (movements["start_s"][7], movements["end_s"][7])
