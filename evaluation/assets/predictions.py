"""The asset ``predictions``: every question of a benchmark, answered by a variant."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BaseModel

from evaluation.baselines import BASELINES
from evaluation.benchmarks.catalogue import Rules, rules_of
from evaluation.benchmarks.question import Question, outside
from evaluation.metrics.evidence import reached, received_spans, union_seconds
from evaluation.readers import PROMPTS, READER, readers
from geb_assets.benchmarks import Benchmark
from geb_assets.errors import GebError
from geb_assets.reading.answerer import Answerer
from geb_assets.reading.asking import ask, replay
from geb_assets.reading.controller import Controller
from geb_assets.reading.memory import Memory
from geb_assets.reading.record import Record
from geb_assets.reading.rows import COLUMNS, VECTORS
from geb_assets.reading.settings import Reading
from geb_assets.reading.units import SearchedMemory
from geb_assets.reading.variants import VARIANTS, variant_of
from geb_assets.stage import Expected, Finding, Result, Stage, Trial
from geb_assets.tables import TABLES
from resources.store import DeltaStore
from resources.video import file_digest

_DECISION_TOKENS, _ANSWER_TOKENS, _FRAME_TOKENS = 4000, 7000, 600
"""About how long the pages of the controller and of the answerer are, and a frame on the latter."""
_REPLY_TOKENS = 60
_MOST_OUTSIDE = 0.5
"""From this share of questions that cannot be of the recordings, the recordings are wrong."""


@dataclass(frozen=True, eq=False)
class Opened:
    """One recording as its questions are put to it."""

    memory: Memory
    searched: SearchedMemory
    """The memory, or what a baseline searches it with."""
    contexts: Mapping[str, tuple[float, float]]
    """Described observation to its context window, s."""
    units: NDArray[np.float64]
    """Its 30-second episodes [n, 2], s."""


def questions_of(benchmark: Benchmark) -> list[Question]:
    """The questions that a benchmark asks, each with its recording.

    Raises GebError for a file that is not the registered one, what its rules do not allow, or a
    question that does not say which of several recordings it is about.
    """
    path = Path(benchmark.questions.path)
    if not path.exists():
        raise GebError(f"{path} does not exist; give it again with: geb evaluate --questions FILE")
    if file_digest(path) != benchmark.questions.digest:
        raise GebError(f"{path} changed since; register it with: geb evaluate --questions {path}")
    questions = list(rules_of(benchmark.kind).load(path))[: benchmark.limit]
    for question in questions:
        recording_of(benchmark, question)
    return questions


def recording_of(benchmark: Benchmark, question: Question) -> str:
    """The recording that a question is put to."""
    if question.recording in benchmark.recordings:
        return question.recording
    if len(benchmark.recordings) == 1 and not question.recording:
        return benchmark.recordings[0]
    raise GebError(
        f"question {question.id} is about '{question.recording}', which is none of the recordings "
        f"{', '.join(benchmark.recordings)}; name it with --recording"
    )


def admit(trial: Trial) -> Iterator[Finding]:
    """Whether the questions are those registered, and the memories current, filled, and theirs."""
    try:
        questions = questions_of(trial.benchmark)
    except GebError as error:
        yield Finding("questions", False, str(error))
        return
    yield Finding("questions", True, f"{len(questions)} questions")
    try:
        memories = {name: trial.open_memory(name) for name in trial.recordings}
    except GebError as error:
        yield Finding("memory", False, str(error))
        return
    yield Finding("memory", *_filled(memories))
    yield Finding("recording", *_theirs(trial.benchmark, questions, memories))


def _filled(memories: Mapping[str, Memory]) -> tuple[bool, str]:
    """Whether each memory holds anything that can be searched."""
    for name, memory in memories.items():
        if not len(memory.index.nodes.from_s):
            return False, f"the memory of {name} is empty: its graph has no nodes; geb build {name}"
        if memory.index.text is None and not len(memory.index.nodes.texts):
            return False, f"the memory of {name} holds no text to search; run: geb build {name}"
    return True, f"{len(memories)} memories"


def _theirs(
    benchmark: Benchmark, questions: Sequence[Question], memories: Mapping[str, Memory]
) -> tuple[bool, str]:
    """Whether most questions can be of their recordings."""
    strange = _outside(benchmark, questions, memories)
    told = f"{len(strange)} of {len(questions)} questions cannot be of their recording"
    if len(strange) > _MOST_OUTSIDE * len(questions):
        name, why = next(iter(strange.items()))
        return False, f"{told} (question {name}: {why}); this is another recording's file"
    return True, told


def _outside(
    benchmark: Benchmark, questions: Sequence[Question], memories: Mapping[str, Memory]
) -> dict[str, str]:
    """Question id to why it cannot be of its recording, as far as times tell."""
    found: dict[str, str] = {}
    for question in questions:
        memory = memories[recording_of(benchmark, question)]
        start, end = memory.span
        if outside([question], start, end):
            span = f"{memory.clock.show(start)} to {memory.clock.show(end)}"
            what = "asked" if question.at is not None and question.at < start else "with evidence"
            found[question.id] = f"{what} outside the recording, which covers {span}"
    return found


def run(trial: Trial) -> Result:
    """Answers every question in every run; what is answered already is not asked again."""
    benchmark = trial.benchmark
    rules = rules_of(benchmark.kind)
    questions = questions_of(benchmark)
    opened = {name: _open(trial, name) for name in trial.recordings}
    memories = {name: one.memory for name, one in opened.items()}
    strange = _outside(benchmark, questions, memories)
    frames: list[pl.DataFrame] = []
    waiting: list[tuple[int, Question, int]] = []
    for place, question, number, kept in _runs(trial, questions):
        if kept is not None:
            frames.append(kept["predictions"])
        elif question.id in strange:
            name = recording_of(benchmark, question)
            row = _unasked(rules, question, place, number, name)
            frames.append(_frame({**row, "error": strange[question.id]}))
        else:
            waiting.append((place, question, number))

    pairs = [readers(trial.roles, number) for number in range(benchmark.runs)]

    def answer(place: int, question: Question, number: int) -> pl.DataFrame:
        name = recording_of(benchmark, question)
        controller, answerer = pairs[number]
        record = _asked(trial, rules, opened[name].searched, question, name, controller, answerer)
        shown = trial.variant.settings(cast(Reading, trial.sections[name])).biographies
        # What is not shown is not received.
        source = opened[name] if shown else replace(opened[name], contexts={})
        frame = _frame(_row(rules, source, question, place, number, record))
        if frame["status"][0] == "ok":
            trial.checkpoints.put(_part(question, number), {"predictions": frame})
        return frame

    what = f"questions of {trial.partition}"
    total = len(frames) + len(waiting)
    trial.progress(what, len(frames), total)
    with ThreadPoolExecutor(benchmark.parallel) as pool:
        # Never more in flight than run at once, so that an interruption leaves nothing queued.
        flying: set[Future[pl.DataFrame]] = set()
        queue = iter(waiting)
        try:
            for one in queue:
                flying.add(pool.submit(answer, *one))
                if len(flying) >= benchmark.parallel:
                    flying = _land(flying, frames)
                    trial.progress(what, len(frames), total)
            while flying:
                flying = _land(flying, frames)
                trial.progress(what, len(frames), total)
        finally:
            for future in flying:
                future.cancel()
    rows = trial.keys(pl.concat(frames))
    failed = rows.filter(pl.col("status") == "failed").height
    return Result(
        tables={"predictions": rows},
        failed=failed,
        figures={
            "questions": len(questions),
            "runs": benchmark.runs,
            "outside the recording": len(strange),
            "seconds a question": round(float(rows["seconds"].mean() or 0.0), 3),  # type: ignore[arg-type]
        },
    )


def _land(flying: set[Future[pl.DataFrame]], frames: list[pl.DataFrame]) -> set[Future[Any]]:
    """Takes in the questions that are answered; returns those still in flight."""
    landed, still = wait(flying, return_when=FIRST_COMPLETED)
    frames += [future.result() for future in landed]
    return still


def _open(trial: Trial, name: str) -> Opened:
    described = trial.scan("descriptions", recording=name).filter(pl.col("status") == "ok")
    contexts = (
        trial.scan("observations", recording=name)
        .join(described.select("observation"), on="observation")
        .select("observation", "context_start_s", "context_end_s")
        .collect()
    )
    memory = trial.open_memory(name)
    baseline = BASELINES.get(trial.variant.name)
    return Opened(
        memory,
        memory if baseline is None else baseline(memory),
        {one: (start, end) for one, start, end in contexts.iter_rows()},
        short_episodes(trial.store, name),
    )


def short_episodes(store: DeltaStore, recording: str) -> NDArray[np.float64]:
    """Start and end of a recording's 30-second episodes [n, 2], s, by start."""
    rows = store.scan("episodes", recording=recording).filter(pl.col("scale") == "30sec")
    return rows.select("start_s", "end_s").sort("start_s").collect().to_numpy().reshape(-1, 2)


