"""Jobs, schedules and sensors: what runs without being asked."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import (
    UnresolvedAssetJobDefinition,
)

from geb_assets.adding import VIDEO_SUFFIXES, add_videos
from geb_assets.assets import tags_of
from geb_assets.benchmarks import FULL
from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.lineage import Planner
from geb_assets.reloading import reload_location
from geb_assets.stage import Stage
from geb_assets.stages import STAGES
from geb_assets.tables import TABLES, Partition

AnyJob = dg.JobDefinition | UnresolvedAssetJobDefinition

_RETENTION_HOURS = 168
_JOBS: Mapping[Partition, str] = {
    "segment": "write_segments",
    "recording": "write_recordings",
    "benchmark": "benchmarks",
}


_ON_DEMAND = "write_on_demand"


def _job(stage: Stage) -> str:
    return _ON_DEMAND if stage.on_demand else _JOBS[stage.partition]


def _selection(job: str) -> dg.AssetSelection:
    return dg.AssetSelection.assets(*(stage.asset for stage in STAGES if _job(stage) == job))


def jobs() -> list[AnyJob]:
    """One job a partition set (Dagster runs one set at a time), and the upkeep of the tables."""
    return [
        dg.define_asset_job(
            _JOBS["segment"],
            _selection(_JOBS["segment"]),
            description="All stages of an hour of video.",
        ),
        dg.define_asset_job(
            _JOBS["recording"],
            _selection(_JOBS["recording"]),
            description="All stages of a whole recording.",
        ),
        dg.define_asset_job(
            _ON_DEMAND,
            _selection(_ON_DEMAND),
            description="What the baselines of a recording's benchmarks read besides.",
        ),
        dg.define_asset_job(
            _JOBS["benchmark"],
            _selection(_JOBS["benchmark"]),
            description="Predictions and scores of a benchmark and variant (paper, section 4).",
        ),
        maintain_tables,
    ]


@dg.op(required_resource_keys={"home"})
def vacuum_tables(context: dg.OpExecutionContext) -> None:
    """Removes files that no table version of the last week needs."""
    home: Home = context.resources.home
    for name in TABLES:
        removed = home.store.vacuum(name, retention_hours=_RETENTION_HOURS)
        context.log.info(f"{name}: {removed} files removed")


@dg.job(description="Weekly upkeep: drops table files that only old versions need.")
def maintain_tables() -> None:
    vacuum_tables()


def schedules() -> list[dg.ScheduleDefinition]:
    return [
        dg.ScheduleDefinition(
            name="weekly_maintenance", job=maintain_tables, cron_schedule="0 4 * * 0"
        ),
        dg.ScheduleDefinition(
            name="weekly_benchmarks",
            job_name="benchmarks",
            cron_schedule="0 5 * * 0",
            execution_fn=every_benchmark,
            description="Runs every benchmark and variant; one that is up to date answers nothing.",
        ),
    ]


def every_benchmark(
    context: dg.ScheduleEvaluationContext,
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """One run a benchmark and variant, the full system first: others are compared with it."""
    try:
        planner = Home.of_environment().planner(STAGES)
    except GebError as error:
        yield dg.SkipReason(str(error))
        return
    keys = planner.partitions(planner.stages["predictions"])
    if not keys:
        yield dg.SkipReason("no benchmark is registered")
    for key in sorted(keys, key=lambda one: not one.endswith(f"/{FULL}")):
        yield dg.RunRequest(
            partition_key=key,
            run_key=f"{key}|{context.scheduled_execution_time.isoformat()}",
            tags=tags_of(planner.stages["predictions"], key),
        )


def request_stale(
    context: dg.SensorEvaluationContext,
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """Requests every stale hour and recording whose inputs are settled."""
    yield from _stale("segment", "recording")


def request_benchmarks(
    context: dg.SensorEvaluationContext,
) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """Requests every benchmark that is stale, its graphs' change being one reason among others."""
    yield from _stale("benchmark")


