"""Benchmarks as assets: what makes them stale, what is refused, and that nothing is asked twice."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from click.testing import CliRunner

from evaluation.assets import predictions, scores
from evaluation.bench.budget import Received, match
from evaluation.metrics.judges import Judgement
from evaluation.readers import JUDGE, PROMPTS, READER
from geb_assets import definitions
from geb_assets.adding import set_parameters
from geb_assets.asked import keep, records
from geb_assets.benchmarks import Benchmark, put
from geb_assets.building import build
from geb_assets.cli import main
from geb_assets.errors import GebError
from geb_assets.forgetting import forget
from geb_assets.home import Home
from geb_assets.reading.answerer.embedded import EmbeddedAnswerer
from geb_assets.reading.asking import replay
from geb_assets.reading.memory import Memory
from geb_assets.registry import SourceFile
from geb_assets.run import Refused, run_partition
from geb_assets.stages import STAGES
from resources.profiles import PAPER
from resources.video import file_digest
from tests.homes import up_to_date, versions

BY_NAME = {stage.asset: stage for stage in STAGES}
ASKED = [
    {"id": "r/sign", "question": "Where is the stop sign?", "choices": {"A": "wall", "B": "sea"},
     "answer": "A", "recording": "r", "evidence": [["DAY1 10:00:00", "DAY1 10:00:06"]],
     "identity": True},
    {"id": "r/cup", "question": "When was the cup seen?", "answer": "at eleven",
     "time": ["DAY1 11:00:00", "DAY1 11:00:10"], "recording": "r", "type": "when"},
    {"id": "s/man", "question": "Who is there?", "choices": {"A": "a cameraman", "B": "a horse"},
     "answer": "A", "at": "DAY2 09:00:09", "recording": "s"},
]  # fmt: skip


def register(home: Home, asked: list[dict[str, Any]] = ASKED, **options: Any) -> None:
    path = home.path / "asked.json"
    path.write_text(json.dumps(asked))
    file = SourceFile(path=str(path), size=1, mtime_ns=1, digest=file_digest(path))
    values = {"recordings": ("r", "s"), "variants": ("full", "no_association"), **options}
    put(home.path, "mine", Benchmark(kind="own", questions=file, **values))


def run(home: Home, asset: str, variant: str = "full") -> Any:
    return run_partition(home, STAGES, BY_NAME[asset], f"mine/{variant}", "run")


def stale(home: Home) -> dict[tuple[str, str], str]:
    return {(s.asset, s.partition): s.why for s in home.planner(STAGES).plan()}


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The questions that are asked, in the order in which they begin."""
    asked: list[str] = []
    own = predictions.ask

    def ask(memory: Any, question: str, **options: Any) -> Any:
        asked.append(question)
        return own(memory, question, **options)

    monkeypatch.setattr(predictions, "ask", ask)
    return asked


def test_a_reading_parameter_reruns_predictions_and_scores_alone(home: Home) -> None:
    register(home)
    assert {asset for asset, _ in stale(home)} == {"predictions", "scores"}
    assert len(up_to_date(home)) == 4
    assert stale(home) == {}
    before = versions(home)

    set_parameters(home, "s", {"reading.damping": 0.5})
    assert stale(home) == {
        ("predictions", f"mine/{variant}"): "parameter s.damping 0.85 -> 0.5"
        for variant in ("full", "no_association")
    } | {
        ("scores", f"mine/{variant}"): "predictions will be recomputed"
        for variant in ("full", "no_association")
    }
    assert {asset for asset, _ in up_to_date(home)} <= {"predictions", "scores"}
    after = versions(home)
    assert {k: v for k, v in after.items() if k[1].partition("/")[0] != "mine"} == {
        k: v for k, v in before.items() if k[1].partition("/")[0] != "mine"
    }
    rows = home.store.read("predictions", benchmark="mine", variant="full")
    assert rows["question"].to_list() == ["r/sign", "r/cup", "s/man"]
    assert set(rows["status"]) == {"ok"}
    scores = home.store.read("scores", benchmark="mine", variant="no_association")
    assert {"accuracy", "accuracy minus full", "complete coverage"} <= set(scores["metric"])
    assert set(scores.filter(scores["slice"] == "needs identity")["n"]) == {1}


def test_memories_are_built_whatever_became_of_a_benchmarks_file(home: Home) -> None:
    register(home)
    (home.path / "asked.json").write_text("[]")
    set_parameters(home, "r", {"graph.same_instance": 0.4})
    built = build(home, memories_only=True)
    assert not built.faults
    assert {one.asset for one in built.ran} == {"graph"}
    (fault,) = build(home).faults
    assert "changed since; register it with" in fault


