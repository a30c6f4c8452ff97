"""The asset ``scores``: figures and intervals of what was predicted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import polars as pl

from evaluation import readers
from evaluation.answers import Graded, Judgements
from evaluation.assets.predictions import questions_of
from evaluation.benchmarks.catalogue import Rules, rules_of
from evaluation.benchmarks.question import Question
from evaluation.metrics.judges import Judgement
from evaluation.metrics.similarity import sentence_similarity
from evaluation.scoring import as_rows, score
from evaluation.tables import markdown, plot
from geb_assets.benchmarks import FULL, Benchmark
from geb_assets.errors import GebError
from geb_assets.stage import Expected, Finding, Result, Stage, Trial
from resources.embedder import TextEmbedder


def run(trial: Trial) -> Result:
    """Scores one variant, beside the full system where that is another."""
    questions = questions_of(trial.benchmark)
    rules = rules_of(trial.benchmark.kind)
    own = _graded(trial, rules, questions, trial.variant.name)
    compared = trial.variant.name != FULL and FULL in trial.benchmark.variants
    full = _graded(trial, rules, questions, FULL) if compared else None
    scores = score(rules, questions, own, full)
    rows = trial.keys(as_rows(scores))
    return Result(
        tables={"scores": rows},
        failed=sum(
            judgement.unanswered
            for side in (own, full)
            if side is not None
            for judgement in (side.judgements or {}).values()
        ),
        figures={"questions": len(questions), "figures": len(scores)},
        pages={"scores": markdown(scores)},
        pictures={"intervals and rounds": plot([(trial.variant.name, scores)])},
    )


def _graded(trial: Trial, rules: Rules, questions: Sequence[Question], variant: str) -> Graded:
    """A variant's answers with what the judge and the embedder say of the open ones."""
    rows = trial.read("predictions", variant=variant)
    judgements = _judgements(trial, rules, questions, rows)
    if rules.reference is None:
        return Graded(rows, judgements)
    embedder = trial.roles.text_embedder()
    similarities = _similarities(rules, questions, rows, embedder)
    return Graded(rows, judgements, similarities, f"embedded by {embedder.identity}")


def _similarities(
    rules: Rules, questions: Sequence[Question], rows: pl.DataFrame, embedder: TextEmbedder
) -> dict[tuple[str, int], float]:
    """Cosine of each open answer and its reference; 0 for no answer."""
    assert rules.reference is not None
    reference = {one.id: rules.reference(one) for one in questions if rules.graded(one)}
    there = rows.filter((pl.col("status") != "failed") & pl.col("question").is_in(reference))
    keys = list(there.select("question", "run").iter_rows())
    answers = there["answer"].to_list()
    found = sentence_similarity(answers, [reference[name] for name, _ in keys], embedder)
    return {
        key: float(cosine) if answer.strip() else 0.0
        for key, answer, cosine in zip(keys, answers, found, strict=True)
    }


def _judgements(
    trial: Trial, rules: Rules, questions: Sequence[Question], rows: pl.DataFrame
) -> Judgements | None:
    """What the judge says of every open answer: once of those that are the same, and a reply that
    it gave before is kept."""
    judge = readers.judge(trial.roles)
    if judge is None or rules.judged is None:
        return None
    judged, by_id = rules.judged, {one.id: one for one in questions if rules.graded(one)}
    waiting = [
        (row["question"], row["run"], row["answer"])
        for row in rows.filter(pl.col("status") != "failed").iter_rows(named=True)
        if row["question"] in by_id
    ]
    what = f"judging {trial.partition}"
    asked = list(dict.fromkeys((name, answer) for name, _, answer in waiting))
    found: dict[tuple[str, str], Judgement] = {}
    with ThreadPoolExecutor(trial.benchmark.parallel) as pool:
        given = pool.map(lambda one: judged(judge, by_id[one[0]], one[1]), asked)
        for one, judgement in zip(asked, given, strict=True):
            found[one] = judgement
            trial.progress(what, len(found), len(asked))
    return {(name, run_): found[name, answer] for name, run_, answer in waiting}


def verify(trial: Trial, result: Result) -> Iterator[Finding]:
    """Whether every question was scored or is told of."""
    asked = trial.read("predictions", variant=trial.variant.name)
    wanted = len(questions_of(trial.benchmark)) * trial.benchmark.runs
    yield Finding(
        "every_question",
        asked.height == wanted,
        f"{asked.height} predictions for {wanted} runs of questions",
    )
    rows = result.tables["scores"].filter(pl.col("low").is_not_null())
    yield Finding(
        "intervals",
        bool((rows["low"] <= rows["value"] + 1e-9).all())
        and bool((rows["value"] <= rows["high"] + 1e-9).all()),
        "a figure lies outside its own interval",
    )


def sources(benchmark: Benchmark, partition: str) -> dict[str, Any]:
    """What of the benchmark's entry decides its scores."""
    return {
        "kind": benchmark.kind,
        "questions": benchmark.questions.digest,
        "limit": benchmark.limit,
        "runs": benchmark.runs,
    }


def _expected(trial: Trial) -> Expected | None:
    """A judgement for each open answer of the variant's own: the full system's are kept."""
    rules = rules_of(trial.benchmark.kind)
    if rules.judged is None:
        return Expected(0, 0, 0)
    try:
        graded = [one for one in questions_of(trial.benchmark) if rules.graded(one)]
    except GebError:
        return None
    return Expected(len(graded) * trial.benchmark.runs, 700, 200)


STAGE = Stage(
    asset="scores",
    partition="benchmark",
    implementation="3",
    run=run,
    description=(
        "Accuracy and evidence access of a benchmark and variant with 95 % bootstrap intervals "
        "over questions, by type and by round, beside the units received; differences to the full "
        "system are paired (paper section 4, appendix D)."
    ),
    group="evaluation",
    kinds=("polars", "deltalake"),
    reads=("predictions",),
    roles=("text_embedder",),
    optional={readers.JUDGE: ()},
    calls={readers.JUDGE: _expected},
    prompts=readers.PROMPTS,
    sources=sources,
    checks={
        "every_question": "Every question of the file has its predictions.",
        "intervals": "Every figure lies within its interval.",
    },
    verify=verify,
)
