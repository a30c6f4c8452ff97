"""Jobs, schedules and sensors: what runs without being asked."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import (
    UnresolvedAssetJobDefinition,
)

from geb_assets.adding import VIDEO_SUFFIXES, add_videos
from geb_assets.assets import RECORDING_TAG, recording_of
from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.lineage import Planner
from geb_assets.reloading import reload_location
from geb_assets.stage import Stage
from geb_assets.stages import STAGES
from geb_assets.tables import TABLES

AnyJob = dg.JobDefinition | UnresolvedAssetJobDefinition

_RETENTION_HOURS = 168


def _selection(partition: str) -> dg.AssetSelection:
    return dg.AssetSelection.assets(*(s.asset for s in STAGES if s.partition == partition))


def jobs() -> list[AnyJob]:
    """One job a partition set (Dagster runs one set at a time), and the upkeep of the tables."""
    return [
        dg.define_asset_job(
            "write_segments",
            _selection("segment"),
            description="All stages of an hour of video.",
        ),
        dg.define_asset_job(
            "write_recordings",
            _selection("recording"),
            description="All stages of a whole recording.",
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
        )
    ]


def request_stale(
    context: dg.SensorEvaluationContext,
) -> Iterator[dg.RunRequest | dg.SkipReason]:
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
            job_name=f"write_{stage.partition}s",
            partition_key=step.partition,
            asset_selection=[dg.AssetKey(stage.asset)],
            run_key=_run_key(planner, stage, step.partition),
            tags={RECORDING_TAG: recording_of(stage, step.partition)},
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
    """Both start switched off; the UI switches them on."""
    writing = [job for job in jobs if job.name.startswith("write_")]
    return [
        dg.SensorDefinition(
            name="stale_partitions",
            evaluation_fn=request_stale,
            jobs=writing,
            minimum_interval_seconds=30,
            description="Materializes what the planner finds stale, the first stale asset first.",
        ),
        dg.SensorDefinition(
            name="inbox",
            evaluation_fn=take_in_videos,
            jobs=writing,
            minimum_interval_seconds=30,
            description="Adds videos put into the home's inbox/RECORDING/; reloads the location.",
        ),
    ]
