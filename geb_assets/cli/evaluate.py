"""``geb evaluate``: a benchmark put to memories, answered, and scored."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evaluation.assets.predictions import questions_of, recording_of, short_episodes
from evaluation.benchmarks.catalogue import KINDS, Rules, rules_of
from evaluation.benchmarks.question import Question, survey
from evaluation.scoring import Score
from evaluation.tables import headline, side_by_side
from geb_assets.benchmarks import FULL, Benchmark, put
from geb_assets.building import Ran, build, made_for
from geb_assets.cli.calls import tell_calls, tell_unused_chat
from geb_assets.cli.output import Output
from geb_assets.errors import GebError
from geb_assets.estimate import estimate
from geb_assets.home import Home
from geb_assets.reading.memory import Memory
from geb_assets.reading.variants import variant_of
from geb_assets.registry import SourceFile
from geb_assets.reloading import reload_location
from geb_assets.stages import STAGES
from resources.video import file_digest

DEMO = "demo"
"""The benchmark that makes its own questions, about recordings of its own."""


def evaluate(
    output: Output,
    name: str,
    *,
    questions: Path | None,
    kind: str | None,
    recordings: Sequence[str],
    variants: Sequence[str],
    runs: int | None,
    limit: int | None,
    parallel: int | None,
) -> dict[str, Any]:
    """Registers the benchmark, answers what is not answered yet, and shows the figures."""
    started = time.monotonic()
    with output.progress() as progress:
        home = replace(Home.of_environment(), progress=progress)
        if name == DEMO and questions is None:
            from evaluation.demo.benchmark import prepare

            questions, kind, recordings, made = prepare(home, output.say)
            variants = variants or made
        benchmark = _registered(
            home, name, questions, kind, recordings, variants, runs, limit, parallel
        )
        asked = questions_of(benchmark)
        for recording in benchmark.recordings:
            Memory.open(home, recording)  # says why where it is stale or not built
        for line in survey(asked, _windows(home, benchmark, asked)).lines():
            output.say(line)
        put(home.path, name, benchmark)
        reload_location(home)
        wanted = [f"{name}/{variant}" for variant in variants or benchmark.variants]
        if FULL in benchmark.variants and f"{name}/{FULL}" not in wanted:
            wanted.insert(0, f"{name}/{FULL}")

        planner = home.planner(STAGES)
        ours = made_for(planner, wanted)
        steps = [s for s in planner.plan(benchmark.recordings) if (s.asset, s.partition) in ours]
        tell_calls(output, estimate(home, planner, steps))
        tell_unused_chat(output, planner.profile)

        def tell(ran: Ran) -> None:
            output.say(f"{ran.asset:<14} {ran.partition:<32} {ran.seconds:7.1f} s")

        built = build(home, recordings=benchmark.recordings, benchmarks=wanted, tell=tell)
    if built.faults:
        raise GebError(built.faults[0])
    scores = {key.partition("/")[2]: scores_of(home, key) for key in wanted}
    for variant, own in scores.items():
        if not own:
            raise GebError(
                f"{name}/{variant} has no scores: what it reads is not built; "
                f"run: geb build {' '.join(benchmark.recordings)}"
            )
    tell_scores(output, scores)
    return {
        "benchmark": name,
        "variant": next(iter(scores)),
        "questions": len(asked),
        "scores": [_plain(one) for one in next(iter(scores.values()))],
        "variants": {variant: [_plain(one) for one in own] for variant, own in scores.items()},
        "seconds": time.monotonic() - started,
    }


def scores_of(home: Home, key: str) -> list[Score]:
    """The figures of a benchmark and variant, in the table's order."""
    benchmark, _, variant = key.partition("/")
    rows = home.store.read("scores", benchmark=benchmark, variant=variant)
    columns = ("metric", "slice", "value", "n", "low", "high", "anchor", "note")
    return [Score(*row) for row in rows.select(columns).iter_rows()]


def tell_scores(output: Output, scores: dict[str, list[Score]]) -> None:
    """The headline figures, a column a variant; the paper's beside them where there is one."""
    lines, notes = side_by_side(scores, headline)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        output.say("  ".join(cells).rstrip())
    for note in notes:
        output.say(f"note: {note}")


def _registered(
    home: Home,
    name: str,
    questions: Path | None,
    kind: str | None,
    recordings: Sequence[str],
    variants: Sequence[str],
    runs: int | None,
    limit: int | None,
    parallel: int | None,
) -> Benchmark:
    """The benchmark as it is asked for, over what was registered before."""
    for variant in variants:
        variant_of(variant)
    before = home.benchmarks().benchmarks.get(name)
    if before is None and questions is None:
        home.benchmarks().benchmark(name)  # says what there is, and how to add one
    if questions is None:
        assert before is not None
        file, rules = before.questions, rules_of(kind or before.kind)
    else:
        file = _file(home, questions)
        rules = rules_of(kind or (before.kind if before else name if name in KINDS else "own"))
    given = list(recordings) or (list(before.recordings) if before else [])
    chosen = given or _recordings(home, rules, Path(file.path))
    for recording in chosen:
        home.registry().recording(recording)
    old = before or Benchmark(kind=rules.kind, questions=file, recordings=tuple(chosen))
    return old.model_copy(
        update={
            "kind": rules.kind,
            "questions": file,
            "recordings": tuple(chosen),
            "variants": tuple(dict.fromkeys((*(old.variants), *variants))),
            "runs": runs or old.runs,
            "limit": old.limit if limit is None else limit or None,
            "parallel": parallel or old.parallel,
            "reading": old.reading if before else dict(rules.reading),
        }
    )


def _file(home: Home, path: Path) -> SourceFile:
    if not path.exists():
        raise GebError(f"{path} does not exist; download the benchmark and give its path")
    stat = path.stat()
    return SourceFile(
        path=str(path.absolute()),
        size=stat.st_size,
        mtime_ns=stat.st_mtime_ns,
        digest=file_digest(path, home.progress),
    )


def _recordings(home: Home, rules: Rules, path: Path) -> list[str]:
    """The recordings that the questions name, or the only one there is."""
    questions: Sequence[Question] = rules.load(path)
    named = list(dict.fromkeys(one.recording for one in questions if one.recording))
    if named:
        return named
    known = list(home.registry().recordings)
    if len(known) != 1:
        raise GebError(
            f"the questions do not say which recording they are about ({', '.join(known) or 'none'}"
            " are here); name it with --recording"
        )
    return known


def _windows(
    home: Home, benchmark: Benchmark, questions: Sequence[Question]
) -> list[list[tuple[float, float]]]:
    """Each question's evidence windows over its recording's 30-second episodes."""
    units = {name: short_episodes(home.store, name) for name in benchmark.recordings}
    rules = rules_of(benchmark.kind)
    return [rules.windows(one, units[recording_of(benchmark, one)]) for one in questions]


def _plain(score: Score) -> dict[str, Any]:
    return {
        "metric": score.metric,
        "slice": score.slice,
        "value": score.value,
        "low": score.low,
        "high": score.high,
        "n": score.n,
        "anchor": score.anchor,
        "note": score.note,
    }
