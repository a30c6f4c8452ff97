"""The writing half with every chat role behind a strict endpoint: faults, kills, bad endpoints."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl
import pytest

from evaluation.bench.chat_server import Running, running
from geb_assets.adding import use_profile
from geb_assets.errors import GebError
from geb_assets.estimate import estimate
from geb_assets.home import Home
from geb_assets.reading.memory import Memory
from geb_assets.registry import edit
from geb_assets.run import Outcome, run_partition
from geb_assets.stages import STAGES
from geb_assets.tables import TABLES
from resources.chat.calls import Budget
from resources.store import Stamp
from tests import told
from tests.homes import up_to_date

BY_NAME = {stage.asset: stage for stage in STAGES}
SEGMENT = "s/d002-09h"


@pytest.fixture(autouse=True)
def _profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resources.profiles.PROFILES", {**told.profiles.PROFILES})
    told.register()


def describe(home: Home) -> Outcome:
    return run_partition(home, STAGES, BY_NAME["descriptions"], SEGMENT, uuid4().hex)


def rows(home: Home, table: str = "descriptions") -> pl.DataFrame:
    return home.store.read(table, recording="s")


def multiply(home: Home, times: int) -> int:
    """Each encounter of the segment, so often; returns how many there are then."""
    keys = {"recording": "s", "segment": SEGMENT}
    count = 0
    for name in ("observations", "crops"):
        own = home.store.read(name, segment=SEGMENT)
        many = pl.concat(
            [own.with_columns(pl.col("observation") + f"x{n:03d}") for n in range(times)]
        )
        if name == "observations":
            # No two requests alike: an encounter begins where no other does.
            shift = pl.int_range(pl.len()).cast(pl.Float64) * 1e-6
            label = pl.concat_str("label", pl.lit(" "), pl.int_range(pl.len()).cast(pl.String))
            many = many.with_columns(start_s=pl.col("start_s") + shift, label=label)
            count = many.height
        stamp = Stamp("observations", SEGMENT, "f", "v", "r", True, {})
        home.store.replace(TABLES[name], keys, many, stamp)
    return count


def kept(home: Home) -> int:
    with sqlite3.connect(home.cache / "replies.sqlite") as connection:
        return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])


def answered(server: Running) -> int:
    return int(server.stats()["told"].get("answered", 0))


def one_each(home: Home, count: int) -> None:
    made = rows(home)
    assert made.height == count and made["observation"].is_unique().all()
    assert set(made["status"]) <= {"ok", "failed"}
    assert made.filter((pl.col("status") == "failed") & (pl.col("summary") != "")).is_empty()


@pytest.mark.slow
def test_faults_and_a_kill_lose_nothing_and_pay_for_nothing_twice(home: Home) -> None:
    count = multiply(home, 60)
    faults = {"limited": 0.05, "broken": 0.05, "malformed": 0.02, "hanging": 0.01}
    command = [sys.executable, "-m", "tests.told", str(home.path), "descriptions", SEGMENT]
    root = Path(__file__).resolve().parents[1]
    with running(latency=0.02, **faults) as server:
        use_profile(home, "told", told.options(server.url, in_flight=8, retries=5))
        first = subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL)
        while answered(server) < count // 3:
            assert first.poll() is None
            time.sleep(0.02)
        first.send_signal(signal.SIGKILL)
        first.wait()
        time.sleep(0.1)
        paid, there = answered(server), kept(home)
        assert paid - 8 <= there <= paid + server.stats()["told"].get("malformed", 0)
        assert rows(home).filter(pl.col("model").str.starts_with("m@")).is_empty()
        subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL)
        one_each(home, count)
        ok = rows(home).filter(pl.col("status") == "ok").height
        twice = [n for n in server.stats()["answered"].values() if n > 1]
        # What was in flight when it was killed had no answer yet.
        assert len(twice) <= 8 and answered(server) <= ok + 8
        assert ok >= 0.99 * count
        before = answered(server)
        again = run_partition(home, STAGES, BY_NAME["descriptions"], SEGMENT, uuid4().hex)
        assert answered(server) - before <= count - ok
        assert again.reused == (ok == count)


@pytest.mark.slow
def test_failed_calls_are_listed_and_made_again_alone(home: Home) -> None:
    count = multiply(home, 20)
    with running(broken=0.5) as server:
        use_profile(home, "told", told.options(server.url, retries=0))
        failed = describe(home).entry.failed
        one_each(home, count)
        assert 0 < failed < count
    step = next(s for s in home.planner(STAGES).plan(["s"]) if s.asset == "descriptions")
    assert step.why == f"{failed} failed"
    with running() as server:
        use_profile(home, "told", told.options(server.url, retries=0))  # another address only
        assert describe(home).entry.complete
        assert answered(server) == failed
        one_each(home, count)


@pytest.mark.slow
def test_an_endpoint_that_cannot_serve_is_one_plain_line_and_nothing_is_lost(home: Home) -> None:
    before = rows(home)
    with running() as server:
        cases: list[tuple[dict[str, Any], str]] = [
            ({"model": "n"}, "serves m, not 'n'"),
            ({"base_url": "http://127.0.0.1:9/v1", "retries": 0}, "cannot be reached"),
        ]
        for changes, line in cases:
            use_profile(home, "told", told.options(server.url, **changes))
            with pytest.raises(GebError, match=line) as caught:
                describe(home)
            assert "\n" not in str(caught.value)
        assert rows(home).equals(before)
        use_profile(home, "told", told.options(server.url, retries=1))
        poor = Home(home.path, budget=Budget(calls=2))
        with pytest.raises(GebError, match="budget of 2 calls is spent"):
            describe(poor)
        assert answered(server) == kept(home) == 2
        count = describe(home).rows["descriptions"]
        assert answered(server) == count


@pytest.mark.slow
def test_a_key_that_expires_midway_keeps_what_was_answered(home: Home) -> None:
    with running(expires_after=2) as server:
        use_profile(home, "told", told.options(server.url, retries=0, in_flight=1))
        with pytest.raises(GebError, match="refused the key; set the variable") as caught:
            describe(home)
        assert "\n" not in str(caught.value) and kept(home) == 2
    with running() as server:
        use_profile(home, "told", told.options(server.url, retries=0))
        count = describe(home).rows["descriptions"]
        assert answered(server) == count - 2


@pytest.mark.slow
def test_the_whole_half_is_told_by_chat_models(home: Home) -> None:
    answers = {
        "is_person": True,
        "reid_summary": "Somebody in a red jacket.",
        "people": [{"number": 1, "name": "Ada"}],
        "features": ["red jacket"],
        "facts": [{"caption": 0, "fact": "I put the cup down."}],
        "steps": [{"event": "Breakfast", "captions": [0], "text": "I pour the coffee."}],
    }

    def cast(registry: Any) -> Any:
        one = registry.recordings["s"].model_copy(update={"cast": ("Ada", "Bo")})
        return registry.model_copy(update={"recordings": {**registry.recordings, "s": one}})

    edit(home.path, cast)
    with running(answers=answers) as server:
        use_profile(home, "told", told.options(server.url, retries=1))
        up_to_date(home, "s")
        paid = answered(server)
        assert not home.planner(STAGES).plan(["s"])
        memory = Memory.open(home, "s")
    assert paid == kept(home)
    assert set(rows(home, "episodes")["source"]) == {"captioned", "summarized"}
    named = rows(home, "names")
    assert named.height and set(named["cast_name"]) == {"Ada"}
    assert rows(home, "clothing")["features"].to_list() == [["red jacket"]]
    entities = named["entity"].to_list()
    last = float(named["named_at"].max())  # type: ignore[arg-type]
    assert set(memory.cast_names(entities).values()) == {"Ada"}
    assert memory.cast_names(entities, at=last - 0.01) == {}
    chains = memory.chains()
    assert set(chains["kind"]) >= {"event"}
    assert memory.chains(at=float(chains["visible_from"].min()) - 0.01).is_empty()  # type: ignore[arg-type]


def test_calls_and_tokens_are_told_before_they_are_spent(home: Home) -> None:
    use_profile(home, "told", told.options("http://127.0.0.1:9/v1", prompt_price=1.0))
    planner = home.planner(STAGES)
    found = {one.role: one for one in estimate(home, planner, planner.plan(["s"]))}
    seen = home.store.read("observations", segment=SEGMENT).height
    assert (found["describer"].calls, found["describer"].model) == (seen, "m")
    assert (found["describer"].prompt_tokens or 0) > 2300 * seen
    assert found["describer"].cost is None  # one price is not known
    # What it is made from is not there yet: not known.
    home.ledger.drop("observations", SEGMENT)
    planner = home.planner(STAGES)
    found = {one.role: one for one in estimate(home, planner, planner.plan(["s"]))}
    assert found["describer"].calls is None
    use_profile(home, "embedded", {})
    planner = home.planner(STAGES)
    assert estimate(home, planner, planner.plan()) == []


def test_without_models_or_a_cast_names_and_chains_are_empty(home: Home) -> None:
    assert all(rows(home, name).is_empty() for name in ("names", "clothing", "chains"))
