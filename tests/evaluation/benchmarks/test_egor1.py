"""Ego-R1-Bench: two splits that share ids, ranges with a dash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.benchmarks import egolifeqa, egor1
from geb_assets.errors import GebError


def item(name: int | str, **fields: Any) -> dict[str, Any]:
    return {
        "ID": name,
        "query_time": {"date": "DAY1", "time": "12041900"},
        "type": "Any kind",
        "question": "Where is the bowl?",
        "choice_a": "Shelf",
        "choice_b": "Sink",
        "choice_c": "Table",
        "choice_d": "Floor",
        "answer": "A",
        "target_time": {"date": "DAY1", "time": "11000500"},
    } | fields


def written(folder: Path, **splits: list[dict[str, Any]]) -> Path:
    for split, items in splits.items():
        (folder / f"{split}-benchmark").mkdir()
        (folder / f"{split}-benchmark" / "A1_JAKE.json").write_text(json.dumps(items))
    return folder


def test_two_splits_share_ids(tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        manual=[item("1"), item("2", query_time={"date": "DAY1", "time": "12041900-12003000"})],
        gemini=[
            item(1, target_time={"date": "DAY1", "time": "11000500-11010000"}),
            item(3, target_time={"date": "DAY1", "time_list": ["11000500", "11000800-11000900"]}),
        ],
    )
    questions = egor1.load(folder)
    assert [q.id for q in questions] == ["manual/1", "manual/2", "gemini/1", "gemini/3"]
    assert [egor1.split_of(q) for q in questions] == ["manual", "manual", "gemini", "gemini"]
    eleven, noon = 11 * 3600.0, 12 * 3600.0
    # Of a range the later.
    assert [q.at for q in questions] == [noon + 259.0] * 4
    units = [(eleven, eleven + 30)]
    assert [egolifeqa.windows(q, units) for q in questions] == [
        units,
        units,
        [(eleven + 5, eleven + 60)],
        [units[0], (eleven + 8, eleven + 9)],
    ]
    assert egor1.load(folder, splits=["gemini"]) == questions[2:]


def test_faults_name_split_and_question(tmp_path: Path) -> None:
    folder = written(tmp_path, manual=[item("1"), item("1")], gemini=[item("2", answer="")])
    with pytest.raises(GebError, match="question manual/1: 2 questions have this id"):
        egor1.load(folder)
    with pytest.raises(GebError, match="question gemini/2: gold answer"):
        egor1.load(folder, splits=["gemini"])
    with pytest.raises(GebError, match=r"A9\.json does not exist"):
        egor1.load(folder, participant="A9")
