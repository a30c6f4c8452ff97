"""Fingerprints, and the planner: what is stale and why (design "Parameters and staleness")."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from geb_assets.benchmarks import FULL, Benchmarks
from geb_assets.ledger import Entry
from geb_assets.parameters import Section, effective
from geb_assets.reading.settings import Reading
from geb_assets.registry import Registry, segment_recording
from geb_assets.stage import Stage
from geb_assets.tables import TABLES
from resources.identity import ModelIdentity
from resources.profiles import Profile

State = Literal["stale", "may change"]


@dataclass(frozen=True)
class Inputs:
    """All that a partition is computed from."""

    implementation: str
    parameters: Mapping[str, Any]
    models: Mapping[str, str]
    """Role to model identity."""
    sources: Any
    """What is read of the registry."""
    upstream: Mapping[str, str]
    """``table|partition`` to data version."""

    def plain(self) -> dict[str, Any]:
        """JSON values, as the ledger and the commits hold them."""
        values: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return values

    @property
    def fingerprint(self) -> str:
        return _digest(self.plain())


@dataclass(frozen=True)
class Step:
    """One partition that is not up to date."""

    asset: str
    partition: str
    state: State
    why: str


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]


def _model(identity: ModelIdentity, prompt: str) -> str:
    asked = f" prompt {prompt}" if prompt else ""
    return f"{identity}#{identity.digest[:12]}{asked}"


def code_version(stage: Stage) -> str:
    """Implementation and defaults, so that the UI shows a changed default."""
    return f"{stage.implementation}+{_digest(stage.section_class().model_dump(mode='json'))[:12]}"


class Planner:
    """Expected fingerprints against the ledger, in topological order."""

    def __init__(
        self,
        stages: Sequence[Stage],
        registry: Registry,
        profile: Profile,
        entries: Mapping[tuple[str, str], Entry],
        benchmarks: Benchmarks | None = None,
    ) -> None:
        self.stages = {stage.asset: stage for stage in stages}
        self.registry = registry
        self.profile = profile
        self.entries = entries
        self.benchmarks = benchmarks or Benchmarks()

    def partitions(self, stage: Stage, recordings: Sequence[str] | None = None) -> list[str]:
        """A stage's partitions that read none but these recordings; None: all of them."""
        names = list(self.registry.recordings) if recordings is None else recordings
        if stage.partition == "benchmark":
            known = [name for name in names if name in self.registry.recordings]
            return self.benchmarks.partitions(known)
        if stage.partition == "recording":
            return [name for name in names if not stage.on_demand or self.demanded(stage, name)]
        return [segment for name in names for segment in self.registry.segments(name)]

    def demanded(self, stage: Stage, recording: str) -> bool:
        """Whether a partition of another stage reads what this one writes of a recording."""
        return any(
            TABLES[table].asset == stage.asset and recording in self.recordings(reader, partition)
            for reader in self.stages.values()
            if reader.varying
            for partition in self.partitions(reader)
            for table in self._varying(reader, partition)
        )

    def _varying(self, stage: Stage, partition: str) -> list[str]:
        """The tables that this one of a stage's partitions reads besides."""
        return [
            table
            for table, reads in stage.varying.items()
            if reads(partition) and self.stages[TABLES[table].asset].served_by(self.profile)
        ]

    def recordings(self, stage: Stage, partition: str) -> list[str]:
        """The recordings that a partition reads."""
        match stage.partition:
            case "segment":
                return [segment_recording(partition)]
            case "recording":
                return [partition]
            case "benchmark":
                return list(self.benchmarks.of_partition(partition)[1].recordings)

    def section(self, stage: Stage, recording: str, partition: str | None = None) -> Section:
        """The effective parameters of a stage for a recording, in a partition of a benchmark with
        what that benchmark sets."""
        overrides = [self.profile.parameters, self.registry.recording(recording).parameters]
        if stage.partition != "benchmark" or partition is None:
            return effective(stage.section, *overrides)
        _, benchmark, variant = self.benchmarks.of_partition(partition)
        section = effective(stage.section, *overrides, {"reading": benchmark.reading})
        if isinstance(section, Reading) and variant in benchmark.units:
            budget = section.budget.model_copy(update={"units": benchmark.units[variant]})
            section = section.model_copy(update={"budget": budget})
        return section

    def defaults(self, stage: Stage) -> Section:
        """A stage's parameters where no recording overrides them."""
        return effective(stage.section, self.profile.parameters)

    def upstream(self, stage: Stage, partition: str) -> list[tuple[str, str]]:
        """The (table, partition) pairs that a partition reads."""
        return [
            (table, key)
            for table in (*stage.reads_under(self.profile), *self._varying(stage, partition))
            for key in self._read(stage, partition, table)
        ]

    def _read(self, stage: Stage, partition: str, table: str) -> list[str]:
        """The partitions of a table that a partition reads."""
        recordings = self.recordings(stage, partition)
        match TABLES[table].partition:
            case "recording":
                return recordings
            case "segment" if stage.partition == "segment":
                return [partition]
            case "segment":
                return [key for name in recordings for key in self.registry.segments(name)]
            case "benchmark":
                name, benchmark, variant = self.benchmarks.of_partition(partition)
                compared = [v for v in (FULL, variant) if v in benchmark.variants]
                return [f"{name}/{one}" for one in dict.fromkeys(compared)]

    def before(self, stage: Stage, partition: str) -> list[tuple[str, str]]:
        """The (asset, partition) pairs that a partition reads."""
        pairs = ((TABLES[table].asset, key) for table, key in self.upstream(stage, partition))
        return list(dict.fromkeys(pairs))

    def missing(self, stage: Stage, partition: str) -> tuple[str, str] | None:
        """The first (asset, partition) that has to be built before this one, or None."""
        return next(
            (pair for pair in self.before(stage, partition) if pair not in self.entries), None
        )

    def only_failed(self, stage: Stage, partition: str) -> bool:
        """Whether nothing but failed model calls keeps a partition from being up to date."""
        entry = self.entries.get((stage.asset, partition))
        if entry is None or entry.complete or self.missing(stage, partition) is not None:
            return False
        return entry.fingerprint == self.expected(stage, partition).fingerprint

    def expected(self, stage: Stage, partition: str) -> Inputs:
        """What the partition would be computed from now; upstream partitions have to exist."""
        sections = {
            name: self.section(stage, name, partition) for name in self.recordings(stage, partition)
        }
        section = next(iter(sections.values()))
        if stage.partition == "benchmark":
            parameters = {
                f"{name}.{parameter}": value
                for name, own in sections.items()
                for parameter, value in own.model_dump(mode="json").items()
            }
            sources = stage.sources(self.benchmarks.of_partition(partition)[1], partition)
        else:
            (name,) = sections
            parameters = section.model_dump(mode="json")
            sources = stage.sources(self.registry.recording(name), partition)
        return Inputs(
            implementation=stage.implementation,
            parameters=parameters,
            models={
                role: _model(self.profile.identity(role, section), stage.prompts.get(role, ""))
                for role in stage.served_by(self.profile)
            },
            sources=sources,
            upstream={
                f"{table}|{key}": self.entries[TABLES[table].asset, key].versions[table]
                for table, key in self.upstream(stage, partition)
            },
        )

    def plan(self, recordings: Sequence[str] | None = None) -> list[Step]:
        """Every partition that is stale, or may change because one before it will be recomputed."""
        steps: list[Step] = []
        unsettled: set[tuple[str, str]] = set()
        for stage in self.stages.values():
            for partition in self.partitions(stage, recordings):
                step = self._judge(stage, partition, unsettled)
                if step is not None:
                    steps.append(step)
                    unsettled.add((stage.asset, partition))
        return steps

    def _judge(self, stage: Stage, partition: str, unsettled: set[tuple[str, str]]) -> Step | None:
        entry = self.entries.get((stage.asset, partition))
        if entry is None:
            return Step(stage.asset, partition, "stale", "never built")
        if self.missing(stage, partition) is None:
            file = "benchmarks.toml" if stage.partition == "benchmark" else "recordings.toml"
            why = _difference(entry, self.expected(stage, partition), file)
            if why:
                return Step(stage.asset, partition, "stale", why)
        for table, key in self.upstream(stage, partition):
            if (TABLES[table].asset, key) in unsettled:
                return Step(
                    stage.asset,
                    partition,
                    "may change",
                    f"{TABLES[table].asset} will be recomputed",
                )
        return None


def _difference(entry: Entry, expected: Inputs, file: str) -> str:
    """Why a partition on disk is not what would be computed now; empty where it is."""
    if entry.fingerprint == expected.fingerprint:
        return "" if entry.complete else f"{entry.failed} failed"
    now, before = expected.plain(), entry.inputs
    reasons: list[str] = []
    if now["implementation"] != before["implementation"]:
        reasons.append(f"implementation {before['implementation']} -> {now['implementation']}")
    for kind, noun in (("parameters", "parameter"), ("models", "model of the")):
        for name in sorted(now[kind].keys() | before[kind].keys()):
            old, new = before[kind].get(name, "none"), now[kind].get(name, "none")
            if old != new:
                reasons.append(f"{noun} {name} {_short(old)} -> {_short(new)}")
    if now["sources"] != before["sources"]:
        reasons.append(f"its files or its entry in {file} changed")
    moved = [
        pair
        for pair in sorted(now["upstream"].keys() | before["upstream"].keys())
        if now["upstream"].get(pair) != before["upstream"].get(pair)
    ]
    tables = dict.fromkeys(pair.split("|")[0] for pair in moved)
    reasons.extend(f"input {table} changed" for table in tables)
    return "; ".join(reasons)


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."
