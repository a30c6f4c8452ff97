"""Materializing what is stale through Dagster, one asset after the other, to a fixed point."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources as package_files
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.errors import DagsterExecutionInterruptedError
from dagster._core.storage.dagster_run import IN_PROGRESS_RUN_STATUSES

from geb_assets.assets import stage_asset, tags_of
from geb_assets.benchmarks import Benchmarks
from geb_assets.errors import GebError, refusal
from geb_assets.forgetting import drop_orphans
from geb_assets.home import Home
from geb_assets.lineage import Planner, Step
from geb_assets.partitions import Partitions
from geb_assets.registry import Registry
from geb_assets.stage import Stage
from geb_assets.stages import STAGES

BUILD_TAG = "geb/build"
"""Marks the runs of ``geb build``, which no daemon looks after."""


@dataclass(frozen=True)
class Ran:
    """One partition that was materialized."""

    asset: str
    partition: str
    seconds: float
    changed: bool


@dataclass(frozen=True)
class Built:
    """What a build did."""

    ran: tuple[Ran, ...]
    faults: tuple[str, ...]
    """One plain line for each reason why partitions could not be built."""


def instance_folder(home: Home) -> Path:
    """The home's Dagster folder, with the project's ``dagster.yaml`` in it."""
    folder = home.path / "dagster"
    target = folder / "dagster.yaml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            partial = target.with_suffix(".partial")
            shutil.copyfile(_instance_settings(), partial)
            partial.replace(target)
    except OSError as error:
        raise refusal(home.path, error) or error from None
    return folder


def _instance_settings() -> Path:
    """``dagster.yaml``: beside the package in a checkout, inside it where it is installed."""
    package = Path(str(package_files.files("geb_assets")))
    inside = package / "dagster.yaml"
    return inside if inside.exists() else package.parent / "dagster.yaml"


@contextmanager
def _instance(home: Home) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.from_config(str(instance_folder(home))) as instance:
        _end_abandoned(instance)
        yield instance


def _end_abandoned(instance: dg.DagsterInstance) -> None:
    """Ends the runs of builds that were killed: they would hold up the UI's queue for ever."""
    unfinished = dg.RunsFilter(tags={BUILD_TAG: "yes"}, statuses=list(IN_PROGRESS_RUN_STATUSES))
    for run in instance.get_runs(unfinished):
        instance.report_run_failed(run, "geb build was ended before this run was over")


def build(
    home: Home,
    *,
    recordings: Sequence[str] | None = None,
    to: str | None = None,
    benchmarks: Sequence[str] | None = None,
    memories_only: bool = False,
    tell: Callable[[Ran], None] = lambda ran: None,
) -> Built:
    """Materializes the first stale asset's partitions, plans again, and ends when nothing is stale.

    ``to`` stops at an asset and what it needs; ``benchmarks`` (keys ``benchmark/variant``) builds
    the predictions and scores of these alone, and what is made for their sake; ``memories_only``
    leaves predictions, scores and what is made for their sake as they are. A partition that fails
    is told of at the end, and what does not depend on it goes on.
    """
    wanted = _wanted(to)
    ran: list[Ran] = []
    faults: dict[tuple[str, str], str] = {}
    tried: set[tuple[str, str, str]] = set()
    for name in recordings or ():
        home.registry().recording(name)
    with home.alone(), _refusals(home), _instance(home) as instance:
        drop_orphans(home)
        shells: _Shells | None = None
        while True:
            planner = home.planner(STAGES)
            # Recordings may be added while this goes on.
            known = planner.registry, planner.benchmarks
            if shells is None or shells.known != known:
                shells = _Shells(home, *known)
            plan = planner.plan(recordings)
            if benchmarks is not None:
                for_them = made_for(planner, benchmarks)
                plan = [step for step in plan if (step.asset, step.partition) in for_them]
            if memories_only:
                plan = [step for step in plan if _of_memory(planner.stages[step.asset])]
            steps = _next(planner, plan, wanted, faults, tried)
            if not steps:
                return Built(tuple(ran), tuple(dict.fromkeys(faults.values())))
            for step in steps:
                stage = planner.stages[step.asset]
                expected = planner.expected(stage, step.partition).fingerprint
                tried.add((step.asset, step.partition, expected))
                fault, one = shells.materialize(stage, step.partition, instance)
                if fault:
                    faults[step.asset, step.partition] = fault
                elif one is not None:
                    faults.pop((step.asset, step.partition), None)
                    ran.append(one)
                    tell(one)


