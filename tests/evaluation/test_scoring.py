"""Scores against a plain reference: means, denominators, curves and paired differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.answers import Graded, Judgements
from evaluation.benchmarks.catalogue import KINDS
from evaluation.benchmarks.own import OwnQuestion
from evaluation.benchmarks.question import Question
from evaluation.bootstrap import paired
from evaluation.metrics.intervals import interval_scores, joined
from evaluation.metrics.judges import Judgement
from evaluation.scoring import Score, score
from evaluation.tables import markdown, plot, show, side_by_side
from geb_assets.tables import TABLES

OWN = KINDS["own"]


def questions(count: int) -> list[OwnQuestion]:
    return [
        OwnQuestion(f"q{n}", "?", {"A": "x", "B": "y"}, "A", None, type="ab"[n % 2],
                    evidence=((0.0, 1.0),) * (n % 3), identity=n % 4 == 0)
        for n in range(count)
    ]  # fmt: skip


def row(place: int, run: int, **values: Any) -> dict[str, Any]:
    blank: dict[Any, Any] = {pl.String(): "", pl.Boolean(): False, pl.Float64(): 0.0}
    base = {
        name: blank.get(dtype, [] if isinstance(dtype, pl.List) else 0)
        for name, dtype in TABLES["predictions"].schema.items()
    }
    kept = {"question": f"q{place}", "place": place, "run": run, "status": "ok"}
    return {**base, **kept, **values}


def table(rows: list[dict[str, Any]], judged: Judgements | None = None) -> Graded:
    return Graded(pl.DataFrame(rows, schema=TABLES["predictions"].schema), judged)


def found(scores: list[Score], metric: str, slice_: str = "all") -> Score:
    (one,) = [s for s in scores if (s.metric, s.slice) == (metric, slice_)]
    return one


@given(data=st.data(), count=st.integers(1, 9), runs=st.integers(1, 3))
def test_figures_equal_a_plain_reference(data: st.DataObject, count: int, runs: int) -> None:
    asked = questions(count)
    rows = []
    for place, question in enumerate(asked):
        for run in range(runs):
            steps = data.draw(st.lists(st.integers(0, 2), min_size=1, max_size=4))
            reached = np.minimum(np.cumsum(steps), len(question.evidence)).tolist()
            rows.append(
                row(place, run, correct=data.draw(st.booleans()), rounds=len(steps),
                    windows=[list(w) for w in question.evidence], reached=reached,
                    units_after=np.cumsum(steps).tolist())
            )  # fmt: skip
    scores = score(OWN, asked, table(rows))
    by_question = [[r for r in rows if r["place"] == p] for p in range(count)]
    accuracy = [np.mean([r["correct"] for r in own]) for own in by_question]
    assert found(scores, "accuracy").value == pytest.approx(np.mean(accuracy))
    for kind in {q.type for q in asked}:
        own = [a for a, q in zip(accuracy, asked, strict=True) if q.type == kind]
        assert found(scores, "accuracy", kind).value == pytest.approx(np.mean(own))
        assert found(scores, "accuracy", kind).n == len(own)
    windowed = [own for own, q in zip(by_question, asked, strict=True) if q.evidence]
    for number in range(max(r["rounds"] for r in rows)) if windowed else ():
        after = [
            np.mean([r["reached"][min(number, r["rounds"] - 1)] >= len(r["windows"]) for r in own])
            for own in windowed
        ]
        curve = found(scores, "complete coverage", f"after round {number + 1}")
        assert curve.value == pytest.approx(np.mean(after))
        assert curve.n == len(windowed)


def test_what_failed_is_left_out_of_every_figure_and_what_lies_outside_is_wrong() -> None:
    asked = questions(6)
    answered: dict[str, Any] = {"correct": True, "windows": [[0.0, 1.0]], "reached": [1],
                                "rounds": 1, "units_after": [4], "choice": "A"}  # fmt: skip
    rows = [
        row(0, 0, **answered),
        row(1, 0, **answered),
        # Failed before its first search: its evidence is unknown, not missed.
        row(2, 0, status="failed", error="no reply", windows=[[0.0, 1.0]]),
        row(3, 0, status="outside"),
        row(4, 0, **answered),
        row(4, 1, status="failed", windows=[[0.0, 1.0]]),
        row(5, 0, **answered),
    ]
    scores = score(OWN, asked, table(rows))
    accuracy = found(scores, "accuracy")
    assert (accuracy.value, accuracy.n) == (pytest.approx(3 / 4), 4)
    lost = "2 questions with a failed run, left out; 1 questions outside the recording, "
    assert accuracy.note == lost + "wrong"
    assert found(scores, "accuracy", "a").note == "2 questions with a failed run, left out"
    assert found(scores, "accuracy", "b").note == "1 questions outside the recording, wrong"
    for metric, slice_ in (("complete coverage", "all"), ("complete coverage", "after round 1"),
                           ("units received", "all"), ("searches", "all")):  # fmt: skip
        one = found(scores, metric, slice_)
        assert (one.n, one.note) == (3, lost + "left out")
    assert found(scores, "complete coverage").value == 1.0
    whole = [row(place, 0, **answered) for place in range(6)]
    difference = found(score(OWN, asked, table(rows), table(whole)), "accuracy minus full")
    assert difference.n == 4
    assert difference.note == "2 questions that one side has no value for, left out"
    assert difference.value == pytest.approx(-1 / 4)


def test_failed_runs_are_in_no_sensitivity_line_and_in_no_judge_s_mean() -> None:
    asked = [OwnQuestion(n, "?", {"A": "x", "B": "y"}, "A", None) for n in ("1", "2", "3")]
    rows = [row(0, 0, question="1", correct=True, choice="A"),
            row(1, 0, question="2", status="failed"),
            row(2, 0, question="3", correct=False, choice="B")]  # fmt: skip
    one = found(score(KINDS["egolifeqa"], asked, table(rows)), "accuracy", "ambiguous wrong")
    assert (one.value, one.n) == (0.5, 2)
    assert one.note == "questions 118, 373 and 395; 1 questions with a failed run, left out"
    open_ = [OwnQuestion(f"q{n}", "?", {}, "x", None) for n in range(2)]
    said = {("q0", 0): Judgement(0.5, 3, ""), ("q1", 0): Judgement(1.0, 5, "")}
    runs = table([row(0, 0), row(1, 0), row(1, 1, status="failed")], said)
    judge = found(score(KINDS["mmlifelong-day"], open_, runs), "judge")
    assert (judge.value, judge.n) == (0.5, 1)
    assert judge.note == "1 questions with a failed run, left out"


def test_variants_over_different_numbers_of_questions_say_so() -> None:
    full, less = Score("accuracy", "all", 0.5, 500), Score("accuracy", "all", 0.4, 430, note="x")
    rows, notes = side_by_side({"full": [full], "less": [less]})
    assert rows[1] == ["accuracy, %", "all", "50.0", "40.0", "500/430"]
    assert notes == ["less: accuracy all: x"]
    assert side_by_side({"full": [full], "same": [full]})[0][1][-1] == "500"


def test_differences_are_paired_over_the_questions_that_both_answered() -> None:
    rng = np.random.default_rng(0)
    asked = questions(30)
    full, less = rng.random((2, 30)) < np.array([[0.8], [0.5]])
    rows = {name: table([row(p, 0, correct=bool(v)) for p, v in enumerate(values)])
            for name, values in (("full", full), ("less", less))}  # fmt: skip
    scores = score(OWN, asked, rows["less"], rows["full"])
    difference = found(scores, "accuracy minus full")
    assert difference.value == pytest.approx(less.mean() - full.mean())
    assert (difference.low, difference.high) == paired(less.astype(float), full.astype(float))
    assert "accuracy minus full" not in {one.metric for one in score(OWN, asked, rows["full"])}


def test_open_questions_without_a_judge_are_told_of_and_never_zero() -> None:
    asked = [OwnQuestion("q0", "?", {}, "x", None)]
    (judge,) = [s for s in score(KINDS["mmlifelong-day"], asked, table([row(0, 0)]))
                if s.metric == "judge"]  # fmt: skip
    assert judge.value is None
    assert judge.note == "no judge is served by this profile"
    assert show(judge) == "not measured"


def test_a_failed_judgement_is_no_zero() -> None:
    asked = [OwnQuestion(f"q{n}", "?", {}, "x", None) for n in range(3)]
    said = {
        ("q0", 0): Judgement(1.0, 5, ""),
        ("q1", 0): Judgement(None, None, "", "the judge's reply is empty"),
        ("q2", 0): Judgement(0.5, 3, ""),
    }
    rows = table([row(place, 0) for place in range(3)], said)
    judge = found(score(KINDS["mmlifelong-day"], asked, rows), "judge")
    assert (judge.value, judge.n) == (0.75, 2)
    assert judge.note == "1 judgements failed and are left out"


def test_egolifeqa_stands_beside_the_paper_s_figure_and_its_ambiguous_questions() -> None:
    asked = [OwnQuestion(name, "?", {"A": "x", "B": "x"}, "A", None) for name in ("1", "118")]
    rows = table([row(p, 0, question=q.id, correct=True, choice="A") for p, q in enumerate(asked)])
    scores = score(KINDS["egolifeqa"], asked, rows)
    assert found(scores, "accuracy").anchor == pytest.approx(0.72)
    assert found(scores, "accuracy", "ambiguous wrong").value == 0.5
    assert found(scores, "accuracy", "ambiguous by text").value == 1.0
    assert "| accuracy, % | all | 100.0 [100.0, 100.0] | 2 | 72.0 |" in markdown(scores)
    assert plot([("full", scores)]).startswith(b"\x89PNG")


seconds = st.tuples(st.integers(0, 150), st.integers(0, 30)).map(lambda p: (p[0], p[0] + p[1]))
named = st.lists(seconds, max_size=3)


@given(
    asked=st.lists(st.tuples(st.lists(seconds, min_size=1, max_size=3), st.lists(named, min_size=2,
                   max_size=2), st.sampled_from(["ok", "ok", "failed", "outside"])), min_size=1,
                   max_size=6)
)  # fmt: skip
def test_named_evidence_equals_a_plain_reference(asked: list[tuple[Any, Any, str]]) -> None:
    """Means over the runs that name an interval, IoU@0.3 over all; failed ones in neither."""
    questions = [
        Question(f"q{place}", "?", {}, "x", None, evidence=tuple(map(tuple, gold)))
        for place, (gold, _, _) in enumerate(asked)
    ]
    rows = [
        row(place, run, status=status, intervals=[] if status == "outside" else spans)
        for place, (_, runs, status) in enumerate(asked)
        for run, spans in enumerate(runs)
    ]
    means, above, missing, outside = [], [], 0, 0
    for gold, runs, status in asked:
        if status == "failed":
            continue
        spans = [[] if status == "outside" else joined(one, 8) for one in runs]
        overlap = [interval_scores(one, gold) for one in spans]
        above.append(np.mean([iou > 0.3 for iou, _, _ in overlap]))
        given = [three for three, one in zip(overlap, spans, strict=True) if one]
        if given:
            means.append(np.mean(given, axis=0))
        outside += status == "outside"
        missing += sum(not one for one in spans) * (status != "outside")
    scores = score(KINDS["multihop"], questions, table(rows))
    for number, metric in enumerate(("mIoU", "mIoP", "mIoG")):
        one = found(scores, metric)
        assert one.n == len(means)
        assert one.value == (pytest.approx(np.mean(means, axis=0)[number]) if means else None)
        assert f"{missing} answers without an interval, left out" in one.note or not missing
    at = found(scores, "IoU@0.3")
    assert at.n == len(above)
    assert at.value == (pytest.approx(np.mean(above)) if above else None)
    assert (f"{outside} questions outside the recording, missed" in at.note) == (outside > 0)


def test_what_a_question_cost_is_told_where_it_was_counted() -> None:
    asked = questions(3)
    counted: dict[str, Any] = {"prompt_tokens": 900, "completion_tokens": 50,
                               "answer_prompt_tokens": 800, "answer_completion_tokens": 20,
                               "seconds": 2.0}  # fmt: skip
    rows = [row(0, 0, **counted), row(1, 0, **{**counted, "answer_prompt_tokens": 600}),
            row(2, 0, status="failed", **counted)]  # fmt: skip
    scores = score(OWN, asked, table(rows))
    told = {"answer tokens": 700, "answer tokens written": 20, "controller tokens": 200,
            "controller tokens written": 30, "seconds a question": 2.0}  # fmt: skip
    for metric, value in told.items():
        one = found(scores, metric)
        assert (one.value, one.n) == (value, 2)
        assert "1 questions with a failed run, left out" in one.note
    none = score(OWN, asked, table([row(place, 0, seconds=1.0, answer_prompt_tokens=None,
                 answer_completion_tokens=None) for place in range(3)]))  # fmt: skip
    assert not [one for one in none if "tokens" in one.metric]
    assert found(none, "seconds a question").note == ""


def test_judged_and_similar_answers_are_compared_with_the_full_system_s() -> None:
    asked = [Question(f"q{n}", "?", {}, "x", None, evidence=((0, 9),)) for n in range(3)]
    bare = [row(place, 0) for place in range(3)]

    def side(marks: list[float | None], alike: list[float]) -> Graded:
        said = {(f"q{n}", 0): Judgement(mark, mark, "") for n, mark in enumerate(marks)}
        similar = {(f"q{n}", 0): one for n, one in enumerate(alike)}
        return Graded(table(bare).predictions, said, similar, "embedded by m")

    own, full = side([5.0, None, 3.0], [0.5, 0.4, 0.3]), side([6.0, 8.0, 7.0], [0.5, 0.6, 0.7])
    scores = score(KINDS["multihop"], asked, own, full)
    assert found(scores, "judge").value == 4.0
    judged = found(scores, "judge minus full")
    assert (judged.value, judged.n) == (-2.5, 2)
    assert judged.note == "1 questions that one side has no value for, left out"
    alike = found(scores, "sentence similarity minus full", "with a reference")
    assert alike.value == pytest.approx(-0.2)
    assert found(scores, "sentence similarity").note == "embedded by m"