def test_a_changed_graph_reaches_the_benchmarks_that_read_it(home: Home) -> None:
    register(home, [ASKED[2]], recordings=("s",), variants=("full",))
    up_to_date(home)
    set_parameters(home, "r", {"graph.same_instance": 0.4})
    assert {asset for asset, _ in stale(home)} == {"graph"}
    up_to_date(home)
    set_parameters(home, "s", {"graph.same_instance": 0.4})
    assert set(stale(home)) == {
        ("graph", "s"), ("predictions", "mine/full"), ("scores", "mine/full")
    }  # fmt: skip
    register(home, [ASKED[2]], recordings=("s",), variants=("full",), runs=2)
    with pytest.raises(Refused, match=r"memory of s is stale: graph of s .*geb build s"):
        run(home, "predictions")


def test_a_killed_run_goes_on_and_asks_nothing_twice(
    home: Home, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    register(home, parallel=1, runs=2)

    def killed(what: str, done: int, total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Home(home.path, killed), "predictions")
    assert len(counted) == 4
    outcome = run(home, "predictions")
    assert len(counted) == 6
    assert sorted(counted) == sorted([one["question"] for one in ASKED] * 2)

    # Another order, and several at a time, give the same rows.
    home.ledger.drop("predictions", "mine/full")
    shutil.rmtree(home.path / "tables" / "predictions")
    register(home, parallel=3, runs=2)
    assert run(home, "predictions").entry.versions == outcome.entry.versions


def test_failed_calls_alone_are_made_again(
    home: Home, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    register(home)
    own = predictions.ask

    def failing(memory: Any, question: str, **options: Any) -> Any:
        record = own(memory, question, **options)
        return record.model_copy(
            update={"error": "no reply", "failed": True, "answer": "", "choice": None}
        )

    with monkeypatch.context() as patch:
        patch.setattr(predictions, "ask", failing)
        assert run(home, "predictions").entry.failed == 3
    run(home, "scores")
    scores = home.store.read("scores", benchmark="mine", variant="full")
    accuracy = scores.filter((scores["metric"] == "accuracy") & (scores["slice"] == "all"))
    assert accuracy["value"].to_list() == [None]
    assert accuracy["note"][0] == "3 questions with a failed run, left out"
    counted.clear()
    assert run(home, "predictions").entry.complete
    assert len(counted) == 3


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ([{**ASKED[0], "recording": "t"}], "r/sign is about 't', which is none of the recordings"),
        ([{**ASKED[0], "answer": "C"}], "r/sign: gold answer 'C' is none of A, B"),
        ([ASKED[0], ASKED[0]], "r/sign: 2 questions have this id"),
        ([{k: v for k, v in ASKED[0].items() if k != "question"}], "r/sign: field 'question' is"),
        ([{**ASKED[1], "time": None}], "r/cup: has neither 'choices' nor 'accepts' nor 'time'"),
        ([{**ASKED[0], "kind": "x"}], "r/sign: field 'kind' is not known"),
        ([{**ASKED[0], "at": "DAY1 09:00:00"}, {**ASKED[2], "at": 0.0}],
         r"2 of 2 questions cannot be of their recording \(question r/sign: asked outside"),
    ],
)  # fmt: skip
def test_questions_that_cannot_be_are_refused_with_the_reason(
    home: Home, asked: list[dict[str, Any]], message: str
) -> None:
    register(home, asked)
    with pytest.raises(Refused, match=message):
        run(home, "predictions")


def test_a_truncated_or_changed_file_is_refused(home: Home) -> None:
    register(home)
    file = home.path / "asked.json"
    file.write_text(json.dumps(ASKED) + " ")
    with pytest.raises(Refused, match="changed since; register it"):
        run(home, "predictions")
    text = json.dumps(ASKED)[:-20]
    file.write_text(text)
    put(home.path, "mine", home.benchmarks().benchmark("mine").model_copy(
        update={"questions": SourceFile(path=str(file), size=1, mtime_ns=1,
                                        digest=file_digest(file))}))  # fmt: skip
    with pytest.raises(Refused, match="is not whole JSON"):
        run(home, "predictions")


def test_one_question_outside_its_recording_is_wrong_and_counted(home: Home) -> None:
    register(home, [*ASKED, {**ASKED[2], "id": "early", "at": "DAY1 08:00:00"}])
    run(home, "predictions")
    run(home, "scores")
    rows = home.store.read("predictions", benchmark="mine", variant="full")
    assert rows["status"].to_list() == ["ok", "ok", "ok", "outside"]
    assert "asked outside the recording" in rows["error"][3]
    scores = home.store.read("scores", benchmark="mine", variant="full")
    accuracy = scores.filter((scores["metric"] == "accuracy") & (scores["slice"] == "all"))
    assert accuracy["n"][0] == 4
    assert "1 questions outside the recording, wrong" in accuracy["note"][0]


