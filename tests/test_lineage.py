from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from geb_assets.adding import add_videos, set_parameters
from geb_assets.errors import GebError
from geb_assets.forgetting import forget
from geb_assets.home import Home
from geb_assets.lineage import Planner, Step
from geb_assets.parameters import Section
from geb_assets.reading.memory import Memory
from geb_assets.run import rebuild_ledger, run_partition
from geb_assets.stage import Work
from geb_assets.stages import STAGES
from geb_assets.tables import TABLES
from resources.describer import Description, DescriptionFailed, Encounter
from resources.describer.rules import RulesDescriber
from resources.identity import ModelIdentity
from resources.profiles import EMBEDDED, PROFILES, Roles
from resources.store import DeltaStore, data_version
from tests.homes import SPARE, built, default, up_to_date, versions

THETA_MATCH = default("association.theta_match")
BY_NAME = {stage.asset: stage for stage in STAGES}


def plan(home: Home) -> dict[tuple[str, str], Step]:
    return {(step.asset, step.partition): step for step in home.planner(STAGES).plan()}


def states(home: Home, state: str) -> set[tuple[str, str]]:
    return {key for key, step in plan(home).items() if step.state == state}


def reached(*assets: str) -> set[str]:
    """The assets that read, through any number of others, what these write."""
    found = set(assets)
    for stage in STAGES:
        if found & {TABLES[table].asset for table in stage.reads_under(EMBEDDED)}:
            found.add(stage.asset)
    return found - set(assets)


def partitions(home: Home, recording: str, assets: set[str]) -> set[tuple[str, str]]:
    planner = home.planner(STAGES)
    return {(a, p) for a in assets for p in planner.partitions(BY_NAME[a], [recording])}


def runs(home: Home) -> dict[tuple[str, str], str]:
    return {key: entry.run_id for key, entry in home.ledger.entries().items()}


def check_tables(home: Home) -> None:
    """What is on disk is what the ledger says, and nothing besides."""
    entries = home.ledger.entries()
    for (asset, partition), entry in entries.items():
        column = BY_NAME[asset].partition
        for table, version in entry.versions.items():
            rows = home.store.read(table, **{column: partition})
            assert data_version(TABLES[table], rows) == version, (table, partition)
    for name, table in TABLES.items():
        column = table.partition
        there = set(home.store.scan(name).select(column).collect()[column])
        assert there <= {p for asset, p in entries if asset == table.asset}, name


def test_nothing_is_stale_after_a_build_and_a_second_one_runs_nothing(home: Home) -> None:
    assert plan(home) == {}
    assert built(home).ran == ()
    check_tables(home)


def test_the_tiny_recording_is_worth_testing_on(home: Home) -> None:
    entities = home.store.read("entities", recording="r")
    sign = entities.filter(pl.col("display_name") == "stop sign")
    assert sign.height == 1
    members = home.store.read("memberships", recording="r").filter(
        pl.col("entity") == sign["entity"][0]
    )
    assert {name.split("/")[1][:7] for name in members["observation"]} == {"d001-10", "d001-11"}
    assert home.store.read("separations").height > 0


@pytest.mark.parametrize(
    ("parameter", "value", "asset"),
    [
        ("clips.jpeg_quality", 80, "clips"),
        ("detections.min_confidence", 0.06, "detections"),
        ("tracks.buffer_s", 1.7, "tracks"),
        ("observations.min_visible_s", 2.5, "observations"),
        ("lines.footage_margin_s", 30.0, "lines"),
        ("descriptions.move_share", 0.4, "descriptions"),
        ("embeddings.picture_weight", 0.5, "embeddings"),
        ("association.theta_match", 0.99, "entities"),
        ("episodes.words_1h", 900, "episodes"),
        ("graph.same_instance", 0.4, "graph"),
    ],
)
def test_a_parameter_makes_its_own_asset_stale_and_may_change_what_that_reaches(
    home: Home, parameter: str, value: float, asset: str
) -> None:
    set_parameters(home, "r", {parameter: value})
    assert states(home, "stale") == partitions(home, "r", {asset})
    assert states(home, "may change") == partitions(home, "r", reached(asset))
    name = parameter.split(".")[1]
    for key in states(home, "stale"):
        assert plan(home)[key].why.startswith(f"parameter {name} ")
        assert f" -> {value}" in plan(home)[key].why


