"""Runs one stage on one partition: inputs, rows, invariants, commit, ledger (no Dagster here)."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import polars as pl

from geb_assets.errors import GebError, refusal
from geb_assets.home import Home
from geb_assets.ledger import Entry
from geb_assets.lineage import Inputs, Planner
from geb_assets.reading.memory import Memory
from geb_assets.reading.settings import Reading
from geb_assets.reading.variants import variant_of
from geb_assets.stage import Checkpoints, Finding, Result, Stage, Trial, Work
from geb_assets.tables import TABLES, keys_of, tables_of
from resources.profiles import Roles
from resources.store import Stamp, conform, data_version


class InvariantBroken(GebError):
    """Rows that a stage was about to write break an invariant; nothing was written."""

    def __init__(self, stage: Stage, partition: str, findings: Sequence[Finding]) -> None:
        self.findings = findings
        broken = next(finding for finding in findings if not finding.passed)
        super().__init__(
            f"{stage.asset} of {partition} breaks '{broken.check}': {broken.message}; "
            "nothing was written; please report it"
        )


class Refused(GebError):
    """Inputs that a stage does not admit; nothing was computed."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = findings
        super().__init__(next(finding.message for finding in findings if not finding.passed))


@dataclass(frozen=True)
class Outcome:
    """One partition, materialized or found up to date."""

    entry: Entry
    changed: bool
    """Whether a table's data version differs from what was on disk before."""
    reused: bool
    """Whether the rows on disk already were what would be computed."""
    seconds: float = 0.0
    rows: dict[str, int] = field(default_factory=dict)
    result: Result | None = None
    findings: tuple[Finding, ...] = ()


def run_partition(
    home: Home, stages: Sequence[Stage], stage: Stage, partition: str, run_id: str
) -> Outcome:
    """Computes a partition and writes it, unless what is on disk already carries its fingerprint.

    Raises GebError for what the user can mend, Refused where the inputs are not admitted,
    InvariantBroken where the rows are refused.
    """
    try:
        with home.writing(stage.asset, partition):
            return _run(home, stages, stage, partition, run_id)
    except Exception as error:
        raise refusal(home.path, error) or error from None


def _run(home: Home, stages: Sequence[Stage], stage: Stage, partition: str, run_id: str) -> Outcome:
    planner = home.planner(stages)
    recordings = planner.recordings(stage, partition)
    for name in recordings:
        planner.registry.recording(name)
    if stage.on_demand and not planner.demanded(stage, recordings[0]):
        raise GebError(
            f"no benchmark of {recordings[0]} has a variant that reads {stage.asset}; "
            "add one with: geb evaluate BENCHMARK --variant NAME"
        )
    if partition not in planner.partitions(stage, recordings):
        raise GebError(
            f"{stage.asset} has no partition '{partition}'; recording {', '.join(recordings)} has "
            f"{', '.join(planner.partitions(stage, recordings)) or 'no segments'}"
        )
    lacking = planner.missing(stage, partition)
    if lacking is not None:
        raise GebError(
            f"{stage.asset} of {partition} needs {lacking[0]} of {lacking[1]}, which is not built; "
            f"run: geb build {' '.join(recordings)}"
        )
    inputs = planner.expected(stage, partition)
    before = planner.entries.get((stage.asset, partition))
    current = before if before and before.fingerprint == inputs.fingerprint else None
    if current is None:
        current = _committed(home, stage, partition, inputs)
        if current is not None:
            home.ledger.record([current])
    if current is not None and current.complete:
        return Outcome(current, changed=False, reused=True)

    return _compute(home, planner, stage, partition, inputs, current, before, run_id)


