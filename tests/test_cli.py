from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from geb_assets.adding import add_videos, set_parameters
from geb_assets.building import build
from geb_assets.cli import main
from geb_assets.home import Home
from geb_assets.registry import FILE
from geb_assets.stages import STAGES
from geb_assets.tables import TABLES
from tests.films import numbered, steady, write_video
from tests.homes import SPARE, versions
from tests.resources.test_video import BROKEN


def geb(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def told(result: Result) -> Any:
    """The one JSON object on standard output."""
    assert result.exit_code == 0, result.output
    (line,) = result.stdout.splitlines()
    return json.loads(line)


def refused(*words: object, code: int = 1) -> str:
    """The plain line of a command that fails, the same on both outputs."""
    result = geb(*words)
    assert result.exit_code == code, result.output
    (line,) = [line for line in result.stderr.splitlines() if line.strip()]
    assert line.startswith("geb: ")
    assert "Traceback" not in result.output
    as_json = geb(*words, "--json")
    assert as_json.exit_code == code
    assert json.loads(as_json.stdout) == {"error": line.removeprefix("geb: ")}
    return line


def environment(home: Home) -> dict[str, str]:
    return {**os.environ, "GEB_HOME": str(home.path)}


def start(home: Home, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "geb_assets.cli", *words],
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


@pytest.fixture
def tv(tmp_path: Path) -> Path:
    """A small good video."""
    return write_video(tmp_path / "tv.mp4", numbered(), steady(3))


def test_help_version_and_usage(home: Home) -> None:
    assert geb("--help").exit_code == 0
    assert "geb" in geb("--version").stdout
    assert geb().exit_code == 2
    assert "geb --help" in refused("nosuch", code=2)
    assert "geb build --help" in refused("build", "--nosuch", code=2)
    assert "geb set --help" in refused("set", "r", code=2)
    assert "geb add --help" in refused("add", code=2)
    assert "--clip-seconds" in refused("add", "r", "--clip-seconds", "many", code=2)
    assert "--port" in refused("ui", "--port", "99999", code=2)


def test_add_plan_and_set(tmp_path: Path, tv: Path) -> None:
    added = told(geb("add", "r", tv, "--start", "DAY1 10:00:00", "--json"))
    assert added["videos"] == [{"path": str(tv), "start": "DAY1 10:00:00", "seconds": 3.0}]
    assert added["segments"] == ["r/d001-10h"]
    steps = told(geb("plan", "--json"))["stale"]
    assert {tuple(step) for step in steps} == {("asset", "partition", "state", "why")}
    assert {step["asset"] for step in steps} == {
        stage.asset for stage in STAGES if stage.partition != "benchmark" and not stage.on_demand
    }
    assert {step["state"] for step in steps} == {"stale"}
    assert "never built" in geb("plan", "--why").stdout
    assert "geb build" in geb("plan").stdout
    set_ = told(geb("set", "r", "association.theta_cons=0.1", "association.theta_match=0.2",
                    "observations.regroup_rule=first", "--json"))  # fmt: skip
    assert {tuple(step) for step in set_["stale"]} == {("asset", "partition", "state", "why")}
    parameters = Home(tmp_path / "geb_home").registry().recording("r").parameters
    assert parameters == {
        "association": {"theta_cons": 0.1, "theta_match": 0.2},
        "observations": {"regroup_rule": "first"},
    }


def test_looking_makes_no_home(tmp_path: Path) -> None:
    for words in (("plan",), ("tables",), ("models",)):
        assert geb(*words).exit_code == 0
    assert not (tmp_path / "geb_home").exists()


def test_build_twice_and_again_after_a_change(home: Home) -> None:
    assert told(geb("build", "--json")) == {"ran": []}
    assert "nothing is stale" in geb("build").stdout
    assert "nothing is stale" in geb("plan").stdout
    geb("set", "r", "association.theta_match=0.9999")
    stale = told(geb("plan", "r", "--json"))["stale"]
    assert [(s["asset"], s["partition"], s["state"]) for s in stale] == [
        ("entities", "r", "stale"), ("graph", "r", "may change")
    ]  # fmt: skip
    assert told(geb("build", "s", "--json")) == {"ran": []}
    ran = told(geb("build", "r", "--to", "entities", "--json"))["ran"]
    assert [(one["asset"], one["partition"], one["changed"]) for one in ran] == [
        ("entities", "r", True)
    ]
    assert set(ran[0]) == {"asset", "partition", "seconds", "changed"}
    assert [one["asset"] for one in told(geb("build", "--json"))["ran"]] == ["graph"]
    assert told(geb("plan", "--json")) == {"stale": [], "calls": []}
    assert "DAGSTER_HOME" not in os.environ


def test_tables_models_and_search(home: Home) -> None:
    tables = told(geb("tables", "--json"))["tables"]
    assert set(tables) == set(TABLES)
    assert tables["clips"]["rows"] == home.store.read("clips").height
    assert Path(tables["entities"]["uri"]).is_dir()
    assert "polars.read_delta" in geb("tables").stdout
    models = told(geb("models", "--json"))
    assert all(file["present"] for file in models["files"])
    assert "detector" in models["roles"]
    units = told(geb("search", "r", "stop sign", "--json"))["units"]
    assert set(units[0]) == {"kind", "id", "entity", "start", "end", "score", "text"}


def test_the_doctor(home: Home) -> None:
    findings = told(geb("doctor", "--json"))["findings"]
    assert all(finding["passed"] for finding in findings)
    ledger = next(one for one in findings if one["check"] == "ledger")
    assert ledger["message"].endswith(" 0 differed")
    assert len({one["check"] for one in findings if one["check"].startswith("role ")}) == 6
    assert findings[-1]["check"] == "visual channel"
    assert "note:" not in geb("search", "r", "a stop sign").output
    (home.path / FILE).write_text("[recordings.a\n")
    result = geb("doctor", "--json")
    assert result.exit_code == 1
    assert not next(f for f in json.loads(result.stdout)["findings"] if f["check"] == "registry")[
        "passed"
    ]


def test_forget_deletes_one_recording_and_leaves_its_files(home: Home, videos: Path) -> None:
    others = {key: v for key, v in versions(home).items() if key[1].split("/")[0] == "r"}
    declined = CliRunner().invoke(main, ["forget", "s"], input="n\n")
    assert declined.exit_code == 1
    assert home.registry().recordings.keys() == {"r", "s"}
    deleted = told(geb("forget", "s", "--json"))["deleted"]
    assert deleted["clips"] == 2
    assert home.registry().recordings.keys() == {"r"}
    for name in TABLES:
        assert home.store.read(name, recording="s").is_empty()
    assert versions(home) == others
    assert not [path for path in home.cache.glob("*/*") if path.name.startswith("s~")]
    assert not list(home.cache.glob("*/*/s"))
    assert (videos / "s_one.mp4").exists()
    assert "geb add s" in refused("forget", "s")
    assert told(geb("plan", "--json")) == {"stale": [], "calls": []}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_bad_file_leaves_everything_as_it_was(tmp_path: Path, tv: Path, kind: str) -> None:
    geb("add", "other", tv)
    registry = tmp_path / "geb_home" / FILE
    before = registry.read_bytes()
    name, make, _ = BROKEN[kind]
    path = make(tmp_path / name)
    assert str(path) in refused("add", "r", path)
    assert str(path) in refused("add", "other", tv, path)
    assert registry.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("add", "a/b", "TV"), "'a/b' cannot name a recording"),
        (("add", "it's", "TV"), "cannot name a recording"),
        (("add", 'say"so"', "TV"), "cannot name a recording"),
        (("add", "küche", "TV"), "cannot name a recording"),
        (("add", "", "TV"), "cannot name a recording"),
        (("add", "r", "TV", "--start", "soon"), "'soon' is no time"),
        (("add", "r", "TV", "--start", "DAY1 25:00:00"), "is no time of day"),
        (("add", "r", "TV", "--start", "0:00", "--start", "0:05"), "1 videos but 2 start times"),
        (("add", "r", "TV", "TV2", "--start", "0", "--start", "1"), "they overlap; mend"),
        (("add", "other", "TV2", "--start", "1"), "they overlap; mend the --start"),
        (("add", "r"), "has nothing in it; give a video"),
        (("add", "r", "TV", "--clip-seconds", "7"), "does not divide an hour"),
        (("add", "r", "TV", "--captions", "untimed.csv"), "untimed.csv"),
        (("add", "r", "--captions", "absent.csv"), "absent.csv does not exist; check the path"),
        (("add", "other", "TV2", "--clock", "egolife"), "already has the clock 'seconds'"),
        (("set", "other", "association.theta_mach=0.9"), "no parameter 'association.theta_mach'"),
        (("set", "other", "theta_match=0.9"), "write SECTION.NAME=VALUE"),
        (("set", "other", "association.theta_match"), "sets nothing; write SECTION.NAME=VALUE"),
        (("set", "other", "association.theta_match=2"), "association.theta_match"),
        (("set", "other", "association.theta_cons=0.9", "association.theta_match=0.9"),
         "theta_cons=0.9 has to be below theta_match=0.9"),
        (("set", "other", "clips.sample_fps=nan"), "clips.sample_fps"),
        (("set", "nobody", "clips.sample_fps=5"), "no recording 'nobody' here (other)"),
        (("build", "nobody"), "no recording 'nobody' here (other)"),
        (("plan", "nobody"), "no recording 'nobody' here (other)"),
        (("forget", "nobody"), "no recording 'nobody' here (other)"),
        (("build", "--to", "nothing"), "no asset 'nothing'; there are clips, "),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_plain_line_and_changes_nothing(
    tmp_path: Path, tv: Path, words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    second = write_video(tmp_path / "tv2.mp4", numbered(), steady(3))
    (tmp_path / "untimed.csv").write_text("text\nI pick up the cup\n")
    told(geb("add", "other", tv, "--json"))
    registry = tmp_path / "geb_home" / FILE
    before = registry.read_bytes()
    files = {"TV": str(tv), "TV2": str(second)}
    assert message in refused(*(files.get(word, word) for word in words))
    assert registry.read_bytes() == before


def test_a_mistake_in_the_registry_is_named_by_every_command(home: Home) -> None:
    (home.path / FILE).write_text("[recordings.r\n")
    for words in (
        ("plan",),
        ("build",),
        ("set", "r", "clips.sample_fps=5"),
        ("forget", "r", "--yes"),
    ):
        assert f"{home.path / FILE} is no valid TOML" in refused(*words)


def test_a_frame_size_that_changes_stops_its_own_recording_alone(
    home: Home, tmp_path: Path
) -> None:
    parts = [
        write_video(tmp_path / f"{width}.ts", numbered(width, 48), times)
        for width, times in ((64, steady(3)), (128, [3 + t for t in steady(3)]))
    ]
    path = tmp_path / "both.ts"
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    geb("add", "bad", path)
    geb("set", "r", "association.theta_match=0.9999")
    before = versions(home)
    assert f"{path} changes its frame size" in refused("build")
    after = versions(home)
    assert {key: v for key, v in after.items() if key[1] == "s"} == {
        key: v for key, v in before.items() if key[1] == "s"
    }
    assert after["entities", "r"] != before["entities", "r"]
    assert {step["partition"] for step in told(geb("plan", "--json"))["stale"]} == {
        "bad", "bad/d001-00h"
    }  # fmt: skip


def unwritable(tmp_path: Path) -> Path:
    """A home that cannot be written, for whoever runs this."""
    if os.geteuid() == 0:
        return Path("/sys/geb_home")
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o555)
    return folder / "home"


