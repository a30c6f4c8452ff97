"""EgoLifeQA's file format, its windows, and the rules of its score."""

from __future__ import annotations

import copy
import json
import os
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.benchmarks import egolifeqa
from evaluation.benchmarks.question import Question, outside, survey
from evaluation.metrics.evidence import evidence_hit
from geb_assets.errors import GebError

Item = dict[str, Any]


def item(name: str, target: Item, **fields: Any) -> Item:
    """A question in the released format."""
    return {
        "ID": name,
        "query_time": {"date": "DAY2", "time": "11210292"},
        "type": "EntityLog",
        "need_audio": False,
        "question": "Who took the bowl?",
        "choice_a": "Ada",
        "choice_b": "Ben",
        "choice_c": "Cleo",
        "choice_d": "Dan",
        "answer": "B",
        "target_time": target,
    } | fields


def written(folder: Path, items: object) -> Path:
    path = folder / "EgoLifeQA_A9.json"
    path.write_text(json.dumps(items), encoding="utf-8")
    return path


def at(day: int, hours: int, minutes: int, seconds: float) -> float:
    return (day - 1) * 86400 + hours * 3600 + minutes * 60 + seconds


UNITS = [
    (at(1, 11, 0, 0), at(1, 11, 0, 30)),
    (at(1, 11, 0, 30), at(1, 11, 0, 58)),
    (at(1, 11, 2, 0), at(1, 11, 2, 30)),
]


def test_a_plain_question(tmp_path: Path) -> None:
    path = written(tmp_path, [item("7", {"date": "DAY1", "time": "11001092"})])
    (question,) = egolifeqa.load(path)
    assert question.id == "7" and question.answer == "B" and question.type == "EntityLog"
    assert question.choices == {"A": "Ada", "B": "Ben", "C": "Cleo", "D": "Dan"}
    assert question.at == at(2, 11, 21, 2.92)
    assert egolifeqa.windows(question, UNITS) == [UNITS[0]]
    assert egolifeqa.load(str(path)) == [question]


@pytest.mark.parametrize(
    ("target", "windows", "oddities"),
    [
        ({"date": "Day1", "time": "11001000"}, [UNITS[0]], ("date not written DAYn",)),
        # The end of one unit is the start of the next: the first that holds it.
        ({"date": "DAY1", "time": "11003000"}, [UNITS[0]], ()),
        ({"date": "DAY1", "time": "11003001"}, [UNITS[1]], ()),
        # Between units; FF counts, so 58.01 lies behind a unit that ends at 58.
        ({"date": "DAY1", "time": "11005801"}, [], ()),
        ({"date": "DAY1", "time": "11012000"}, [], ()),
        (
            {"date": "DAY1", "time_list": ["11021000", "11000000", "11000512"]},
            [UNITS[0], UNITS[2]],
            ("several times", "times not in order"),
        ),
        (
            {"date": "DAY1", "time": "11001000DAY1_11012050"},
            [(at(1, 11, 0, 10), at(1, 11, 1, 20.5))],
            ("range",),
        ),
        (
            {"date": "DAY1", "time": "11001000DAY2_11012000"},
            [(at(1, 11, 0, 10), at(2, 11, 1, 20))],
            ("range over days",),
        ),
        (
            {"date": "DAY1", "time": "11360904DAY2_10453312DAY2_11235811"},
            [],
            ("more than two parts in one time",),
        ),
        (
            {"date": "DAY1", "time": "11001000-11002000"},
            [(at(1, 11, 0, 10), at(1, 11, 0, 20))],
            ("range",),
        ),
        (
            {"date": "DAY1", "time": "11002000-11001000"},
            [(at(1, 11, 0, 10), at(1, 11, 0, 20))],
            ("range", "range written backwards"),
        ),
        ({"date": "DAY1", "time": "noon"}, [], ("time that cannot be read",)),
        ({"date": "DAY1", "time": "11990000"}, [], ("time that cannot be read",)),
    ],
)
def test_every_way_to_write_a_target(
    tmp_path: Path, target: Item, windows: list[tuple[float, float]], oddities: tuple[str, ...]
) -> None:
    (question,) = egolifeqa.load(written(tmp_path, [item("1", target)]))
    assert egolifeqa.windows(question, UNITS) == windows
    assert question.oddities == oddities


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), min_size=1, max_size=6),
    st.lists(st.integers(0, 60), min_size=1, max_size=4),
)
def test_windows_equal_a_plain_search(spans: list[tuple[int, int]], instants: list[int]) -> None:
    units = sorted((float(start), float(start + length)) for start, length in spans)
    question = Question(
        "1", "?", {}, "", None, evidence=tuple((float(t), float(t)) for t in instants)
    )
    plain = set()
    for instant in instants:
        for unit in units:
            if unit[0] <= instant <= unit[1]:
                plain.add(unit)
                break
    assert egolifeqa.windows(question, units) == sorted(plain)


