"""How many units a variant may return so that it receives as much as the full system (spec 9.43).

    python -m evaluation.bench.budget BENCHMARK --variant appended --set

The benchmark's own questions are searched once each, with more and fewer units, until the mean
number of words that come back is nearest to what the full system gets; frames stand beside them.
With --set the number is written into benchmarks.toml, and the variant's next run has it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from evaluation.assets.predictions import questions_of, recording_of
from evaluation.benchmarks.question import Question
from geb_assets import benchmarks
from geb_assets.benchmarks import FULL, Benchmark
from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.parameters import effective
from geb_assets.reading.memory import Memory
from geb_assets.reading.settings import Reading
from geb_assets.reading.variants import variant_of

MOST = 64
"""Most units that are tried."""


def nearest(amount: Callable[[int], float], target: float, *, most: int = MOST) -> int:
    """The count from 1 to ``most`` whose amount, which grows with it, is nearest to the target; the
    smaller of two as near."""
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        if amount(middle) < target:
            low = middle + 1
        else:
            high = middle
    if low > 1 and abs(amount(low - 1) - target) <= abs(amount(low) - target):
        return low - 1
    return low


class Received:
    """What one search of each question brings under a variant."""

    def __init__(
        self, home: Home, benchmark: Benchmark, questions: Sequence[Question], variant: str
    ) -> None:
        registry, profile = home.registry(), home.profile()
        self.memories = {}
        for name in benchmark.recordings:
            overrides = (registry.recording(name).parameters, {"reading": benchmark.reading})
            reading = cast(Reading, effective("reading", profile.parameters, *overrides))
            self.memories[name] = Memory.open(home, name, variant=variant, settings=reading)
        self.asked = [(self.memories[recording_of(benchmark, one)], one) for one in questions]
        self.known: dict[int | None, tuple[float, float]] = {}

    def means(self, units: int | None) -> tuple[float, float]:
        """Mean words and mean clips of a search; None: with the memory's own budget."""
        if units not in self.known:
            words, clips = [], []
            for memory, question in self.asked:
                budget = memory.settings.budget
                if units is not None:
                    budget = budget.model_copy(update={"units": units})
                found = memory.search(question.question, at=question.at, budget=budget)
                words.append(sum(len(unit.text.split()) for unit in found))
                clips.append(sum(unit.kind == "clip" for unit in found))
            self.known[units] = float(np.mean(words)), float(np.mean(clips))
        return self.known[units]


def match(home: Home, name: str, variant: str, limit: int) -> dict[str, Any]:
    """The matched number of units, and what both sides receive with it."""
    if "budget" in variant_of(variant).reading:
        raise GebError(f"variant {variant} has a budget of its own; match another one")
    benchmark = home.benchmarks().benchmark(name)
    questions = questions_of(benchmark)[:limit]
    full = Received(home, benchmark, questions, FULL).means(None)
    own = Received(home, benchmark, questions, variant)
    units = nearest(lambda count: own.means(count)[0], full[0])
    words, clips = own.means(units)
    return {
        "benchmark": name, "variant": variant, "questions": len(questions), "units": units,
        "words": words, "words_full": full[0], "clips": clips, "clips_full": full[1],
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("benchmark")
    parser.add_argument("--variant", default="appended")
    parser.add_argument("--limit", type=int, default=100, help="questions searched")
    parser.add_argument("--set", action="store_true", help="write it into benchmarks.toml")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    home = Home.of_environment()
    try:
        found = match(home, options.benchmark, options.variant, options.limit)
        if options.set:
            known = home.benchmarks().benchmark(options.benchmark)
            units = {**known.units, options.variant: found["units"]}
            benchmarks.put(home.path, options.benchmark, known.model_copy(update={"units": units}))
    except GebError as error:
        sys.exit(f"evaluation.bench.budget: {error}")
    if options.json:
        print(json.dumps(found))
        return
    print(
        f"{found['units']} units for {options.variant}: {found['words']:.0f} words and "
        f"{found['clips']:.1f} clips a search; the full system has {found['words_full']:.0f} and "
        f"{found['clips_full']:.1f}"
    )


if __name__ == "__main__":
    main()