def _stale(*sets: Partition) -> Iterator[dg.RunRequest | dg.SkipReason]:
    """Level-triggered: asks the planner every time.

    Requests every stale partition whose inputs are settled, so that one that keeps failing holds
    up nothing but what needs it. Failed model calls are repeated by hand, not every 30 seconds.
    """
    try:
        planner = Home.of_environment().planner(STAGES)
        plan = planner.plan()
    except GebError as error:
        yield dg.SkipReason(str(error))
        return
    unsettled = {(step.asset, step.partition) for step in plan}
    plan = [step for step in plan if planner.stages[step.asset].partition in sets]
    ready = [
        step
        for step in plan
        if step.state == "stale"
        and not unsettled.intersection(planner.before(planner.stages[step.asset], step.partition))
        and not planner.only_failed(planner.stages[step.asset], step.partition)
    ]
    if not ready:
        yield dg.SkipReason("nothing is stale" if not plan else "nothing that is stale can run")
        return
    for step in ready:
        stage = planner.stages[step.asset]
        yield dg.RunRequest(
            job_name=_job(stage),
            partition_key=step.partition,
            asset_selection=[dg.AssetKey(stage.asset)],
            run_key=_run_key(planner, stage, step.partition),
            tags=tags_of(stage, step.partition),
        )


def _run_key(planner: Planner, stage: Stage, partition: str) -> str:
    """One run for each change: what is expected, and the run that left what is there now.

    The second half lets a parameter go back to a value it had before.
    """
    entry = planner.entries.get((stage.asset, partition))
    expected = planner.expected(stage, partition).fingerprint
    return f"{stage.asset}|{partition}|{expected}|{entry.run_id if entry else ''}"


def take_in_videos(context: dg.SensorEvaluationContext) -> Iterator[dg.SkipReason]:
    """A file counts once its size stood still between two looks; a refused one is not tried again
    until it changes."""
    home = Home.of_environment()
    try:
        registry = home.registry()
    except GebError as error:
        yield dg.SkipReason(str(error))
        return
    seen: dict[str, int] = json.loads(context.cursor or "{}")
    now = {
        str(path): path.stat().st_size
        for path in sorted(home.inbox.glob("*/*"))
        if path.suffix.lower() in VIDEO_SUFFIXES
    }
    added: list[str] = []
    known = {video.path for r in registry.recordings.values() for video in r.videos}
    for name, size in now.items():
        if name not in known and seen.get(name) == -size:  # refused at this size before
            now[name] = -size
        if name in known or seen.get(name) != size:
            continue
        try:
            add_videos(home, Path(name).parent.name, [Path(name)])
            added.append(Path(name).name)
        except GebError as error:
            context.log.error(str(error))
            now[name] = -size
    context.update_cursor(json.dumps(now))
    if added:
        reload_location(home)
    yield dg.SkipReason(f"added {', '.join(added)}" if added else "no new video in the inbox")


def sensors(jobs: Sequence[AnyJob]) -> list[dg.SensorDefinition]:
    """All start switched off; the UI switches them on."""
    writing = [job for job in jobs if job.name.startswith("write_")]
    measuring = [job for job in jobs if job.name == "benchmarks"]
    return [
        dg.SensorDefinition(
            name="stale_partitions",
            evaluation_fn=request_stale,
            jobs=writing,
            minimum_interval_seconds=30,
            description="Materializes what the planner finds stale, the first stale asset first.",
        ),
        dg.SensorDefinition(
            name="stale_benchmarks",
            evaluation_fn=request_benchmarks,
            jobs=measuring,
            minimum_interval_seconds=60,
            description="Runs the benchmarks whose graph, questions or parameters changed.",
        ),
        dg.SensorDefinition(
            name="inbox",
            evaluation_fn=take_in_videos,
            jobs=writing,
            minimum_interval_seconds=30,
            description="Adds videos put into the home's inbox/RECORDING/; reloads the location.",
        ),
    ]
