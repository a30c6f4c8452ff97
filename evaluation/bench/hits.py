"""How often a search reaches what EgoLifeQA marks as evidence, and what answering gains from it.

    python -m evaluation.bench.hits --questions FILE --recording week --json

The recording is A1's week as captions, built. Every figure comes by five folds (seeded), overall,
and without the four questions whose windows span hours. One search and the embedded controller's
full run are measured with 30-second captions alone and under the paper's quotas; ablations change
one setting each; the cross-validated figure takes, fold by fold, the setting that was best on the
other four. The paper's captions and units are others: its figures are an orientation.
"""

from __future__ import annotations

import argparse
import json
import string
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evaluation.benchmarks import egolifeqa
from evaluation.benchmarks.question import Question
from evaluation.bootstrap import one_sample, paired
from evaluation.metrics.evidence import FINEST, evidence_hit, received_spans
from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.reading.answerer.embedded import EmbeddedAnswerer
from geb_assets.reading.asking import ask, replay
from geb_assets.reading.controller.embedded import EmbeddedController
from geb_assets.reading.memory import Encoder, Memory
from geb_assets.reading.record import Record
from geb_assets.reading.settings import DEFAULT, WEEK, AskSettings, Budget, SearchSettings
from geb_assets.reading.units import Unit

MEASURES = (
    "episodic retrieval alone: captions of a week whose entities were not built; "
    "the paper's figures are on other captions and units"
)
ORIENTATION = {"MAGIC-Video, evidence hit": 0.376, "the paper's system, evidence hit": 0.589}
SHORT = Budget(
    observations=0, episodes_30sec=None, episodes_3min=0, episodes_10min=0, clips=0, back_fill=True
)
"""Sixteen 30-second captions, and nothing else."""
RECEIVED = 40
"""Most 30-second captions of a question's whole run."""
FOLDS = 5

Hits = NDArray[np.float64]