def _compute(
    home: Home,
    planner: Planner,
    stage: Stage,
    partition: str,
    inputs: Inputs,
    current: Entry | None,
    before: Entry | None,
    run_id: str,
) -> Outcome:
    """Computes, judges and writes a partition; ``current`` is there where some calls failed."""
    started = time.monotonic()
    make = _trial if stage.partition == "benchmark" else _work
    work = make(home, planner, stage, partition, inputs, rerun=current is not None)
    admitted = tuple(stage.admit(work))
    if not all(finding.passed for finding in admitted):
        raise Refused(admitted)
    result = stage.run(work)
    rows = {
        table.name: conform(table, result.tables[table.name]) for table in tables_of(stage.asset)
    }
    figures = {**result.figures, **work.roles.calls.figures()}
    result = replace(result, tables=rows, figures=figures)
    findings = (*admitted, *stage.verify(work, result))
    if not all(finding.passed for finding in findings):
        raise InvariantBroken(stage, partition, findings)
    entry = Entry(
        stage.asset,
        partition,
        inputs.fingerprint,
        inputs.plain(),
        {name: data_version(TABLES[name], frame) for name, frame in rows.items()},
        run_id=run_id,
        complete=result.failed == 0,
        failed=result.failed,
    )
    now = home.planner(list(planner.stages.values()))
    if now.missing(stage, partition) or now.expected(stage, partition) != inputs:
        raise GebError(
            f"what {stage.asset} of {partition} reads changed while it ran; "
            f"nothing was written: run geb build "
            f"{' '.join(planner.recordings(stage, partition))} again"
        )
    # Between here and the ledger's new entry the tables may hold anything; the commits tell.
    home.ledger.drop(stage.asset, partition)
    for table in tables_of(stage.asset):
        home.store.replace(
            table,
            keys_of(table.partition, partition),
            rows[table.name],
            _stamp(entry, table.name),
        )
    home.ledger.record([entry])
    if entry.complete:
        shutil.rmtree(work.checkpoints.folder.parent, ignore_errors=True)
    return Outcome(
        entry,
        changed=before is None or before.versions != entry.versions,
        reused=False,
        seconds=time.monotonic() - started,
        rows={name: frame.height for name, frame in rows.items()},
        result=result,
        findings=findings,
    )


def rebuild_ledger(home: Home, stages: Sequence[Stage]) -> int:
    """Writes the ledger anew from the Delta commits; returns how many partitions it holds."""
    entries: list[Entry] = []
    for stage in stages:
        stamps = {table.name: home.store.stamps(table.name) for table in tables_of(stage.asset)}
        first = next(iter(stamps.values()))
        for partition in first:
            entry = _entry([(name, found.get(partition)) for name, found in stamps.items()])
            if entry is not None:
                entries.append(entry)
    home.ledger.record(entries, instead_of_all=True)
    return len(entries)


def _stamp(entry: Entry, table: str) -> Stamp:
    return Stamp(
        entry.asset,
        entry.partition,
        entry.fingerprint,
        entry.versions[table],
        entry.run_id,
        entry.complete,
        entry.inputs,
        entry.failed,
    )


def _entry(stamps: Sequence[tuple[str, Stamp | None]]) -> Entry | None:
    """What the stamps of all tables of an asset agree on, or None where they do not."""
    found = {name: stamp for name, stamp in stamps if stamp is not None}
    if len(found) < len(stamps) or len({stamp.fingerprint for stamp in found.values()}) != 1:
        return None
    first = next(iter(found.values()))
    return Entry(
        first.asset,
        first.partition,
        first.fingerprint,
        first.inputs,
        {name: stamp.data_version for name, stamp in found.items()},
        first.run_id,
        all(stamp.complete for stamp in found.values()),
        max(stamp.failed for stamp in found.values()),
    )


def _committed(home: Home, stage: Stage, partition: str, inputs: Inputs) -> Entry | None:
    """The partition as its commits say, where they carry the expected fingerprint.

    A run that was killed after its last commit and before the ledger is found here.
    """
    tables = tables_of(stage.asset)
    entry = _entry([(table.name, home.store.stamps(table.name).get(partition)) for table in tables])
    return entry if entry is not None and entry.fingerprint == inputs.fingerprint else None