def test_unchanged_output_stops_the_chain_and_a_changed_one_goes_on(home: Home) -> None:
    before, ran_before = versions(home), runs(home)
    set_parameters(home, "r", {"association.separation_min_shared": 4})
    assert [(r.asset, r.changed) for r in built(home).ran] == [("entities", False)]
    assert versions(home) == before
    assert plan(home) == {}

    set_parameters(home, "r", {"association.theta_match": 0.9999})
    assert up_to_date(home) == [("entities", True), ("graph", True)]
    assert versions(home) != before

    set_parameters(home, "r", {"association.theta_match": THETA_MATCH})
    assert up_to_date(home) == [("entities", True), ("graph", True)]
    assert versions(home) == before
    check_tables(home)
    others = {key: run for key, run in runs(home).items() if key[0] not in ("entities", "graph")}
    assert others.items() <= ran_before.items()
    assert runs(home)["entities", "s"] == ran_before["entities", "s"]


def test_a_tracker_parameter_restarts_at_the_tracks_and_leaves_the_other_recording(
    home: Home,
) -> None:
    before = runs(home)
    set_parameters(home, "s", {"tracks.buffer_s": 1.7})
    ran = [asset for asset, _ in up_to_date(home)]
    assert ran[0] == "tracks"
    assert not {"clips", "detections"} & set(ran)
    after = runs(home)
    assert {k: v for k, v in after.items() if not k[1].startswith("s")} == {
        k: v for k, v in before.items() if not k[1].startswith("s")
    }


def test_the_plan_tells_why(home: Home) -> None:
    planner = home.planner(STAGES)

    def why(planner: Planner, asset: str) -> set[str]:
        return {s.why for s in planner.plan(["s"]) if s.asset == asset and s.state == "stale"}

    newer = [replace(s, implementation="2") if s.asset == "graph" else s for s in STAGES]
    assert why(Planner(newer, planner.registry, planner.profile, planner.entries), "graph") == {
        "implementation 1 -> 2"
    }

    class Other:
        identity = ModelIdentity("another-tracker", "9", "abc")

    def other(models: Path, section: Section) -> Other:
        return Other()

    changed = replace(EMBEDDED, roles={**EMBEDDED.roles, "tracker": other})
    (reason,) = why(Planner(STAGES, planner.registry, changed, planner.entries), "tracks")
    assert reason.startswith("model of the tracker ")
    assert reason.endswith(" -> another-tracker@9#abc")

    fewer = {k: v for k, v in planner.entries.items() if k != ("graph", "s")}
    assert why(Planner(STAGES, planner.registry, planner.profile, fewer), "graph") == {
        "never built"
    }

    entry = planner.entries["entities", "s"]
    moved = {**planner.entries, ("entities", "s"): replace(entry, versions={
        **entry.versions, "memberships": "0" * 32})}  # fmt: skip
    assert why(Planner(STAGES, planner.registry, planner.profile, moved), "graph") == {
        "input memberships changed"
    }

    recording = planner.registry.recording("s")
    late = recording.videos[0].model_copy(update={"start_s": recording.videos[0].start_s + 1})
    videos = (late, *recording.videos[1:])
    registry = planner.registry.model_copy(
        update={"recordings": {"s": recording.model_copy(update={"videos": videos})}}
    )
    assert why(Planner(STAGES, registry, planner.profile, planner.entries), "clips") == {
        "its files or its entry in recordings.toml changed"
    }


def test_the_columns_that_explain_why_reach_nothing(home: Home) -> None:
    """``graph`` depends on who belongs to whom, not on the similarities that tell why."""
    set_parameters(home, "r", {"association.theta_cons": 0.1})
    assert up_to_date(home) == [("entities", False)]


def test_the_ledger_can_be_rebuilt_from_the_commits(home: Home) -> None:
    set_parameters(home, "r", {"association.theta_match": 0.9999})
    up_to_date(home)
    before = home.ledger.entries()
    home.ledger.path.unlink()
    assert rebuild_ledger(home, STAGES) == len(before)
    assert home.ledger.entries() == before
    forget(home, "s")
    kept = home.ledger.entries()
    rebuild_ledger(home, STAGES)
    assert home.ledger.entries() == kept


