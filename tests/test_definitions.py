from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from geb_assets import definitions
from geb_assets.adding import set_parameters
from geb_assets.automation import request_stale, take_in_videos
from geb_assets.building import instance_folder
from geb_assets.home import Home
from geb_assets.registry import FILE, LineFile, Recording, Registry, Video, edit
from geb_assets.stages import STAGES
from tests.films import numbered, steady, write_video
from tests.homes import built, default, up_to_date, versions

SNAPSHOT = Path(__file__).with_name("definitions.json")


def known(folder: Path) -> Home:
    """A home of two recordings, one of them with video in two hours."""
    videos = tuple(
        Video(path=f"/videos/{n}.mp4", size=1, mtime_ns=1, digest=f"{n}", start_s=36_000.0 + n,
              duration_s=9.0, frames=90)
        for n in (0, 3600)
    )  # fmt: skip
    said = LineFile(path="/said.csv", size=1, mtime_ns=1, digest="s", kind="caption")
    recordings = {
        "ego": Recording(clock="egolife", videos=videos),
        "said": Recording(lines=(said,)),
    }
    edit(folder, lambda _: Registry(recordings=recordings))
    return Home(folder)


def shape(defs: dg.Definitions) -> dict[str, Any]:
    """What users see of the definitions, as plain JSON values."""
    repository = defs.get_repository_def()
    graph = repository.asset_graph
    assets = {}
    for key in sorted(graph.get_all_asset_keys()):
        node = graph.get(key)
        partitions = node.partitions_def.get_partition_keys() if node.partitions_def else None
        assets[key.to_user_string()] = {
            "group": node.group_name,
            "kinds": sorted(node.kinds),
            "owners": sorted(str(owner) for owner in node.owners),
            "deps": sorted(parent.to_user_string() for parent in node.parent_keys),
            "partitions": list(partitions or ()),
            "checks": sorted(check.name for check in node.check_keys),
            "columns": len(node.metadata["dagster/column_schema"].columns),
        }
    return {
        "assets": assets,
        "jobs": sorted(job.name for job in repository.get_all_jobs() if "__" not in job.name),
        "schedules": {one.name: one.cron_schedule for one in repository.schedule_defs},
        "sensors": {
            one.name: {"seconds": one.minimum_interval_seconds,
                       "jobs": sorted(job.name for job in one.jobs)}
            for one in repository.sensor_defs
        },
        "resources": sorted(repository.get_top_level_resources()),
    }  # fmt: skip


def test_the_definitions_are_those_of_the_snapshot(tmp_path: Path) -> None:
    """Written anew by: python -m tests.test_definitions"""
    found = shape(definitions.build(known(tmp_path)))
    assert found == json.loads(SNAPSHOT.read_text())


def test_every_asset_says_what_it_is(tmp_path: Path) -> None:
    graph = definitions.build(known(tmp_path)).get_repository_def().asset_graph
    for key in graph.get_all_asset_keys():
        node = graph.get(key)
        assert re.search("paper|appendix", node.description or ""), key
        assert node.code_version
        for column in node.metadata["dagster/column_schema"].columns:
            assert column.description, (key, column.name)


def test_lineage_joins_segments_to_their_recording(tmp_path: Path) -> None:
    graph = definitions.build(known(tmp_path)).get_repository_def().asset_graph
    node = graph.get(dg.AssetKey("entities"))
    mapping = node.partition_mappings[dg.AssetKey("embeddings")]
    segments = graph.get(dg.AssetKey("embeddings")).partitions_def
    assert node.partitions_def is not None and segments is not None
    wanted = node.partitions_def.subset_with_partition_keys(["ego"])
    upstream = mapping.get_upstream_mapped_partitions_result_for_partitions(
        wanted, node.partitions_def, segments
    )
    assert set(upstream.partitions_subset.get_partition_keys()) == {
        "ego/d001-10h", "ego/d001-11h"
    }  # fmt: skip


def test_an_empty_home_loads(tmp_path: Path) -> None:
    assert shape(definitions.build(Home(tmp_path)))["assets"]["clips"]["partitions"] == []


