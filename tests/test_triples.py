"""Asset ``triples``: told only where a benchmark's variant reads it, and paid for once."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import polars as pl
import pytest

from evaluation.bench.chat_server import Running, running
from geb_assets.adding import set_parameters, use_profile
from geb_assets.benchmarks import Benchmark, put
from geb_assets.building import build
from geb_assets.errors import GebError
from geb_assets.estimate import estimate
from geb_assets.home import Home
from geb_assets.reading.memory import Memory
from geb_assets.registry import SourceFile
from geb_assets.run import run_partition
from geb_assets.stages import STAGES
from resources import profiles
from resources.profiles import EMBEDDED, PAPER
from resources.video import file_digest
from tests import told
from tests.homes import up_to_date

BY_NAME = {stage.asset: stage for stage in STAGES}
SAID = {"triples": [{"subject": "I", "predicate": "put", "object": "the red  cup"},
                    {"subject": "I", "predicate": "", "object": "nothing"}]}  # fmt: skip


@pytest.fixture(autouse=True)
def _profile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedded profile, and a text model that takes captions apart."""
    own = {role: PAPER.roles[role] for role in ("extractor", "text_chat")}
    stated = replace(EMBEDDED, name="stated", roles={**EMBEDDED.roles, **own})
    monkeypatch.setattr(profiles, "PROFILES", {**profiles.PROFILES, "stated": stated})


def use(home: Home, url: str) -> None:
    options = told.options(url, retries=0)
    use_profile(home, "stated", {k: v for k, v in options.items() if k.startswith("text_chat")})


def register(home: Home, *variants: str) -> None:
    path = home.path / "asked.json"
    path.write_text(
        '[{"id": "1", "question": "Who is there?", "choices": {"A": "a man", "B": "no"},'
        ' "answer": "A"}]'
    )
    file = SourceFile(path=str(path), size=1, mtime_ns=1, digest=file_digest(path))
    put(
        home.path,
        "mine",
        Benchmark(kind="own", questions=file, recordings=("s",), variants=variants),
    )


def planned(home: Home) -> dict[tuple[str, str], str]:
    return {(s.asset, s.partition): s.why for s in home.planner(STAGES).plan()}


def paid(server: Running) -> int:
    return int(server.stats()["told"].get("answered", 0))


def test_they_are_planned_for_the_benchmarks_that_read_them_alone(home: Home) -> None:
    use(home, "http://127.0.0.1:9/v1")
    register(home, "full")
    assert {asset for asset, _ in planned(home)} == {"predictions", "scores"}
    with pytest.raises(GebError, match="no benchmark of s has a variant that reads triples"):
        run_partition(home, STAGES, BY_NAME["triples"], "s", "run")
    with pytest.raises(GebError, match="variant name_graph reads the triples of s"):
        Memory.open(home, "s", variant="name_graph")
    register(home, "full", "name_graph")
    assert {key for key in planned(home) if key[0] == "triples"} == {("triples", "s")}
    planner = home.planner(STAGES)
    told_of = {one.role: one for one in estimate(home, planner, planner.plan())}
    captions = home.store.read("episodes", recording="s").filter(pl.col("scale") == "30sec")
    assert told_of["extractor"].calls == captions.height
    use_profile(home, "embedded", {})
    assert {asset for asset, _ in planned(home)} == {"predictions", "scores"}
    assert Memory.open(home, "s", variant="name_graph").triples is None


@pytest.mark.slow
def test_they_are_told_once_and_read_by_those_that_name_things(home: Home) -> None:
    captions = home.store.read("episodes", recording="s").filter(pl.col("scale") == "30sec")
    register(home, "full", "name_graph", "per_store")
    with running(answers=SAID) as server:
        use(home, server.url)
        done = build(home, recordings=["s"], benchmarks=["mine/full", "mine/name_graph"])
        assert not done.faults
        assert {(one.asset, one.partition) for one in done.ran} == {
            ("triples", "s"), *((asset, f"mine/{variant}") for asset in ("predictions", "scores")
                                for variant in ("full", "name_graph"))
        }  # fmt: skip
        up_to_date(home)
        rows = home.store.read("triples", recording="s")
        assert rows.select("episode", "visible_from").equals(
            captions.select("episode", "visible_from")
        )
        assert set(rows.select("subject", "predicate", "object").iter_rows()) == {
            ("I", "put", "the red cup")
        }
        memory = Memory.open(home, "s", variant="name_graph")
        assert any(unit.kind == "triple" for unit in memory.search("the red cup"))
        first = float(rows["visible_from"].min())  # type: ignore[arg-type]
        early = memory.search("the red cup", at=first - 0.01)
        assert not any(unit.kind == "triple" for unit in early)
        # Told again without the table: every reply is kept.
        before = paid(server)
        home.ledger.drop("triples", "s")
        home.store.delete("triples", recording="s")
        up_to_date(home)
        assert paid(server) == before <= captions.height
        with sqlite3.connect(home.cache / "replies.sqlite") as kept:
            assert kept.execute("SELECT count(*) FROM replies").fetchone()[0] == before
        set_parameters(home, "s", {"triples.most": 3})
        assert set(planned(home)) == {("triples", "s")} | {
            (asset, f"mine/{variant}")
            for asset in ("predictions", "scores")
            for variant in ("name_graph", "per_store")
        }


def test_a_caption_that_could_not_be_taken_apart_is_asked_for_again(home: Home) -> None:
    register(home, "per_store")
    with running(malformed=1.0) as server:
        use(home, server.url)
        outcome = run_partition(home, STAGES, BY_NAME["triples"], "s", "run")
        assert outcome.entry.failed > 0 and outcome.rows["triples"] == 0
    assert planned(home)["triples", "s"] == f"{outcome.entry.failed} failed"
    with running(answers=SAID) as server:
        use(home, server.url)
        assert run_partition(home, STAGES, BY_NAME["triples"], "s", "run").entry.complete
        assert 0 < paid(server) <= outcome.entry.failed