def test_a_lost_ledger_costs_no_work(home: Home) -> None:
    before = home.ledger.entries()
    home.ledger.path.unlink()
    assert {changed for _, changed in up_to_date(home, "s")} == {False}
    after = home.ledger.entries()
    assert after == {key: entry for key, entry in before.items() if key in after}


def test_a_damaged_ledger_is_said_so(home: Home) -> None:
    home.ledger.path.write_bytes(b"no database at all" * 100)
    for leftover in home.path.glob("ledger.sqlite-*"):
        leftover.unlink()
    with pytest.raises(GebError, match=r"damaged.*geb doctor"):
        home.planner(STAGES)


class Picky:
    """The rules, but for labels that it cannot describe today; remembers what it was asked."""

    def __init__(self, refused: set[str], asked: list[str]) -> None:
        self._rules = RulesDescriber()
        self._refused, self._asked = refused, asked

    @property
    def identity(self) -> ModelIdentity:
        return self._rules.identity

    @property
    def in_flight(self) -> int:
        return 1

    def describe(self, encounter: Encounter) -> Description:
        self._asked.append(encounter.label)
        if encounter.label in self._refused:
            raise DescriptionFailed("the server did not answer")
        return self._rules.describe(encounter)


def test_failed_calls_are_listed_and_made_again_alone(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = versions(home)
    refused, asked = {"stop sign"}, list[str]()
    picky = replace(
        EMBEDDED,
        roles={**EMBEDDED.roles, "describer": lambda models, section: Picky(refused, asked)},
    )
    monkeypatch.setitem(PROFILES, "embedded", picky)  # type: ignore[attr-defined]
    set_parameters(home, "r", {"descriptions.touch_iou": 0.03})
    built(home, to="descriptions")
    labels = home.store.read("observations", recording="r")["label"].to_list()
    assert sorted(asked) == sorted(labels)

    rows = home.store.read("descriptions", recording="r")
    failed = rows.filter(pl.col("status") == "failed")
    assert failed.height == labels.count("stop sign") > 0
    assert set(failed["summary"]) == {""}
    assert set(failed["error"]) == {"the server did not answer"}
    stale = {key: step.why for key, step in plan(home).items() if key[0] == "descriptions"}
    assert sum(int(why.split(" ")[0]) for why in stale.values()) == failed.height
    assert all(why.endswith(" failed") for why in stale.values())
    kept = home.ledger.entries()
    rebuild_ledger(home, STAGES)
    assert home.ledger.entries() == kept
    asked.clear()
    built(home)  # the server is still away, and is asked once more, not for ever
    assert {asset for asset, _ in states(home, "stale")} == {"descriptions"}
    assert sorted(asked) == ["stop sign"] * failed.height
    told = home.store.read("embeddings", recording="r").filter(pl.col("kind") == "text")
    assert not set(told["subject"]) & set(failed["observation"])

    asked.clear()
    refused.clear()
    up_to_date(home)
    assert asked == ["stop sign"] * failed.height
    assert plan(home) == {}
    assert versions(home) == whole
    check_tables(home)


def work(home: Home, asset: str) -> Iterator[Work]:
    """The work that a stage is handed for recording ``s``."""
    seen: list[Work] = []

    def run(work: Work) -> None:
        seen.append(work)
        raise GebError("seen")

    stages = [replace(s, run=run) if s.asset == asset else s for s in STAGES]
    stage = next(stage for stage in stages if stage.asset == asset)
    home.ledger.drop(asset, "s")
    set_parameters(home, "s", {"graph.temporal_gap_s": 7.0})
    with pytest.raises(GebError, match="seen"):
        run_partition(home, stages, stage, "s", "run")
    yield from seen


def test_what_was_not_declared_cannot_be_read(home: Home) -> None:
    (handed,) = work(home, "graph")
    assert handed.read("memberships").height > 0
    with pytest.raises(PermissionError, match="graph did not declare that it reads detections"):
        handed.read("detections")
    with pytest.raises(PermissionError, match="did not declare role detector"):
        handed.roles.detector()
    assert type(handed.section).__name__ == "Graph"
    with pytest.raises(PermissionError):
        Roles(EMBEDDED, home.models, handed.section, ("tracker",), home.calls()).describer()


def test_an_hour_more_is_associated_from_there_and_equals_a_fresh_start(
    home: Home, videos: Path
) -> None:
    lasting = home.cache / "lasting" / "entities" / "r"
    first = {path.name for path in lasting.iterdir()}
    assert len(first) == 2

    def add(name: str) -> None:
        add_videos(home, "r", [videos / name], starts=[SPARE[name][0]])

    add("late.mp4")
    steps = plan(home)
    assert {p for (asset, p), s in steps.items() if asset == "clips"} == {"r/d001-12h"}
    up_to_date(home)
    after = {path.name for path in lasting.iterdir()}
    assert first < after
    assert len(after) == 3

    add("early.mp4")
    up_to_date(home)
    again = {path.name for path in lasting.iterdir()}
    assert not again & after
    assert len(again) == 4
    check_tables(home)

    resumed = versions(home)
    shutil.rmtree(lasting)
    set_parameters(home, "r", {"association.theta_match": 0.9999})
    up_to_date(home)
    shutil.rmtree(lasting)
    set_parameters(home, "r", {"association.theta_match": THETA_MATCH})
    up_to_date(home)
    assert versions(home) == resumed


def test_an_hour_that_a_recording_no_longer_has_leaves_the_tables(home: Home, videos: Path) -> None:
    names = [videos / "s_one.mp4", videos / "s_two.mp4"]
    add_videos(home, "s", names, starts=["DAY2 10:00:00", "DAY2 10:30:00"])
    built(home, "s", to="clips")
    assert set(home.store.read("clips", recording="s")["segment"]) == {"s/d002-10h"}
    check_tables(home)


def test_a_run_that_ended_after_its_last_commit_is_taken_over(home: Home) -> None:
    before = home.ledger.entries()
    home.ledger.drop("entities", "r")
    outcome = run_partition(home, STAGES, BY_NAME["entities"], "r", "another run")
    assert outcome.reused
    assert home.ledger.entries() == before


def test_a_run_that_ended_between_two_commits_is_done_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where the parameter went back to what the other table was written with."""
    before = versions(home)
    set_parameters(home, "r", {"association.theta_match": 0.9999})
    real, written = DeltaStore.replace, list[str]()

    def killed(self: DeltaStore, table: object, *rest: object) -> None:
        if len(written) == 2:
            raise KeyboardInterrupt
        real(self, table, *rest)  # type: ignore[arg-type]
        written.append("one")

    with monkeypatch.context() as patch:
        patch.setattr(DeltaStore, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            run_partition(home, STAGES, BY_NAME["entities"], "r", "killed")
    set_parameters(home, "r", {"association.theta_match": THETA_MATCH})
    assert ("entities", "r") in states(home, "stale")
    up_to_date(home)
    assert versions(home) == before
    check_tables(home)


def test_a_partition_that_is_not_there_is_named(home: Home) -> None:
    with pytest.raises(GebError, match="no partition 's/d009-01h'; recording s has s/d002-09h"):
        run_partition(home, STAGES, BY_NAME["clips"], "s/d009-01h", "run")


def test_what_lacks_its_inputs_names_them(home: Home) -> None:
    home.ledger.drop("observations", "s/d002-09h")
    with pytest.raises(GebError, match=r"needs observations of s/d002-09h.*geb build s"):
        run_partition(home, STAGES, BY_NAME["graph"], "s", "run")


def test_tables_that_were_deleted_count_as_never_built(home: Home) -> None:
    whole = versions(home)
    shutil.rmtree(home.path / "tables" / "memberships")
    assert {key: step.why for key, step in plan(home).items() if step.state == "stale"} == {
        ("entities", name): "never built" for name in ("r", "s")
    }
    with pytest.raises(GebError, match="geb build r"):
        Memory.open(home, "r")
    shutil.rmtree(home.path / "tables")
    up_to_date(home)
    assert versions(home) == whole
    check_tables(home)