def test_the_count_in_plain_words(tmp_path: Path) -> None:
    items = [
        item("1", {"date": "DAY1", "time": "11001000"}),
        item("2", {"date": "DAY3", "time": "11001000"}, type="TaskMaster"),
        item("3", {"date": "DAY1", "time": "11001000"}, choice_d="Ben"),
        item("4", {"date": "DAY1", "time": "11001000"}, choice_d=""),
    ]
    questions = egolifeqa.load(written(tmp_path, items))
    found = survey(questions, [egolifeqa.windows(q, UNITS) for q in questions])
    assert found.lines() == [
        "4 questions: EntityLog 3, TaskMaster 1",
        "3 with an evidence window, 3 windows in all",
        "evidence after the question: 1 (2)",
        "gold text at two letters: 1 (3)",
        "no evidence window: 1 (2)",
    ]
    assert list(questions[3].choices) == ["A", "B", "C"]


def without(key: str) -> Callable[[Item], None]:
    def change(question: Item) -> None:
        del question[key]

    return change


def setting(key: str, value: object) -> Callable[[Item], None]:
    def change(question: Item) -> None:
        question[key] = value

    return change


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (without("ID"), "question at place 2: field 'ID' is missing"),
        (without("question"), "question 2: field 'question' is missing or empty"),
        (without("query_time"), "question 2: field 'query_time' is no {date, time}"),
        (without("target_time"), "question 2: field 'target_time' is no"),
        (without("answer"), "question 2: gold answer None is none of A, B, C, D"),
        (setting("answer", "E"), "question 2: gold answer 'E' is none of A, B, C, D"),
        (setting("choice_b", ""), "question 2: gold answer 'B' is none of A, C, D"),
        (setting("type", "Other"), "question 2: type 'Other' does not exist"),
        (
            setting("query_time", {"date": "DAY1", "time": "25210217"}),
            "question 2: time '25210217'",
        ),
        (
            setting("query_time", {"date": "1", "time": "11210217"}),
            "question 2: date '1' is no day",
        ),
        (setting("target_time", {"date": "DAY0", "time": "11210217"}), "date 'DAY0' is no day"),
        (setting("ID", "1"), "question 1: 2 questions have this id"),
    ],
)
def test_bad_questions_are_named(tmp_path: Path, change: Callable[[Item], None], says: str) -> None:
    good = item("1", {"date": "DAY1", "time": "11001000"})
    bad = copy.deepcopy(good) | {"ID": "2"}
    change(bad)
    with pytest.raises(GebError, match=re.escape(says)) as raised:
        egolifeqa.load(written(tmp_path, [good, bad]))
    assert str(raised.value).startswith("EgoLifeQA_A9.json question")
    assert "\n" not in str(raised.value)


def test_all_faults_are_counted(tmp_path: Path) -> None:
    items = [item(str(n), {"date": "DAY1", "time": "11001000"}, answer="F") for n in range(3)]
    with pytest.raises(GebError, match=r"question 0: .* \(2 more faults"):
        egolifeqa.load(written(tmp_path, items))


def test_bad_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(GebError, match="does not exist"):
        egolifeqa.load(tmp_path / "none.json")
    cut = tmp_path / "cut.json"
    cut.write_text('[{"ID": "1", ')
    with pytest.raises(GebError, match=r"cut\.json is not whole JSON"):
        egolifeqa.load(cut)
    for content in ({}, [], ["x"]):
        with pytest.raises(GebError, match="holds no list of questions"):
            egolifeqa.load(written(tmp_path, content))


