"""Fingerprints, and the planner: what is stale and why (design "Parameters and staleness")."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from geb_assets.ledger import Entry
from geb_assets.parameters import Section, effective
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


def _model(identity: ModelIdentity) -> str:
    return f"{identity}#{identity.digest[:12]}"


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
    ) -> None:
        self.stages = {stage.asset: stage for stage in stages}
        self.registry = registry
        self.profile = profile
        self.entries = entries

    def partitions(self, stage: Stage, recording: str) -> list[str]:
        return self.registry.segments(recording) if stage.partition == "segment" else [recording]

    def section(self, stage: Stage, recording: str) -> Section:
        """The effective parameters of a stage for a recording."""
        overrides = self.registry.recording(recording).parameters
        return effective(stage.section, self.profile.parameters, overrides)

    def defaults(self, stage: Stage) -> Section:
        """A stage's parameters where no recording overrides them."""
        return effective(stage.section, self.profile.parameters)

    def upstream(self, stage: Stage, partition: str) -> list[tuple[str, str]]:
        """The (table, partition) pairs that a partition reads."""
        recording = partition if stage.partition == "recording" else segment_recording(partition)
        return [
            (table, key)
            for table in stage.reads_under(self.profile)
            for key in (
                [recording]
                if TABLES[table].partition == "recording"
                else [partition]
                if stage.partition == "segment"
                else self.registry.segments(recording)
            )
        ]

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
        recording = partition if stage.partition == "recording" else segment_recording(partition)
        entry, section = (
            self.registry.recording(recording),
            self.section(stage, recording),
        )
        return Inputs(
            implementation=stage.implementation,
            parameters=section.model_dump(mode="json"),
            models={
                role: _model(self.profile.identity(role, section))
                for role in stage.served_by(self.profile)
            },
            sources=stage.sources(entry, partition),
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
            for recording in self.registry.recordings if recordings is None else recordings:
                for partition in self.partitions(stage, recording):
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
            why = _difference(entry, self.expected(stage, partition))
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


def _difference(entry: Entry, expected: Inputs) -> str:
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
        reasons.append("its files or its entry in recordings.toml changed")
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