@pytest.mark.parametrize("kind", ["below a file", "closed"])
def test_a_home_that_cannot_be_written_is_said_so(
    tmp_path: Path, tv: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = unwritable(tmp_path) if kind == "closed" else tv / "home"
    monkeypatch.setenv("GEB_HOME", str(home))
    for words in (("add", "r", tv), ("build",)):
        line = refused(*words)
        assert str(home) in line
        assert "GEB_HOME" in line
    doctor = geb("doctor", "--json")
    assert doctor.exit_code == 1
    assert json.loads(doctor.stdout)["findings"][0]["passed"] is False


def test_one_build_at_a_time(home: Home) -> None:
    with home.alone():
        line = refused("build")
        assert str(home.path) in line
        assert "another geb build" in line
        assert "another geb build" in refused("forget", "s", "--yes")
    assert told(geb("build", "--json")) == {"ran": []}


def test_a_recording_added_while_a_build_runs_is_built_too(home: Home, tmp_path: Path) -> None:
    (tmp_path / "said.csv").write_text("start,end,text\n1,2,I pour the tea\n")
    set_parameters(home, "s", {"graph.temporal_gap_s": 7.0})
    added: list[object] = []

    def add(ran: object) -> None:
        if not added:
            added.append(
                add_videos(home, "t", [], captions=[tmp_path / "said.csv"], clock="seconds")
            )

    done = build(home, tell=add)
    assert not done.faults
    assert {one.partition for one in done.ran} == {"s", "t"}
    assert home.planner(STAGES).plan() == []
    assert home.store.read("lines", recording="t")["text"].to_list() == ["I pour the tea"]


def test_a_recording_changed_while_files_are_added_is_not_overwritten(
    home: Home, videos: Path
) -> None:
    def meanwhile(what: str, done: int, total: int) -> None:
        if not home.registry().recording("r").parameters.get("graph"):
            set_parameters(home, "r", {"graph.same_instance": 0.4})

    slow = Home(home.path, progress=meanwhile)
    with pytest.raises(Exception, match="changed meanwhile; run the command again"):
        add_videos(slow, "r", [videos / "late.mp4"], starts=[SPARE["late.mp4"][0]])
    assert home.registry().recording("r").parameters["graph"] == {"same_instance": 0.4}


@pytest.mark.slow
def test_an_interrupt_ends_a_build_plainly_and_the_next_one_goes_on(home: Home) -> None:
    whole = versions(home)
    set_parameters(home, "r", {"detections.max_per_frame": 299})
    process = start(home, "build", "--json")
    deadline = time.monotonic() + 120
    while not list((home.cache / "partial" / "detections").glob("*/*/*")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    line = "interrupted; the same command goes on from here"
    assert [one for one in err.splitlines() if one.strip()] == [f"geb: {line}"]
    assert json.loads(out) == {"error": line}
    assert told(geb("build", "--json"))["ran"]
    assert versions(home) == whole


def test_output_goes_where_it_belongs_in_a_process_of_its_own(home: Home) -> None:
    process = start(home, "build", "nobody", "--json")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert json.loads(out)["error"] == err.strip().removeprefix("geb: ")
    assert "Traceback" not in err
