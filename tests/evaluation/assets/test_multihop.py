"""MultiHop-EgoQA from its file to its figures: asked for evidence, answered, kept, scored."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from evaluation.answers import Graded
from evaluation.assets.predictions import questions_of
from evaluation.bench.chat_server import Running, running
from evaluation.benchmarks.catalogue import KINDS
from evaluation.scoring import score
from geb_assets.adding import add_videos, use_profile
from geb_assets.benchmarks import Benchmark, put
from geb_assets.cli import main
from geb_assets.errors import GebError
from geb_assets.estimate import Calls, estimate
from geb_assets.home import Home
from geb_assets.reading.record import Record
from geb_assets.registry import SourceFile
from geb_assets.run import run_partition
from geb_assets.stages import STAGES
from resources.profiles import EMBEDDED, PAPER
from resources.video import file_digest
from tests import homes
from tests.models import fetched
from tests.told import profiles

BY_NAME = {stage.asset: stage for stage in STAGES}
READ = replace(
    EMBEDDED,
    name="read",
    roles={**EMBEDDED.roles, **{name: PAPER.roles[name] for name in ("chat", "text_chat")}},
)
"""The embedded profile, its questions read and judged by chat models."""

ASKED = [
    {"sample_id": "tap", "segment_id": "clip-7", "category": "Counting", "A": "<T1>Twice</T1>.",
     "Q": "How often did I open the tap?", "T": [[10, 19], [120, 129]]},
    {"sample_id": "cup", "segment_id": "clip-7", "category": "Order", "A": "At <T1></T1>.",
     "Q": "When did I put down the red cup?", "T": [30, 39]},
    {"sample_id": "pan", "segment_id": "clip-8", "category": "Order", "A": "The pan.",
     "Q": "What did Lucia wash?", "T": [[0, 9], [60, 69], [100, 109]]},
]  # fmt: skip
TOLD = ("I open the tap.", "I put the red cup down.", "Lucia washes the pan.")


def captions(path: Path) -> Path:
    """One line each ten seconds of a clip of three minutes."""
    cues = (
        f"{n + 1}\n00:{n * 10 // 60:02d}:{n * 10 % 60:02d},000 --> "
        f"00:{(n * 10 + 9) // 60:02d}:{(n * 10 + 9) % 60:02d},000\n{TOLD[n % 3]} {n}\n"
        for n in range(18)
    )
    path.write_text("\n".join(cues))
    return path


@pytest.fixture(scope="module")
def _clips(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clips")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEB_MODELS", str(fetched()))
        home = Home(folder / "home")
        for name in ("clip-7", "clip-8"):
            add_videos(home, name, [], captions=[captions(folder / f"{name}.srt")],
                       clock="seconds", clip_seconds=10)  # fmt: skip
        homes.up_to_date(home)
    return home.path


@pytest.fixture
def clips(_clips: Path, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Two clips with captions alone, and a benchmark of three questions about them."""
    monkeypatch.setattr("resources.profiles.PROFILES", {**profiles.PROFILES, "read": READ})
    home = homes.copy(_clips, tmp_path / "home")
    path = home.path / "asked.json"
    path.write_text(json.dumps(ASKED))
    put(home.path, "hop", Benchmark(
        kind="multihop",
        questions=SourceFile(path=str(path), size=1, mtime_ns=1, digest=file_digest(path)),
        recordings=("clip-7", "clip-8"),
        variants=("full", "no_references"),
        reading={"rounds": 1},
    ))  # fmt: skip
    return home


def answered(home: Home, variant: str = "full") -> pl.DataFrame:
    run_partition(home, STAGES, BY_NAME["predictions"], f"hop/{variant}", "run")
    return home.store.read("predictions", benchmark="hop", variant=variant)


def scored(home: Home, variant: str = "full") -> dict[tuple[str, str], dict[str, Any]]:
    run_partition(home, STAGES, BY_NAME["scores"], f"hop/{variant}", "run")
    rows = home.store.read("scores", benchmark="hop", variant=variant)
    return {(row["metric"], row["slice"]): row for row in rows.iter_rows(named=True)}


