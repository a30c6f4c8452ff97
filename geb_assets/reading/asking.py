"""Asking: rounds of search until the controller stops, then the answer (paper 3.4; spec 4)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from geb_assets.clock import Clock, day_of
from geb_assets.errors import GebError
from geb_assets.reading.answerer import Answer, Answerer
from geb_assets.reading.chains import Embeds, Fact, chain_facts
from geb_assets.reading.controller import Controller, Decision, Progress
from geb_assets.reading.evidence import Evidence, choose_frames, gather
from geb_assets.reading.question import Question
from geb_assets.reading.readout import parse_readout
from geb_assets.reading.record import Record, Reference, Round
from geb_assets.reading.rendering import controller_view
from geb_assets.reading.settings import AskSettings
from geb_assets.reading.units import SearchedMemory, Unit


def ask(
    memory: SearchedMemory,
    question: str,
    *,
    at: float | None = None,
    choices: Sequence[str] = (),
    evidence_in: tuple[float, float] | None = None,
    controller: Controller,
    answerer: Answerer,
    settings: AskSettings | None = None,
    budget: Any = None,
    embedder: Embeds | None = None,
    watch: Callable[[Round], None] = lambda round_: None,
) -> Record:
    """Answers a question from what a memory held ``at`` a time; None: from all of it.

    ``evidence_in`` asks the answer to name the seconds that it rests on, within that stretch.
    ``budget`` goes to every search; ``embedder`` compares chains with the question; ``watch`` is
    told of each round as it ends. Raises GebError for a question that is none, and for what the
    user has to mend in a model's endpoint.
    """
    settings = settings or AskSettings()
    asked = Question.of(
        question, clock=memory.clock, at=at, choices=choices, evidence_in=evidence_in
    )
    started = time.perf_counter()
    rounds = _search(
        memory, asked, controller, settings=settings, budget=budget, embedder=embedder, watch=watch
    )
    evidence = _evidence(memory, asked, rounds, answerer, settings)
    answer = answerer.answer(asked, evidence)
    return _record(
        memory, asked, controller.name, answerer, rounds, evidence, answer,
        time.perf_counter() - started,
    )  # fmt: skip


def replay(
    memory: SearchedMemory,
    record: Record,
    *,
    answerer: Answerer,
    settings: AskSettings | None = None,
) -> Record:
    """The same searches with another answerer: nothing is searched again (spec 9.44)."""
    settings = settings or AskSettings()
    asked = Question.of(
        record.question,
        clock=memory.clock,
        at=record.at,
        choices=record.choices,
        evidence_in=record.evidence_in,
    )
    started = time.perf_counter()
    evidence = _evidence(memory, asked, record.rounds, answerer, settings)
    answer = answerer.answer(asked, evidence)
    return _record(
        memory, asked, record.controller, answerer, record.rounds, evidence, answer,
        time.perf_counter() - started,
    )  # fmt: skip


def question_time(text: str, *, clock: Clock, spans: Sequence[tuple[float, float]]) -> float:
    """The time that a question is asked at, from its written form.

    ``spans`` are the stretches of the clock that the recording covers. Raises GebError for a time
    that cannot be read, or lies before the recording, after it, or between two stretches.
    """
    at = clock.seconds(text)
    stretches = sorted(spans)
    if not stretches:
        raise GebError("this recording holds nothing yet; build it first")
    first, last = stretches[0][0], max(end for _, end in stretches)
    if at < first:
        raise GebError(f"{text} lies before this recording, which starts at {clock.show(first)}")
    if at > last:
        raise GebError(f"{text} lies after this recording, which ends at {clock.show(last)}")
    if not any(start <= at <= end for start, end in stretches):
        before = max(end for _, end in stretches if end < at)
        after = min(start for start, _ in stretches if start > at)
        raise GebError(
            f"{text} lies in a gap of this recording, between {clock.show(before)} and "
            f"{clock.show(after)}; ask at one of these"
        )
    return at


def _search(
    memory: SearchedMemory,
    asked: Question,
    controller: Controller,
    *,
    settings: AskSettings,
    budget: Any,
    embedder: Embeds | None,
    watch: Callable[[Round], None],
) -> tuple[Round, ...]:
    rounds: list[Round] = []
    views: list[str] = []
    units: list[Unit] = []
    facts: list[Fact] = []
    evidence = Evidence()
    chains = memory.chains(at=asked.at) if settings.chains is not None else None
    empty = 0
    while len(rounds) < settings.rounds and empty < settings.empty_rounds:
        started = time.perf_counter()
        progress = Progress(
            asked, tuple(rounds), tuple(views), evidence.excerpts, settings.rounds - len(rounds)
        )
        decision = controller.decide(progress)
        if decision.action == "answer" and rounds:
            rounds.append(_decided(decision, time.perf_counter() - started))
            watch(rounds[-1])
            break
        # Nothing can be answered from nothing: the first decision searches in any case.
        query = decision.query.strip() or asked.text
        read_out = parse_readout(
            query, clock=memory.clock, default_day=_guessed_day(memory, asked, units)
        )
        new = _find(memory, asked, query, read_out, units, decision.limit, settings, budget)
        more = (
            chain_facts(
                chains, asked.text, new, at=asked.at, shown=facts, settings=settings.chains,
                embedder=embedder,
            )
            if chains is not None
            else []
        )  # fmt: skip
        units += new
        facts += more
        empty = 0 if new else empty + 1
        evidence = gather(
            memory, units, facts, at=asked.at, also_seen=settings.also_seen,
            notes=settings.identity_notes, biographies=settings.biographies,
        )  # fmt: skip
        touched = {unit.entity for unit in new if unit.entity}
        shown = Evidence(
            tuple(new),
            tuple(excerpt for excerpt in evidence.excerpts if excerpt.entity in touched),
            evidence.notes if touched else (),
            facts=tuple(more),
        )
        views.append(controller_view(shown, memory.clock, by_time=read_out is not None))
        rounds.append(
            Round(
                decision="search",
                query=query,
                why=decision.why,
                read_out=read_out,
                units=tuple(new),
                facts=tuple(more),
                notes=evidence.notes,
                error=decision.error,
                failed=decision.failed,
                prompt_tokens=decision.prompt_tokens,
                completion_tokens=decision.completion_tokens,
                seconds=time.perf_counter() - started,
            )
        )
        watch(rounds[-1])
    return tuple(rounds)


def _decided(decision: Decision, seconds: float) -> Round:
    return Round(
        decision="answer",
        why=decision.why,
        error=decision.error,
        failed=decision.failed,
        prompt_tokens=decision.prompt_tokens,
        completion_tokens=decision.completion_tokens,
        seconds=seconds,
    )


def _find(
    memory: SearchedMemory,
    asked: Question,
    query: str,
    read_out: tuple[float, float] | None,
    units: Sequence[Unit],
    limit: int | None,
    settings: AskSettings,
    budget: Any,
) -> list[Unit]:
    """The units of one round that no earlier round returned, within the question's budgets."""
    known = {unit.id for unit in units}
    if read_out is not None:
        entities = {unit.entity for unit in units if unit.entity}
        found = memory.read_out(*read_out, at=asked.at, entities=entities)[: settings.readout_units]
    else:
        found = memory.search(query, at=asked.at, exclude=known, budget=budget)
    fresh = [unit for unit in found if unit.id not in known][:limit]
    if settings.short_episodes is None:
        return fresh
    room = settings.short_episodes - sum(unit.scale == "30sec" for unit in units)
    kept: list[Unit] = []
    for unit in fresh:
        if unit.scale == "30sec":
            room -= 1
        if unit.scale != "30sec" or room >= 0:
            kept.append(unit)
    return kept