def _asked(
    trial: Trial,
    rules: Rules,
    memory: SearchedMemory,
    question: Question,
    name: str,
    controller: Controller,
    answerer: Answerer,
) -> Record:
    settings = cast(Reading, trial.sections[name])
    record = ask(
        memory,
        question.question,
        at=question.at,
        choices=list(question.choices.values()),
        evidence_in=rules.evidence_in,
        controller=controller,
        answerer=answerer,
        settings=trial.variant.settings(settings),
    )
    if not trial.variant.answering:
        return record
    # The same searches, and another answer: what differs is what the answer model is shown.
    return replay(memory, record, answerer=answerer, settings=trial.variant.answers_with(settings))


def _part(question: Question, number: int) -> str:
    return f"{number}-{hashlib.sha256(question.id.encode()).hexdigest()[:24]}"


def _runs(
    trial: Trial, questions: Sequence[Question]
) -> Iterator[tuple[int, Question, int, dict[str, pl.DataFrame] | None]]:
    """Every run of every question: its place, itself, the run, and its row where it is answered."""
    done = _done(trial)
    for number in range(trial.benchmark.runs):
        for place, question in enumerate(questions):
            part = _part(question, number)
            yield place, question, number, done.get(part) or trial.checkpoints.get(part)


def _done(trial: Trial) -> dict[str, dict[str, pl.DataFrame]]:
    """What a run with failed calls left answered, by part."""
    rows = trial.previous("predictions").filter(pl.col("status") == "ok")
    own = list(TABLES["predictions"].own_schema)
    return {
        _part(Question(name, "", {}, "", None), number): {"predictions": rows[place].select(own)}
        for place, (name, number) in enumerate(rows.select("question", "run").iter_rows())
    }