def made_for(planner: Planner, benchmarks: Sequence[str]) -> set[tuple[str, str]]:
    """The (asset, partition) pairs of these benchmarks, and those made on demand that they read."""
    own = [s for s in planner.stages.values() if s.partition == "benchmark"]
    pairs = {(stage.asset, key) for stage in own for key in benchmarks}
    before = {pair for stage in own for key in benchmarks for pair in planner.before(stage, key)}
    return pairs | {pair for pair in before if planner.stages[pair[0]].on_demand}


def _wanted(to: str | None) -> set[str]:
    """The assets to build: all, or one and what it needs."""
    by_name = {stage.asset: stage for stage in STAGES}
    if to is None:
        return set(by_name)
    if to not in by_name:
        raise GebError(f"no asset '{to}'; there are {', '.join(by_name)}")
    wanted = {to}
    for stage in reversed(STAGES):
        if stage.asset in wanted:
            wanted.update(stage.upstream)
    return wanted


def _of_memory(stage: Stage) -> bool:
    return stage.partition != "benchmark" and not stage.on_demand


def _next(
    planner: Planner,
    plan: Sequence[Step],
    wanted: set[str],
    faults: dict[tuple[str, str], str],
    tried: set[tuple[str, str, str]],
) -> list[Step]:
    """The stale partitions of the first asset that has any that can run now."""
    ready: list[Step] = []
    for step in plan:
        if ready and step.asset != ready[0].asset:
            break
        stage = planner.stages[step.asset]
        if step.state != "stale" or step.asset not in wanted:
            continue
        if planner.missing(stage, step.partition) is not None:
            continue
        if any(pair in faults for pair in planner.before(stage, step.partition)):
            continue
        fingerprint = planner.expected(stage, step.partition).fingerprint
        if (step.asset, step.partition, fingerprint) not in tried:
            ready.append(step)
    return ready


class _Shells:
    """The Dagster assets over one registry, materialized in this process."""

    def __init__(self, home: Home, registry: Registry, benchmarks: Benchmarks) -> None:
        self.home, self.known = home, (registry, benchmarks)
        partitions = Partitions(registry, benchmarks)
        self.assets = [stage_asset(stage, STAGES, partitions) for stage in STAGES]

    def materialize(
        self, stage: Stage, partition: str, instance: dg.DagsterInstance
    ) -> tuple[str, Ran | None]:
        """Runs one partition; returns the plain line of its fault, or what ran."""
        with _quiet():
            done = dg.materialize(
                self.assets,
                selection=[stage.asset],
                partition_key=partition,
                instance=instance,
                resources={"home": self.home},
                raise_on_error=False,
                tags={**tags_of(stage, partition), BUILD_TAG: "yes"},
                run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
            )
        if not done.success:
            if _interrupted(done):
                raise KeyboardInterrupt
            return _fault(done, stage, partition), None
        event = done.asset_materializations_for_node(stage.asset)[0]
        values: dict[str, Any] = {key: value.value for key, value in event.metadata.items()}
        return "", Ran(
            stage.asset,
            partition,
            float(values.get("seconds", 0.0) or 0.0),
            bool(values.get("changed", False)),
        )


def _interrupted(done: Any) -> bool:
    """Whether a run failed because it was told to end: Dagster makes a step's failure of it."""
    return any(
        event.event_type_value == "STEP_FAILURE"
        and event.step_failure_data.error.cls_name == DagsterExecutionInterruptedError.__name__
        for event in done.all_events
    )


def _fault(done: Any, stage: Stage, partition: str) -> str:
    """The plain line of a failed run; what nobody foresaw keeps its type and place."""
    for event in done.all_events:
        if event.event_type_value == "STEP_FAILURE":
            error = event.step_failure_data.error
            described = event.step_failure_data.user_failure_data
            if described is not None and described.description:
                return str(described.description)
            cause = error.cause or error
            place = cause.stack[-1].strip().splitlines()[0] if cause.stack else ""
            return (
                f"{stage.asset} of {partition} failed: {cause.message.strip()} ({place}); "
                "please report it"
            )
    return f"{stage.asset} of {partition} failed; see the run in: geb ui"


@contextmanager
def _refusals(home: Home) -> Iterator[None]:
    """Says it plainly where Dagster's own files cannot be written, and passes an interrupt on."""
    try:
        yield
    except DagsterExecutionInterruptedError:
        raise KeyboardInterrupt from None
    except Exception as error:
        raise refusal(home.path, error) or error from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Dagster's own log goes to its run, not over the progress bars."""
    logger = logging.getLogger("dagster")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
