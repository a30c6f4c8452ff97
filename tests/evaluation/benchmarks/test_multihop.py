"""MultiHop-EgoQA: the annotation file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.benchmarks import multihop
from evaluation.metrics.evidence import complete_coverage
from geb_assets.errors import GebError


def item(name: int | str, **fields: Any) -> dict[str, Any]:
    return {
        "sample_id": name,
        "segment_id": "clip-7",
        "category": "Counting",
        "Q": "How often did I open the tap?",
        "A": "You opened it <T1>twice</T1>.",
        "T": [[9, 15], [120, 135]],
    } | fields


def written(folder: Path, items: list[dict[str, Any]]) -> Path:
    path = folder / "MultiHop-EgoQA.json"
    path.write_text(json.dumps(items))
    return path


def test_questions(tmp_path: Path) -> None:
    items = [
        item("a"),
        item(2, T=[3, 3], A="At <T1></T1> and <T2></T2>."),
        item(3, T=[[0, 1], [5, 6], [170, 181]], category="Order"),
    ]
    first, when, three = questions = multihop.load(written(tmp_path, items))
    assert (first.id, first.recording, first.type, first.at) == ("a", "clip-7", "Counting", None)
    assert first.evidence == ((9.0, 15.0), (120.0, 135.0))
    assert multihop.windows(when) == [(3.0, 4.0)]
    assert [multihop.asks_when(q) for q in questions] == [False, True, False]
    assert multihop.reference(first) == "You opened it twice."
    assert three.oddities == ("evidence outside the clip",)
    masks = {name: mask.tolist() for name, mask in multihop.masks(questions).items()}
    assert masks == {
        "all": [True, True, True],
        "Counting": [True, True, False],
        "Order": [False, False, True],
        ">= 3 intervals": [False, False, True],
        "with a reference": [True, False, True],
    }


def test_the_last_second_lies_inside(tmp_path: Path) -> None:
    (question,) = multihop.load(written(tmp_path, [item(1, T=[[5, 9], [20, 20]])]))
    windows = multihop.windows(question)
    assert complete_coverage(windows, [(0, 10), (20, 30)])
    assert not complete_coverage(windows, [(0, 10), (10, 20)])
    assert not complete_coverage(windows, [(10, 20), (20, 30)])


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"T": []}, "evidence T"),
        ({"T": [[5, 3]]}, "evidence T"),
        ({"T": [[5.5, 6]]}, "evidence T"),
        ({"Q": ""}, "field 'Q' is missing"),
        ({"sample_id": None}, "field 'sample_id' is missing"),
    ],
)
def test_faults(tmp_path: Path, fields: dict[str, Any], says: str) -> None:
    with pytest.raises(GebError, match=rf"MultiHop-EgoQA\.json question \w+: {says}"):
        multihop.load(written(tmp_path, [item(1, **fields)]))