def _frame(row: Mapping[str, Any]) -> pl.DataFrame:
    return pl.DataFrame([row], schema=TABLES["predictions"].own_schema)


def _unasked(
    rules: Rules, question: Question, place: int, number: int, recording: str
) -> dict[str, Any]:
    """The row of a question that is not put to the memory: wrong, and counted."""
    return {
        "question": question.id, "place": place, "run": number, "recording": recording,
        "type": question.type, "text": question.question, "at_s": question.at,
        "status": "outside", "error": "", "rounds": 0, "searches": [], "units": [],
        "units_after": [],
        "received_s": 0.0, "windows": [], "reached": [], "answer": "", "choice": "",
        "gold": question.answer, "correct": rules.correct(question, "", None), "intervals": None,
        "decided": False, "confidence": None, "why": "", "prompt_tokens": 0, "completion_tokens": 0,
        "answer_prompt_tokens": None, "answer_completion_tokens": None,
        "seconds": 0.0, "record": "",
    }  # fmt: skip


def _row(
    rules: Rules, opened: Opened, question: Question, place: int, number: int, record: Record
) -> dict[str, Any]:
    """One run of one question as the table has it."""
    windows = rules.windows(question, opened.units)
    received = [received_spans(one.units, opened.contexts) for one in record.searches]
    after = [
        int(reached(windows, np.concatenate(received[: count + 1])).sum())
        for count in range(len(received))
    ]
    spans = np.concatenate([np.empty((0, 2)), *received])
    unled = next((one.error for one in record.rounds if one.failed), "")
    failed = unled or record.failed
    return {
        **_unasked(rules, question, place, number, record.recording),
        "status": "failed" if failed else "ok",
        "error": record.error or unled,
        "rounds": len(record.searches),
        "searches": [one.query for one in record.searches],
        "units": [unit.id for unit in record.units],
        "units_after": list(accumulate(len(one.units) for one in record.searches)),
        "received_s": union_seconds(spans, end_s=rules.evidence_in and rules.evidence_in[1]),
        "windows": [list(window) for window in windows],
        "reached": after,
        "answer": record.answer,
        "choice": record.choice or "",
        "correct": rules.correct(question, record.answer, record.choice),
        "intervals": rules.grounded and [list(one) for one in record.intervals],
        "decided": record.decided,
        "confidence": record.confidence,
        "why": record.why,
        "prompt_tokens": record.prompt_tokens,
        "completion_tokens": record.completion_tokens,
        "answer_prompt_tokens": record.answer_tokens[0] or None,
        "answer_completion_tokens": record.answer_tokens[1] or None,
        "seconds": record.seconds,
        "record": record.model_dump_json(),
    }


