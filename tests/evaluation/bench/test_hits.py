"""The hit figures against a plain reading of what a tiny memory returns."""

from __future__ import annotations

import numpy as np
import polars as pl

from evaluation.bench.hits import FOLDS, SHORT, Trial, cross_validated
from evaluation.benchmarks.question import Question
from geb_assets.reading.memory import Memory
from geb_assets.reading.settings import SearchSettings
from geb_assets.reading.units import Unit
from tests.reading.synthetic import WordVectors, random_tables, sentence


def asked(number: int, query: str, *evidence: tuple[float, float]) -> Question:
    return Question(str(number), query, {"A": "a cup", "B": "a pan"}, "A", 1500.0, "", "", evidence)


def test_a_hit_is_a_returned_caption_that_overlaps_a_window() -> None:
    rng = np.random.default_rng(3)
    tables = random_tables(rng, clips=50)
    memory = Memory.from_tables(tables, WordVectors(), settings=SearchSettings())
    rows = tables["episodes"].filter(pl.col("scale") == "30sec").sort("start_s")
    spans = rows.select("start_s", "end_s").to_numpy()
    starts = rng.choice(spans[:, 0], 20)
    questions = [
        *(asked(n, sentence(rng), (start + 9.0, start + 9.0)) for n, start in enumerate(starts)),
        *(asked(20 + n, sentence(rng), (start, start + 30.0)) for n, start in enumerate(starts)),
        asked(50, "cup", (2.0, 1400.0)),
        asked(99, "cup"),
    ]
    trial = Trial.of(questions, spans, seed=0)
    assert [one.id for one in trial.questions] == [one.id for one in questions[:-1]]
    assert np.bincount(trial.fold).tolist() == [9, 8, 8, 8, 8]

    def received(question: Question) -> list[Unit]:
        return memory.search(question.question, at=question.at, budget=SHORT)

    # An instant is held by the one caption around it, which a neighbour only touches.
    expected = [
        any(
            unit.start_s < (end if start < end else start + 21.0)
            and unit.end_s > (start if start < end else start - 9.0)
            for unit in received(question)
            for start, end in question.evidence
        )
        for question in questions[:-1]
    ]
    hits = trial.hits(received)
    assert hits.tolist() == expected and 0 < sum(expected) < len(expected)
    figures = trial.figures(hits)
    assert figures["all"] == sum(expected) / 41
    narrow = [hit for one, hit in zip(questions, expected, strict=False) if one.id != "50"]
    assert figures["without 50, 249, 250, 279"] == sum(narrow) / 40
    assert sum(figures["folds"]) / FOLDS == np.mean(
        [np.mean(np.array(expected)[trial.fold == fold]) for fold in range(FOLDS)]
    )


def test_a_setting_is_chosen_on_the_other_folds() -> None:
    questions = [asked(n, "cup", (0.0, 9.0)) for n in range(25)]
    trial = Trial.of(questions, np.zeros((0, 2)), seed=1)
    lucky = (trial.fold == 0).astype(float)
    steady = (np.arange(25) % 4 == 0).astype(float)
    found = cross_validated(trial, {"lucky": lucky, "steady": steady})
    own = [
        "lucky"
        if lucky[trial.fold != fold].mean() >= steady[trial.fold != fold].mean()
        else "steady"
        for fold in range(FOLDS)
    ]
    assert found["chosen"] == own and own[0] == "steady"
    taken = np.where([own[fold] == "lucky" for fold in trial.fold], lucky, steady)
    assert found["all"] == taken.mean()