def test_a_model_names_its_evidence_and_it_is_scored(clips: Home) -> None:
    says = {
        "decision": "answer",
        "answer": "Twice.",
        "evidence": [[10, 14], [15, 19], [120, 139]],
        "rationale": "Water runs.",
        "text": '{"score": 7, "rationale": "right"}',
    }
    with running(answers=says) as server:
        address = {"base_url": server.url, "model": "m", "retries": 0}
        use_profile(clips, "read", {f"{chat}.{name}": value for chat in ("chat", "text_chat")
                                    for name, value in address.items()})  # fmt: skip
        rows, without = answered(clips), answered(clips, "no_references")
        scores, less = scored(clips), scored(clips, "no_references")
    named = [[10.0, 14.0], [15.0, 19.0], [120.0, 139.0]]
    assert rows["intervals"].to_list() == without["intervals"].to_list() == [named] * 3
    assert rows["why"].to_list() == ["Water runs."] * 3
    assert Record.model_validate_json(rows["record"][0]).evidence_in == (0.0, 180.0)
    # The two that touch are one: 30 seconds named; 20, 0 and 0 of them lie in the evidence.
    assert scores["mIoU", "all"]["value"] == pytest.approx((20 / 30 + 0 + 0) / 3)
    assert scores["mIoP", "Counting"]["value"] == pytest.approx(20 / 30)
    assert scores["mIoG", "Counting"]["value"] == pytest.approx(1.0)
    assert scores["IoU@0.3", "all"]["value"] == pytest.approx(1 / 3)
    assert scores["mIoU", "merged"]["value"] == scores["mIoU", "all"]["value"]
    assert scores["mIoU", "all"]["anchor"] == pytest.approx(0.205)
    assert scores["clip", "all"]["anchor"] == pytest.approx(0.343)
    assert scores["complete coverage", ">= 3 intervals"]["anchor"] == pytest.approx(0.235)
    assert (scores["judge", "all"]["value"], scores["judge", "all"]["n"]) == (7.0, 2)
    assert scores["judge", "with a reference"]["anchor"] == pytest.approx(3.11)
    alike = scores["sentence similarity", "with a reference"]
    assert alike["n"] == 2 and "MiniLM" in alike["note"]
    assert scores["sentence similarity", "Counting"]["value"] > 0.9
    received = rows.select(pl.col("received_s").mean()).item()
    assert scores["clip", "all"]["value"] == pytest.approx(received / 180.0)
    for metric in ("mIoU", "mIoP", "mIoG", "IoU@0.3", "judge", "sentence similarity", "clip"):
        assert less[f"{metric} minus full", "all"]["value"] == pytest.approx(0.0)
        assert (f"{metric} minus full", "all") not in scores
    # One search is decided on and one answer given, each counted by the endpoint.
    record = Record.model_validate_json(rows["record"][0])
    assert scores["answer tokens written", "all"]["value"] == 120
    assert scores["controller tokens written", "all"]["value"] == 120 * len(record.rounds)
    assert scores["answer tokens", "all"]["value"] == pytest.approx(
        rows["answer_prompt_tokens"].mean()
    )
    assert scores["seconds a question", "all"]["value"] == pytest.approx(rows["seconds"].mean())


def test_evidence_that_cannot_be_read_is_no_interval_and_is_counted(clips: Home) -> None:
    says = {"decision": "answer", "answer": "Twice.", "evidence": [["nine", 15]], "rationale": ""}
    with running(answers=says) as server:
        use_profile(clips, "read", {"chat.base_url": server.url, "chat.model": "m"})
        rows = answered(clips)
    assert set(rows["status"]) == {"ok"}
    assert rows["intervals"].to_list() == [[], [], []]
    assert all("its evidence is no list of [first, last]" in error for error in rows["error"])
    questions = questions_of(clips.benchmarks().benchmark("hop"))
    scores = score(KINDS["multihop"], questions, Graded(rows))
    found = {(one.metric, one.slice): one for one in scores}
    mean, at = found["mIoU", "all"], found["IoU@0.3", "all"]
    assert (mean.value, mean.n, mean.note) == (None, 0, "3 answers without an interval, left out")
    assert (at.value, at.n, at.note) == (0.0, 3, "3 answers without an interval, missed")


def test_without_a_model_an_answer_rests_on_its_units(clips: Home) -> None:
    rows = answered(clips)
    for row in rows.iter_rows(named=True):
        record = Record.model_validate_json(row["record"])
        spans = [[one.start_s, one.end_s] for one in record.units if one.id in record.supports]
        assert row["intervals"] == [[start, end - 1] for start, end in spans]
    scores = scored(clips)
    assert scores["mIoU", "all"]["value"] > 0
    assert scores["judge", "all"]["note"] == "no judge is served by this profile"
    assert not {metric for metric, _ in scores if "tokens" in metric}
    assert scores["seconds a question", "all"]["note"] == ""


def use(home: Home, url: str) -> None:
    address = {"base_url": url, "model": "m", "retries": 0}
    use_profile(home, "read", {f"{chat}.{name}": value for chat in ("chat", "text_chat")
                               for name, value in address.items()})  # fmt: skip


def register(home: Home, **options: Any) -> None:
    before = home.benchmarks().benchmark("hop")
    put(home.path, "hop", before.model_copy(update={"variants": ("full",), **options}))


