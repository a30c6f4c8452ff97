"""MM-Lifelong: the layouts of Day, Week and Month."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.benchmarks import mmlifelong
from geb_assets.errors import GebError


def item(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "index": number,
        "question": "What did they cook?",
        "answer": "Noodles.",
        "question_type": "Event",
        "temporal_certificate": "hours",
        "total_intervals": [[10, 20.5]],
    } | fields


def written(folder: Path, items: list[dict[str, Any]]) -> Path:
    path = folder / "val.json"
    path.write_text(json.dumps(items))
    return path


def test_the_three_layouts(tmp_path: Path) -> None:
    day = item(0, clue_intervals=[[10, 20.5], [30, 40]])
    week = item(1, clue_intervals=[{"video_id": "v", "intervals": [[1, 2]]}])
    month = item(
        2,
        clue_interval=[
            {"video_id": "v", "intervals": [[1, 2], [3, 4]]},
            {"video_id": "w", "intervals": [[5, 6]]},
        ],
    )
    (one,) = mmlifelong.load(written(tmp_path, [day]), "day")
    assert one.clues == (("", ((10.0, 20.5), (30.0, 40.0))),) and one.videos == ()
    assert one.evidence == ((10.0, 20.5),)
    assert (one.id, one.at, one.choices, one.answer) == ("0", None, {}, "Noodles.")
    (two,) = mmlifelong.load(written(tmp_path, [week]), "week")
    assert two.videos == ("v",) and two.temporal_certificate == "hours"
    (three,) = mmlifelong.load(written(tmp_path, [month]), "month")
    assert three.videos == ("v", "w") and three.clues[1] == ("w", ((5.0, 6.0),))


def test_total_intervals_may_be_missing(tmp_path: Path) -> None:
    day = item(0, clue_intervals=[[10, 20]])
    del day["total_intervals"]
    (one,) = mmlifelong.load(written(tmp_path, [day]), "day")
    assert one.evidence == ((10.0, 20.0),)


def test_hallucination_questions_are_all_or_nothing(tmp_path: Path) -> None:
    items = [
        item(0, clue_intervals=[[1, 2]], question_type="Hallucination-sensitive"),
        item(1, clue_intervals=[[2, 1]]),
    ]
    strict, plain = mmlifelong.load(written(tmp_path, items), "day")
    assert strict.all_or_nothing and not plain.all_or_nothing
    assert plain.oddities == ("span written backwards",)


@pytest.mark.parametrize(
    ("fields", "layout", "says"),
    [
        ({"clue_intervals": [[1, 2]]}, "month", "field 'clue_interval' is missing or empty"),
        ({"clue_intervals": [[1, 2]]}, "week", "names no videos"),
        (
            {"clue_intervals": [{"video_id": "v", "intervals": [[1, 2]]}]},
            "day",
            "is no list of .start, end. in seconds",
        ),
        ({"clue_intervals": [[1, 2]], "answer": " "}, "day", "field 'answer' is missing or empty"),
        ({"clue_intervals": [[-1, 2]]}, "day", "is no list"),
        ({"clue_intervals": [[1, 2]], "index": "x"}, "day", "'index' is no whole number"),
    ],
)
def test_faults(
    tmp_path: Path, fields: dict[str, Any], layout: mmlifelong.Layout, says: str
) -> None:
    with pytest.raises(GebError, match=rf"val\.json question \w+: .*{says}"):
        mmlifelong.load(written(tmp_path, [item(0, **fields)]), layout)


def test_an_index_used_twice(tmp_path: Path) -> None:
    items = [item(4, clue_intervals=[[1, 2]])] * 2
    with pytest.raises(GebError, match="question 4: 2 questions have this id"):
        mmlifelong.load(written(tmp_path, items), "day")