def test_a_registry_that_cannot_be_read_is_shown_and_the_rest_loads(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("[recordings.a\n")
    defs = definitions.build(Home(tmp_path))
    graph = defs.get_repository_def().asset_graph
    fault = graph.get(dg.AssetKey("registry_fault"))
    assert "is no valid TOML" in (fault.description or "")
    assert graph.has(dg.AssetKey("clips"))


HEAVY = ("torch", "transformers", "ultralytics", "onnxruntime", "trackers", "matplotlib", "faiss")


def test_loading_the_definitions_loads_no_model_library() -> None:
    script = (
        "import sys, geb_assets.definitions\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def ask(function: Any, home: Home, cursor: str | None = None) -> tuple[list[Any], str | None]:
    """What a sensor yields over a home, and its cursor after."""
    with dg.DagsterInstance.ephemeral() as instance:
        context = dg.build_sensor_context(instance=instance, cursor=cursor)
        return list(function(context)), context.cursor


def test_the_sensor_asks_for_the_first_stale_asset_alone(home: Home) -> None:
    (skip,) = ask(request_stale, home)[0]
    assert skip.skip_message == "nothing is stale"

    set_parameters(home, "r", {"tracks.buffer_s": 1.7, "association.theta_match": 0.9999})
    first, _ = ask(request_stale, home)
    assert [(r.job_name, r.partition_key, r.asset_selection) for r in first] == [
        ("write_segments", key, [dg.AssetKey("tracks")]) for key in ("r/d001-10h", "r/d001-11h")
    ]
    assert {r.tags["geb/recording"] for r in first} == {"r"}
    again, _ = ask(request_stale, home)
    assert [r.run_key for r in again] == [r.run_key for r in first]

    set_parameters(home, "r", {"tracks.buffer_s": default("tracks.buffer_s")})
    (request,), _ = ask(request_stale, home)
    assert (request.job_name, request.partition_key) == ("write_recordings", "r")
    key = request.run_key
    up_to_date(home, "r")
    assert ask(request_stale, home)[0][0].skip_message == "nothing is stale"
    set_parameters(home, "r", {"association.theta_match": 0.9998})
    up_to_date(home, "r")
    set_parameters(home, "r", {"association.theta_match": 0.9999})
    (back,), _ = ask(request_stale, home)
    assert back.run_key != key  # a value may come back

    (home.path / FILE).write_text("[recordings.a\n")
    (skip,) = ask(request_stale, home)[0]
    assert "is no valid TOML" in skip.skip_message


def test_the_requests_fit_the_jobs(home: Home) -> None:
    set_parameters(home, "s", {"detections.max_per_frame": 200})
    defs = definitions.build(home)
    with dg.DagsterInstance.ephemeral() as instance:
        repository = defs.get_repository_def()
        context = dg.build_sensor_context(instance=instance, repository_def=repository)
        ticked = repository.get_sensor_def("stale_partitions").evaluate_tick(context)
    (request,) = ticked.run_requests or []
    job = repository.get_job(str(request.job_name))
    assert job.partitions_def is not None
    assert request.partition_key in job.partitions_def.get_partition_keys()


def test_a_video_put_into_the_inbox_is_added_once_it_stands_still(
    home: Home, tmp_path: Path
) -> None:
    folder = home.inbox / "t"
    folder.mkdir(parents=True)
    film = write_video(folder / "a.mp4", numbered(), steady(3))
    (folder / "notes.txt").write_text("not a video")
    (skip,), cursor = ask(take_in_videos, home)
    assert "t" not in home.registry().recordings
    (skip,), cursor = ask(take_in_videos, home, cursor)
    assert skip.skip_message == "added a.mp4"
    assert [v.path for v in home.registry().recording("t").videos] == [str(film)]
    (folder / "b.mp4").write_text("no video")
    for _ in range(3):
        (skip,), cursor = ask(take_in_videos, home, cursor)
        assert skip.skip_message == "no new video in the inbox"
    assert len(home.registry().recording("t").videos) == 1


@pytest.fixture
def dagster(home: Home) -> Iterator[Any]:
    """Runs Dagster's own command on the home."""
    environment = {
        **os.environ,
        "GEB_HOME": str(home.path),
        "DAGSTER_HOME": str(instance_folder(home)),
    }

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "dagster", *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    yield run


@pytest.mark.slow
def test_dagster_validates_the_definitions(dagster: Any) -> None:
    done = dagster("definitions", "validate", "-m", "geb_assets.definitions")
    assert done.returncode == 0, done.stderr
    assert "Validation successful" in done.stdout + done.stderr


@pytest.mark.slow
def test_materializing_through_dagster_is_what_geb_build_does(home: Home, dagster: Any) -> None:
    set_parameters(home, "r", {"association.theta_match": 0.9999, "tracks.buffer_s": 1.7})
    for asset, partition in (
        ("tracks", "r/d001-10h"), ("tracks", "r/d001-11h"), ("entities", "r"), ("graph", "r")
    ):  # fmt: skip
        done = dagster("asset", "materialize", "-m", "geb_assets.definitions",
                       "--select", asset, "--partition", partition)  # fmt: skip
        assert done.returncode == 0, done.stderr
    stale = {(step.asset, step.partition) for step in home.planner(STAGES).plan()}
    assert not {key for key in stale if key[0] in ("tracks",)}
    through_dagster = versions(home)
    built(home)
    assert home.planner(STAGES).plan() == []
    assert versions(home)["tracks", "r/d001-10h"] == through_dagster["tracks", "r/d001-10h"]


@pytest.mark.slow
def test_a_refusal_reaches_dagster_s_user_as_the_same_plain_line(home: Home, dagster: Any) -> None:
    home.ledger.drop("embeddings", "r/d001-10h")
    done = dagster("asset", "materialize", "-m", "geb_assets.definitions",
                   "--select", "entities", "--partition", "r")  # fmt: skip
    assert done.returncode != 0
    assert "needs embeddings of r/d001-10h, which is not built; run: geb build r" in done.stderr


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        content = json.dumps(shape(definitions.build(known(Path(folder)))), indent=1)
        SNAPSHOT.write_text(content + "\n")