def estimated(home: Home) -> dict[tuple[str, str], Calls]:
    planner = home.planner(STAGES)
    return {(one.asset, one.partition): one for one in estimate(home, planner, planner.plan())}


def answers(server: Running) -> int:
    return int(server.stats()["told"].get("answered", 0))


@pytest.mark.parametrize(("runs", "rounds"), [(1, 1), (2, 2)])
def test_its_calls_are_told_before_they_are_made(clips: Home, runs: int, rounds: int) -> None:
    register(clips, runs=runs, reading={"rounds": rounds})
    # The endpoint's controller never has enough.
    says = {"decision": "search", "search_query": "tap", "text": '{"score": 7}'}
    with running(answers=says) as server:
        use(clips, server.url)
        told = estimated(clips)
        assert set(told) == {("predictions", "hop/full"), ("scores", "hop/full")}
        reading, judging = told["predictions", "hop/full"], told["scores", "hop/full"]
        assert (reading.role, reading.model) == ("chat", "m")
        assert reading.calls == 3 * runs * (rounds + 1)
        # One of the three is asked for its evidence alone.
        assert (judging.role, judging.calls) == ("text_chat", 2 * runs)
        assert (reading.prompt_tokens or 0) > 4000 * reading.calls
        answered(clips)
        assert answers(server) == reading.calls
        assert estimated(clips)["scores", "hop/full"] == judging
        scored(clips)
        # Two runs that answer alike are judged once.
        assert answers(server) - reading.calls == 2 <= (judging.calls or 0)
        assert estimated(clips) == {}
        # Another variant: the replies that are there tell how long one is.
        register(clips, variants=("full", "no_references"))
        known = estimated(clips)["predictions", "hop/no_references"]
        assert known.calls == reading.calls and known.completion_tokens == 120 * known.calls


def test_a_controller_that_stops_sooner_asks_less(clips: Home) -> None:
    register(clips, reading={"rounds": 5})
    with running(answers={"decision": "answer", "answer": "Twice."}) as server:
        use(clips, server.url)
        told = estimated(clips)["predictions", "hop/full"].calls
        answered(clips)
        assert told == 3 * 6 and answers(server) == 3 * 3


def test_an_answer_of_other_evidence_is_one_more_call(clips: Home) -> None:
    register(clips, variants=("full", "no_biographies_answer"), reading={"rounds": 2})
    use(clips, "http://127.0.0.1:9/v1")
    told = estimated(clips)
    assert told["predictions", "hop/full"].calls == 3 * (2 + 1)
    assert told["predictions", "hop/no_biographies_answer"].calls == 3 * (2 + 2)


def test_what_is_answered_already_is_not_counted(clips: Home) -> None:
    register(clips, parallel=1)
    says = {"decision": "search", "search_query": "tap"}
    with running(answers=says, expires_after=4) as server:
        use(clips, server.url)
        with pytest.raises(GebError, match="expired"):
            answered(clips)
        assert answers(server) == 4
    assert estimated(clips)["predictions", "hop/full"].calls == 2
    with running(answers=says) as server:
        use(clips, server.url)
        answered(clips)
        assert answers(server) == 2


def test_both_commands_tell_them(clips: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    register(clips)
    monkeypatch.setenv("GEB_HOME", str(clips.path))
    monkeypatch.setenv("GEB_CHAT_URL", "http://127.0.0.1:9/v1")
    unused = "GEB_CHAT_URL is set and not used here"
    planned = CliRunner().invoke(main, ["plan"])
    assert planned.exit_code == 0 and planned.output.count(unused) == 1
    assert "calls at most" not in planned.output
    says = {"decision": "search", "search_query": "tap", "text": '{"score": 7}'}
    with running(answers=says) as server:
        monkeypatch.setenv("GEB_CHAT_URL", server.url)
        use(clips, server.url)
        planned = CliRunner().invoke(main, ["plan"])
        evaluated = CliRunner().invoke(main, ["evaluate", "hop"])
        spent = answers(server)
    for done in (planned, evaluated):
        assert done.exit_code == 0, done.output
        rows = [line.split() for line in done.output.splitlines()]
        told = {row[1]: row[4] for row in rows if row[:1] == ["m"]}
        assert told == {"predictions": "6", "scores": "2"}
        assert "the controller may stop sooner" in done.output and unused not in done.output
    assert spent == 6 + 2
    current = CliRunner().invoke(main, ["plan"])
    assert "calls at most" not in current.output and unused not in current.output


def test_without_its_questions_or_a_model_nothing_is_told(clips: Home) -> None:
    register(clips)
    use(clips, "http://127.0.0.1:9/v1")
    (clips.path / "asked.json").unlink()
    assert {one.calls for one in estimated(clips).values()} == {None}
    use_profile(clips, "embedded", {})
    assert estimated(clips) == {}