class _Remembering:
    """An encoder that encodes each text once."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._known: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._encoder.embed(new), strict=True))
        return np.stack([self._known[text] for text in texts])


@dataclass(frozen=True, eq=False)
class Trial:
    """The questions that have a window, and the folds they fall into."""

    questions: Sequence[Question]
    windows: Sequence[Sequence[tuple[float, float]]]
    fold: NDArray[np.int64]

    @classmethod
    def of(cls, questions: Sequence[Question], units: NDArray[np.float64], seed: int) -> Trial:
        found = [(question, egolifeqa.windows(question, units)) for question in questions]
        held = [(question, windows) for question, windows in found if windows]
        order = np.random.default_rng(seed).permutation(len(held))
        fold = np.empty(len(held), np.int64)
        fold[order] = np.arange(len(held)) % FOLDS
        return cls([one for one, _ in held], [windows for _, windows in held], fold)

    def hits(self, received: Callable[[Question], Iterable[Unit]]) -> Hits:
        """1 for each question whose received units reach a window, else 0."""
        return np.array(
            [
                float(evidence_hit(windows, received_spans(list(received(question)), {})))
                for question, windows in zip(self.questions, self.windows, strict=True)
            ]
        )

    def figures(self, hits: Hits) -> dict[str, Any]:
        narrow = np.array([one.id not in egolifeqa.WIDE_WINDOWS for one in self.questions])
        return {
            "all": float(hits.mean()),
            "interval": one_sample(hits),
            "without 50, 249, 250, 279": float(hits[narrow].mean()),
            "folds": [float(hits[self.fold == fold].mean()) for fold in range(FOLDS)],
        }


def ablations(full: SearchSettings) -> Mapping[str, SearchSettings]:
    """The settings of the memory with one thing changed each; by name."""

    def match(**changed: float) -> SearchSettings:
        return full.model_copy(update={"match": full.match.model_copy(update=changed)})

    return {
        "as set": full,
        "without the graph": match(graph=0.0),
        "graph twice as strong": match(graph=2 * full.match.graph),
        "without neighbours in time": match(neighbours=0.0),
        "without recency": match(recency=0.0),
        "recency twice as strong": match(recency=2 * full.match.recency),
        "without named times": match(named_time=0.0),
        "without text cosine": match(cosine=0.0),
        "without BM25": match(cosine=1.0),
        "PageRank x cosine alone": full.model_copy(update={"ranking": "pagerank"}),
        "the paper's ranking and words": DEFAULT,
    }


def cross_validated(trial: Trial, found: Mapping[str, Hits]) -> dict[str, Any]:
    """The figure of a system whose setting is chosen, for each fold, on the other four."""
    chosen: list[str] = []
    hits = np.zeros(len(trial.fold))
    for fold in range(FOLDS):
        own = trial.fold == fold
        name = max(found, key=lambda one: float(found[one][~own].mean()))
        chosen.append(name)
        hits[own] = found[name][own]
    return {**trial.figures(hits), "chosen": chosen}


def run(
    home: Home, recording: str, questions: Sequence[Question], *, seed: int, every: bool
) -> dict[str, Any]:
    """All figures; without ``every`` the ablations are left out."""
    memory = _opened(home, recording, None)
    units = (
        home.store.scan("episodes", recording=recording)
        .filter(pl.col("scale") == FINEST)
        .select("start_s", "end_s")
        .sort("start_s")
        .collect()
        .to_numpy()
    )
    trial = Trial.of(questions, units, seed)
    found: dict[str, Any] = {
        "measures": MEASURES,
        "orientation": ORIENTATION,
        "questions": len(questions),
        "with windows": len(trial.questions),
        "seed": seed,
        "search": {},
    }
    hits: dict[str, Hits] = {}
    own = ablations(memory.settings)
    for name, settings in own.items() if every else (("as set", memory.settings),):
        searched = (
            replace(memory, settings=settings)
            if settings.tokens == memory.settings.tokens
            else _opened(home, recording, settings)
        )
        for quotas, budget in (("16 captions", SHORT), ("paper's quotas", WEEK)):
            started = time.perf_counter()
            label = f"{name}, {quotas}"
            result = trial.hits(_search(searched, budget))
            seconds = (time.perf_counter() - started) / len(result)
            found["search"][label] = {**trial.figures(result), "seconds": seconds}
            if budget is SHORT:
                hits[name] = result
    found["cross_validated, 16 captions"] = cross_validated(trial, hits)
    found["controller"] = {}
    answered: list[Record] = []
    for quotas, budget, most in (
        ("40 captions", SHORT, RECEIVED),
        ("paper's quotas", WEEK, None),
    ):
        records = {one.id: _answered(memory, one, budget, most) for one in questions}
        answered = answered or list(records.values())
        result = trial.hits(_received(records))
        short = [
            sum(unit.scale == FINEST for unit in records[one.id].units) for one in trial.questions
        ]
        found["controller"][quotas] = {
            **trial.figures(result),
            "received": float(np.mean(short)),
            "most received": max(short),
            "searches": float(np.mean([len(one.searches) for one in records.values()])),
            "seconds": float(np.mean([one.seconds for one in records.values()])),
        }
    found["choice"] = _choice(memory, questions, answered)
    return found


def _opened(home: Home, recording: str, settings: SearchSettings | None) -> Memory:
    memory = Memory.open(home, recording, settings=settings)
    return replace(memory, encoder=_Remembering(memory.encoder))


def _search(memory: Memory, budget: Budget) -> Callable[[Question], Iterable[Unit]]:
    return lambda one: memory.search(_with_choices(one), at=one.at, budget=budget)


def _received(records: Mapping[str, Record]) -> Callable[[Question], Iterable[Unit]]:
    return lambda one: records[one.id].units


def _with_choices(question: Question) -> str:
    return " ".join((question.question, *question.choices.values()))


def _answered(memory: Memory, question: Question, budget: Budget, most: int | None) -> Record:
    return ask(
        memory,
        question.question,
        at=question.at,
        choices=list(question.choices.values()),
        controller=EmbeddedController(),
        answerer=EmbeddedAnswerer(),
        settings=AskSettings(short_episodes=most),
        budget=budget,
    )


def _choice(
    memory: Memory, questions: Sequence[Question], records: Sequence[Record]
) -> dict[str, Any]:
    """Multiple choice by the embedded answerer with what was received, and with nothing."""
    blind = [
        replay(memory, record.model_copy(update={"rounds": ()}), answerer=EmbeddedAnswerer())
        for record in records
    ]
    seeing, unseeing = (
        np.array([_right(*pair) for pair in zip(questions, of, strict=True)])
        for of in (records, blind)
    )
    return {
        "with units": float(seeing.mean()),
        "without units": float(unseeing.mean()),
        "gain, 95 % interval": paired(seeing, unseeing),
        "decided": float(np.mean([record.decided for record in records])),
        "seconds a question": float(np.mean([record.seconds for record in records])),
    }


def _right(question: Question, record: Record) -> float:
    places = dict(zip(string.ascii_uppercase, question.choices, strict=False))
    chosen = places.get(record.choice or "")
    return float(egolifeqa.correct(question, chosen))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Evidence hits and choices on EgoLife's week.")
    parser.add_argument("--questions", type=Path, required=True, help="an EgoLifeQA file")
    parser.add_argument("--recording", default="week", help="the built week")
    parser.add_argument("--seed", type=int, default=0, help="of the folds")
    parser.add_argument("--ablations", action="store_true", help="change one setting each, too")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    chosen = parser.parse_args(arguments)
    try:
        found = run(
            Home.of_environment(),
            chosen.recording,
            egolifeqa.load(chosen.questions),
            seed=chosen.seed,
            every=chosen.ablations,
        )
    except GebError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(found) if chosen.json else json.dumps(found, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