def _guessed_day(memory: SearchedMemory, asked: Question, units: Sequence[Unit]) -> int | None:
    """The day of a time that names none: spec 9.31."""
    if units:
        return day_of(max(unit.start_s for unit in units))
    if asked.at is not None:
        return day_of(asked.at)
    first, last = memory.span
    return day_of(first) if day_of(first) == day_of(last) else None


def _evidence(
    memory: SearchedMemory,
    asked: Question,
    rounds: Sequence[Round],
    answerer: Answerer,
    settings: AskSettings,
) -> Evidence:
    units = [unit for round_ in rounds for unit in round_.units]
    facts = [fact for round_ in rounds for fact in round_.facts]
    evidence = gather(
        memory, units, facts, at=asked.at, also_seen=settings.also_seen,
        notes=settings.identity_notes, biographies=settings.biographies,
    )  # fmt: skip
    if not answerer.reads_frames or not settings.frames:
        return evidence
    frames = choose_frames(
        memory, units, at=asked.at, total=settings.frames, per_clip=settings.frames_per_clip
    )
    return replace(evidence, frames=frames)


def _record(
    memory: SearchedMemory,
    asked: Question,
    controller: str,
    answerer: Answerer,
    rounds: tuple[Round, ...],
    evidence: Evidence,
    answer: Answer,
    seconds: float,
) -> Record:
    return Record(
        recording=memory.recording,
        question=asked.text,
        at=asked.at,
        choices=asked.choices,
        evidence_in=asked.evidence_in,
        controller=controller,
        answerer=answerer.name,
        rounds=rounds,
        frames=tuple(Reference(clip=f.clip, time_s=f.time_s) for f in evidence.frames),
        answer=answer.text,
        choice=answer.choice,
        confidence=answer.confidence,
        decided=answer.decided,
        why=answer.why,
        supports=answer.supports,
        intervals=answer.intervals,
        error=answer.error,
        failed=answer.failed,
        prompt_tokens=sum(r.prompt_tokens for r in rounds) + answer.prompt_tokens,
        completion_tokens=sum(r.completion_tokens for r in rounds) + answer.completion_tokens,
        seconds=seconds,
    )