def test_forced_wrong_and_its_sensitivity() -> None:
    options = {"A": "Choiszt", "B": "Choiszt", "C": "Nicous", "D": "Ada"}

    def question(name: str) -> Question:
        return Question(name, "?", options, "A", 0.0)

    for name in ("71", "73"):
        assert not egolifeqa.correct(question(name), "A")
        assert not egolifeqa.correct(question(name), "A", sensitivity="ambiguous by text")
    for name in ("118", "373", "395"):
        assert egolifeqa.correct(question(name), "A")
        assert not egolifeqa.correct(question(name), "B")
        assert not egolifeqa.correct(question(name), "A", sensitivity="ambiguous wrong")
        assert egolifeqa.correct(question(name), "B", sensitivity="ambiguous by text")
        assert not egolifeqa.correct(question(name), "C", sensitivity="ambiguous by text")
    for name in ("1", "72"):
        assert egolifeqa.correct(question(name), "A", sensitivity="ambiguous wrong")
        assert not egolifeqa.correct(question(name), "B", sensitivity="ambiguous by text")
        assert not egolifeqa.correct(question(name), None)


def test_masks_hold_the_types_and_the_wide_windows() -> None:
    questions = [
        Question(name, "?", {}, "", 0.0, type=kind)
        for name, kind in (("50", "EntityLog"), ("51", "EntityLog"), ("279", "TaskMaster"))
    ]
    found = {name: mask.tolist() for name, mask in egolifeqa.masks(questions).items()}
    assert found == {
        "all": [True, True, True],
        "EntityLog": [True, True, False],
        "TaskMaster": [False, False, True],
        "without 50, 249, 250, 279": [False, True, False],
    }


def test_questions_of_another_recording_are_told() -> None:
    questions = [
        Question("before", "?", {}, "", 5.0),
        Question("inside", "?", {}, "", 20.0, evidence=((12.0, 12.0),)),
        Question("asked later", "?", {}, "", 90.0, evidence=((1.0, 15.0),)),
        Question("elsewhere", "?", {}, "", None, evidence=((12.0, 12.0), (70.0, 80.0))),
    ]
    assert outside(questions, 10.0, 60.0) == ("before", "elsewhere")


def egolife() -> Path:
    if "GEB_DATA" not in os.environ:
        pytest.skip("GEB_DATA is not set: EgoLifeQA's questions and the week are not here")
    return Path(os.environ["GEB_DATA"]) / "egolife"


def week_units(archive: Path) -> list[tuple[float, float]]:
    """First start and last end of the lines of each 30-second unit of the week, sorted."""
    units = []
    with tarfile.open(archive) as files:
        for member in files:
            if (opened := files.extractfile(member)) is None:
                continue
            for unit in json.load(opened):
                if unit["data"]:
                    day = int(unit["video_file"][3])
                    times = [line[key] for line in unit["data"] for key in ("start", "end")]
                    first, last = (
                        at(day, t // 10000, t // 100 % 100, t % 100)
                        for t in (min(times), max(times))
                    )
                    units.append((first, last))
    return sorted(units)


def test_the_shared_questions() -> None:
    folder = egolife()
    questions = egolifeqa.load(folder / "EgoLifeQA_A1_JAKE.part.json")
    units = week_units(folder / "sync_A1_JAKE_week.tar.gz")
    assert len(units) == 6223
    windows = [egolifeqa.windows(question, units) for question in questions]
    found = survey(questions, windows)
    assert (found.questions, found.with_window) == (310, 296)
    assert found.types == {
        "EntityLog": 72,
        "EventRecall": 80,
        "HabitInsight": 44,
        "RelationMap": 76,
        "TaskMaster": 38,
    }
    odd = found.oddities
    assert odd["date not written DAYn"] == ("93",)
    assert odd["range over days"] == ("249", "250", "279")
    assert odd["range"] == ("11", "15", "17", "21", "50")
    assert odd["more than two parts in one time"] == ("266", "338", "482")
    assert len(odd["several times"]) == 26
    assert set(odd["gold text at two letters"]) == {"73", "118", "373", "395"}
    assert "evidence after the question" not in odd
    # Received in whole, the week hits every question that has a window.
    assert sum(evidence_hit(own, units) for own in windows) == 296