def test_an_empty_memory_is_never_scored(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    register(home)
    monkeypatch.setattr(
        "geb_assets.reading.source.Source._frames",
        lambda self: {name: frame.clear() for name, frame in plain(self).items()},
    )
    with pytest.raises(Refused, match="the memory of r is empty: its graph has no nodes"):
        run(home, "predictions")


def plain(source: Any) -> dict[str, Any]:
    from geb_assets.reading.rows import COLUMNS

    return {
        name: source.home.store.read(name, list(columns), recording=source.recording)
        for name, columns in COLUMNS.items()
    }


def test_a_forgotten_recording_takes_its_answers_along(home: Home) -> None:
    register(home)
    up_to_date(home)
    page, part = home.path / "reports" / "mine.html", home.cache / "partial/predictions/mine~full"
    part.mkdir(parents=True)
    page.parent.mkdir()
    page.write_text("quotes")
    geb = CliRunner().invoke(main, ["ask", "s", "Who is there?"])
    assert geb.exit_code == 0, geb.output
    (record,) = records(home)
    removed = forget(home, "s")
    assert removed["predictions"] == 7
    assert not page.exists() and not part.exists()
    with pytest.raises(GebError, match="'s'"):
        keep(home, record)
    assert home.store.read("predictions").is_empty()
    assert home.benchmarks().benchmarks == {}
    assert stale(home) == {}


def test_questions_of_geb_ask_are_kept_and_replayed(home: Home) -> None:
    geb = CliRunner().invoke(main, ["ask", "r", "Where is the stop sign?", "--json"])
    assert geb.exit_code == 0, geb.output
    CliRunner().invoke(main, ["ask", "s", "Who is there?", "--json"])
    first, second = records(home)
    assert (first.recording, second.question) == ("r", "Who is there?")
    assert stale(home) == {}
    again = replay(Memory.open(home, "r"), first, answerer=EmbeddedAnswerer())
    assert again.model_dump(exclude={"seconds"}) == first.model_dump(exclude={"seconds"})
    forget(home, "r")
    assert records(home) == [second]


def test_geb_evaluate_and_report(home: Home) -> None:
    file = home.path / "mine.json"
    file.write_text(json.dumps(ASKED))
    words = ["evaluate", "mine", "--questions", str(file), "--variant", "no_association"]
    done = CliRunner().invoke(main, [*words, "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["benchmark"], told["variant"], told["questions"]) == ("mine", "full", 3)
    assert set(told["variants"]) == {"full", "no_association"}
    assert {"metric", "slice", "value", "low", "high", "n"} <= set(told["scores"][0])
    assert home.benchmarks().benchmark("mine").recordings == ("r", "s")
    assert stale(home) == {}

    paged = CliRunner().invoke(main, ["report", "mine", "--json"])
    assert paged.exit_code == 0, paged.output
    page = Path(json.loads(paged.stdout)["pages"]["mine"]).read_text()
    assert page.count("<section") == 3
    assert "DAY1 10:00:00 - DAY1 10:00:06" in page
    assert "data:image/png;base64," in page
    for question in ASKED:
        assert question["question"] in page

    for words, message in (
        (["evaluate", "none"], "no benchmark 'none' here"),
        (["evaluate", "mine", "--variant", "x"], "no variant 'x'; there are full"),
        (["evaluate", "mine", "--questions", "absent.json"], "absent.json does not exist"),
        (["evaluate", "mine", "--kind", "x"], "no rules for 'x'; there are own"),
        (["report", "none"], "no benchmark 'none' here"),
    ):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 1
        assert message in done.stderr


def test_who_reads_and_judges_and_in_which_words_is_in_the_fingerprint(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(home)
    up_to_date(home)
    planner = home.planner(STAGES)

    def asked(asset: str, role: str, **options: Any) -> str:
        planner.profile = PAPER.having({role: options})
        return planner.expected(BY_NAME[asset], "mine/full").models[role]

    for asset, role in (("predictions", READER), ("scores", JUDGE)):
        before = asked(asset, role)
        assert before.endswith(f"prompt {PROMPTS[role]}")
        assert asked(asset, role, base_url="http://127.0.0.1:9/v1", retries=1) == before
        assert asked(asset, role, temperature=0.3) != before
        assert asked(asset, role, model="another") != before
        monkeypatch.setenv(f"GEB_{role.upper()}_MODEL", "another")
        assert asked(asset, role) == asked(asset, role, model="another") != before


def test_a_judge_that_fails_leaves_its_scores_to_be_made_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(home, [ASKED[0]], recordings=("r",), variants=("full",))
    run(home, "predictions")
    down = {("r/sign", 0): Judgement(None, None, "", "busy", unanswered=True)}
    with monkeypatch.context() as patch:
        patch.setattr(scores, "_judgements", lambda *_: down)
        assert run(home, "scores").entry.failed == 1
    assert stale(home) == {("scores", "mine/full"): "1 failed"}
    assert run(home, "scores").entry.complete
    assert stale(home) == {}


def test_a_variant_that_cannot_be_scored_is_said(home: Home) -> None:
    register(home)
    # Names are read beside a memory, and nothing before the graph builds them.
    for asset in ("names", "chains"):
        home.ledger.drop(asset, "r")
    done = CliRunner().invoke(main, ["evaluate", "mine", "--json"])
    assert done.exit_code == 1
    error = json.loads(done.stdout)["error"]
    assert "mine/full has no scores" in error and "geb build r s" in error


def test_names_of_another_memory_close_it(home: Home) -> None:
    set_parameters(home, "r", {"names.looks": 7})
    with pytest.raises(GebError, match=r"memory of r is stale: names of r .*geb build r"):
        Memory.open(home, "r")
    home.ledger.drop("names", "r")
    assert Memory.open(home, "r").search("a stop sign")


def test_a_limit_stays_until_it_is_lifted(home: Home) -> None:
    file = home.path / "mine.json"
    file.write_text(json.dumps(ASKED))
    words = ["evaluate", "mine", "--questions", str(file), "--json"]
    for more, asked in ((["--limit", "1"], 1), ([], 1), (["--limit", "0"], 3)):
        done = CliRunner().invoke(main, [*words, *more])
        assert json.loads(done.stdout)["questions"] == asked, done.output


def test_what_does_not_exist_is_said(home: Home) -> None:
    register(home)
    with pytest.raises(GebError, match=r"no benchmark 'other' here .mine.; add it with: geb eval"):
        home.planner(STAGES).expected(BY_NAME["predictions"], "other/full")
    with pytest.raises(GebError, match="mine has no variant 'name_keyed'; it has full"):
        home.planner(STAGES).expected(BY_NAME["predictions"], "mine/name_keyed")
    with pytest.raises(GebError, match="'asked' cannot name a benchmark"):
        put(home.path, "asked", home.benchmarks().benchmark("mine"))
    (home.path / "benchmarks.toml").write_text("[benchmarks.a")
    with pytest.raises(GebError, match=r"benchmarks\.toml is no valid TOML"):
        home.benchmarks()


def test_the_schedule_and_the_sensor_run_benchmarks(home: Home) -> None:
    register(home, variants=("no_association", "full"))
    repository = definitions.build(home).get_repository_def()
    with dg.DagsterInstance.ephemeral() as instance:
        context = dg.build_schedule_context(
            instance=instance,
            repository_def=repository,
            scheduled_execution_time=datetime(2026, 1, 4, 5, tzinfo=UTC),
        )
        weekly = repository.get_schedule_def("weekly_benchmarks").evaluate_tick(context)
        sensed = dg.build_sensor_context(instance=instance, repository_def=repository)
        ticked = repository.get_sensor_def("stale_benchmarks").evaluate_tick(sensed)
    asked = [request.partition_key for request in weekly.run_requests or []]
    assert asked == ["mine/full", "mine/no_association"]
    assert {one.tags["geb/benchmark"] for one in weekly.run_requests or []} == {"mine"}
    wanted = {(one.partition_key, one.asset_selection[0].to_user_string())
              for one in ticked.run_requests or [] if one.asset_selection}  # fmt: skip
    assert wanted == {("mine/full", "predictions"), ("mine/no_association", "predictions")}
    graph = repository.asset_graph.get(dg.AssetKey("scores"))
    mapping = graph.partition_mappings[dg.AssetKey("predictions")]
    assert graph.partitions_def is not None
    read = mapping.get_upstream_mapped_partitions_result_for_partitions(
        graph.partitions_def.subset_with_partition_keys(["mine/no_association"]),
        graph.partitions_def, graph.partitions_def,
    )  # fmt: skip
    assert set(read.partitions_subset.get_partition_keys()) == {"mine/full", "mine/no_association"}


def test_a_budget_is_matched_to_what_the_benchmark_itself_allows(home: Home) -> None:
    register(home, reading={"budget": {"units": 1}})
    benchmark = home.benchmarks().benchmark("mine")
    full = Received(home, benchmark, predictions.questions_of(benchmark), "full")
    assert {memory.settings.budget.units for memory in full.memories.values()} == {1}
    assert match(home, "mine", "appended", 3)["words_full"] == full.means(None)[0]
    with pytest.raises(GebError, match="name_graph_6 has a budget of its own"):
        match(home, "mine", "name_graph_6", 3)
