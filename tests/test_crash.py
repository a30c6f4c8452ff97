"""``geb build`` killed at random moments: nothing is lost, nothing is half written."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.storage.dagster_run import IN_PROGRESS_RUN_STATUSES

from geb_assets.building import instance_folder
from geb_assets.home import Home
from geb_assets.stages import STAGES
from tests.homes import add_all, versions
from tests.test_lineage import check_tables

KILLS = 20


def start(home: Home) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "geb_assets.cli", "build", "--json"],
        env={**os.environ, "GEB_HOME": str(home.path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def killed(home: Home, process: subprocess.Popen[bytes], steps: int, pause: float) -> bool:
    """Kills the build so long after so many more partitions; False where it ended before."""
    at_first, until = len(home.ledger.entries()), float("inf")
    while process.poll() is None:
        if until == float("inf") and len(home.ledger.entries()) >= at_first + steps:
            until = time.monotonic() + pause
        if time.monotonic() >= until:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
        time.sleep(0.005)
    assert process.stderr is not None
    assert process.returncode == 0, process.stderr.read()
    return False


def check_sound(home: Home, finished: dict[tuple[str, str], str]) -> None:
    """Whatever the ledger holds is on disk, whole; what was finished has not been done again."""
    entries = home.ledger.entries()
    for key, run in finished.items():
        assert entries[key].run_id == run, key
    finished.update({key: entry.run_id for key, entry in entries.items()})


@pytest.mark.slow
def test_a_build_killed_twenty_times_ends_as_if_undisturbed(
    home: Home, videos: Path, tmp_path: Path
) -> None:
    whole = {key: v for key, v in versions(home).items() if key[1].split("/")[0] == "s"}
    chance = random.Random(11)
    kills = homes = 0
    while kills < KILLS:
        fresh = Home(tmp_path / f"home{homes}")
        homes += 1
        add_all(fresh, videos, "s")
        finished: dict[tuple[str, str], str] = {}
        while True:
            # Now inside the work of a partition, now around its commit.
            pause = chance.choice([chance.uniform(0, 0.05), chance.uniform(0, 3)])
            if kills >= KILLS:
                pause = 1e9
            process = start(fresh)
            if killed(fresh, process, chance.randint(0, 2), pause):
                kills += 1
                check_sound(fresh, finished)
                continue
            check_sound(fresh, finished)
            break
        assert fresh.planner(STAGES).plan() == []
        assert versions(fresh) == whole
        check_tables(fresh)
        assert not list((fresh.cache / "partial").rglob("*.parquet"))
        with dg.DagsterInstance.from_config(str(instance_folder(fresh))) as instance:
            open_runs = dg.RunsFilter(statuses=list(IN_PROGRESS_RUN_STATUSES))
            assert instance.get_runs(open_runs) == []