def sources(benchmark: Benchmark, partition: str) -> dict[str, Any]:
    """What of the benchmark's entry decides its answers."""
    variant = variant_of(partition.rpartition("/")[2])
    return {
        "kind": benchmark.kind,
        "questions": benchmark.questions.digest,
        "runs": benchmark.runs,
        "limit": benchmark.limit,
        "variant": {
            **variant.view,
            "reading": _plain(variant.reading),
            "answering": _plain(variant.answering),
        },
        "searched": variant.name if variant.name in BASELINES else "as the variant",
    }


def _reads_triples(partition: str) -> bool:
    variant = VARIANTS.get(partition.rpartition("/")[2])
    return variant is not None and variant.reads_triples


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Reading parameters as plain JSON values."""
    return {
        name: value.model_dump(mode="json") if isinstance(value, BaseModel) else value
        for name, value in values.items()
    }


def _expected(trial: Trial) -> Expected | None:
    """All rounds of the controller, which may stop sooner, and the answers."""
    try:
        questions = questions_of(trial.benchmark)
    except GebError:
        return None
    calls = prompt_tokens = 0
    for _, question, _, kept in _runs(trial, questions):
        if kept is not None:
            continue
        section = cast(Reading, trial.sections[recording_of(trial.benchmark, question)])
        answers = [trial.variant.settings(section)]
        rounds = answers[0].rounds
        if trial.variant.answering:
            answers.append(trial.variant.answers_with(section))
        calls += rounds + len(answers)
        prompt_tokens += rounds * _DECISION_TOKENS
        prompt_tokens += sum(_ANSWER_TOKENS + one.frames * _FRAME_TOKENS for one in answers)
    return Expected(calls, prompt_tokens / max(1, calls), _REPLY_TOKENS)


STAGE = Stage(
    asset="predictions",
    partition="benchmark",
    implementation="4",
    run=run,
    description=(
        "Every question of a benchmark, put to the memory as the variant sees it, as of the time "
        "at which it is asked (paper section 4): the searches, what they brought, the answer, and "
        "which evidence windows were reached. A question that is answered is never asked again "
        "for the same inputs."
    ),
    group="evaluation",
    kinds=("polars", "deltalake"),
    reads=tuple(dict.fromkeys([*COLUMNS, *VECTORS, "names", "chains"])),
    optional={READER: ("frames",)},
    varying={"triples": _reads_triples},
    calls={READER: _expected},
    prompts=PROMPTS,
    sources=sources,
    checks={
        "questions": "The question file is the registered one, and whole.",
        "memory": "Every memory is built, current, and holds something to search.",
        "recording": "Most questions can be of their recording, as far as their times tell.",
    },
    admit=admit,
)