def _work(
    home: Home, planner: Planner, stage: Stage, partition: str, inputs: Inputs, *, rerun: bool
) -> Work:
    (name,) = planner.recordings(stage, partition)
    section = planner.section(stage, name)
    return Work(
        stage=stage,
        partition=partition,
        name=name,
        recording=planner.registry.recording(name),
        segments=planner.registry.segments(name),
        section=section,
        roles=Roles(
            planner.profile,
            home.models,
            section,
            stage.served_by(planner.profile),
            home.calls(),
        ),
        store=home.store,
        frames=home.frames(),
        checkpoints=_checkpoints(home, stage, partition, inputs),
        lasting=Checkpoints(home.cache / "lasting" / stage.asset / name),
        progress=home.progress,
        previous=_previous(home, partition, rerun=rerun),
        history=_history(inputs, planner.registry.segments(name)),
    )


def work_of(home: Home, planner: Planner, stage: Stage, partition: str) -> Work:
    """What a run of a stale partition would be handed now; its upstream has to be built."""
    inputs = planner.expected(stage, partition)
    rerun = planner.only_failed(stage, partition)
    return _work(home, planner, stage, partition, inputs, rerun=rerun)


def trial_of(home: Home, planner: Planner, stage: Stage, partition: str) -> Trial:
    """The same over benchmarks; without its upstream, nothing of it can have been begun."""
    built = planner.missing(stage, partition) is None
    inputs = planner.expected(stage, partition) if built else None
    rerun = planner.only_failed(stage, partition)
    return _trial(home, planner, stage, partition, inputs, rerun=rerun)


def _trial(
    home: Home,
    planner: Planner,
    stage: Stage,
    partition: str,
    inputs: Inputs | None,
    *,
    rerun: bool,
) -> Trial:
    name, benchmark, variant = planner.benchmarks.of_partition(partition)
    sections = {one: planner.section(stage, one, partition) for one in benchmark.recordings}

    def open_memory(recording: str) -> Memory:
        settings = cast(Reading, sections[recording])
        return Memory.open(home, recording, variant=variant, settings=settings)

    return Trial(
        stage=stage,
        partition=partition,
        name=name,
        benchmark=benchmark,
        variant=variant_of(variant),
        recordings={one: planner.registry.recording(one) for one in benchmark.recordings},
        sections=sections,
        roles=Roles(
            planner.profile,
            home.models,
            next(iter(sections.values())),
            stage.served_by(planner.profile),
            home.calls(),
        ),
        store=home.store,
        checkpoints=_checkpoints(home, stage, partition, inputs),
        progress=home.progress,
        previous=_previous(home, partition, rerun=rerun),
        open_memory=open_memory,
    )


def _checkpoints(home: Home, stage: Stage, partition: str, inputs: Inputs | None) -> Checkpoints:
    folder = home.cache / "partial" / stage.asset / partition.replace("/", "~")
    return Checkpoints(folder / (inputs.fingerprint if inputs else "unknown"))


def _previous(home: Home, partition: str, *, rerun: bool) -> Callable[[str], pl.DataFrame]:
    """The rows on disk of a partition of a table, where failed calls alone are run again."""

    def rows(table: str) -> pl.DataFrame:
        if not rerun:
            return TABLES[table].empty()
        return home.store.read(table, **keys_of(TABLES[table].partition, partition))

    return rows


def _history(inputs: Inputs, segments: Sequence[str]) -> dict[str, str]:
    """Segment to a digest of all that a sequential stage has read up to and with it."""
    plain: dict[str, Any] = inputs.plain()
    upstream = plain.pop("upstream")
    digest = hashlib.sha256(json.dumps(plain, sort_keys=True).encode())
    history: dict[str, str] = {}
    for segment in segments:
        own = sorted(pair for pair in upstream.items() if pair[0].endswith(f"|{segment}"))
        digest.update(json.dumps(own).encode())
        history[segment] = digest.hexdigest()[:32]
    return history
