"""The one place that assembles assets, checks, jobs, schedules, sensors and resources."""

from __future__ import annotations

import dagster as dg

from geb_assets.assets import stage_asset, up_to_date_check
from geb_assets.automation import jobs, schedules, sensors
from geb_assets.benchmarks import Benchmarks
from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.partitions import Partitions
from geb_assets.registry import Registry
from geb_assets.stages import STAGES


def build(home: Home) -> dg.Definitions:
    """The definitions over a home's recordings.

    A registry that cannot be read empties the partitions and shows the fault as an asset of its
    own: the location still loads, so that the fault can be seen and mended.
    """
    faults: list[dg.AssetSpec] = []
    try:
        registry, benchmarks = home.registry(), home.benchmarks()
    except GebError as error:
        registry, benchmarks = Registry(), Benchmarks()
        faults = [dg.AssetSpec("registry_fault", description=str(error), group_name="fault")]
    partitions = Partitions(registry, benchmarks)
    known_jobs = jobs()
    return dg.Definitions(
        assets=[*(stage_asset(stage, STAGES, partitions) for stage in STAGES), *faults],
        asset_checks=[up_to_date_check(stage, STAGES) for stage in STAGES],
        jobs=known_jobs,
        schedules=schedules(),
        sensors=sensors(known_jobs),
        resources={"home": dg.ResourceDefinition.hardcoded_resource(home)},
        executor=dg.in_process_executor,
    )


defs = build(Home.of_environment())
