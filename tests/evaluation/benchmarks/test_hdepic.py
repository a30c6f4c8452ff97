"""HD-EPIC: movements of true objects, and the questions whose evidence they are."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evaluation.benchmarks import hdepic
from evaluation.benchmarks.question import survey
from geb_assets.errors import GebError


def track(name: str, start: float, end: float) -> dict[str, Any]:
    return {"track_id": name, "time_segment": [start, end], "masks": ["m"]}


VIDEOS = {
    "P01": {
        "o1": {"name": "bowl", "tracks": [track("t2", 60.0, 70.0), track("t1", 10.0, 12.5)]},
        "o2": {"name": "Bowl2", "tracks": [track("t3", 30.0, 60.02)]},
    }
}


def question(time: str, **fields: Any) -> dict[str, Any]:
    return {
        "inputs": {"video 1": {"id": "P01"}},
        "question": f"Where was the object <BBOX 1.5 2 3 4> seen at <TIME {time} video 1> moved?",
        "choices": ["from a to b", "from b to c", "nowhere", "x", "y"],
        "correct_idx": 2,
    } | fields


def movements(folder: Path, videos: object = VIDEOS) -> pl.DataFrame:
    path = folder / "assoc_info.json"
    path.write_text(json.dumps(videos))
    return hdepic.load_movements(path)


def written(folder: Path, items: dict[str, Any]) -> Path:
    path = folder / "vqa.json"
    path.write_text(json.dumps(items))
    return path


def test_movements(tmp_path: Path) -> None:
    found = movements(tmp_path)
    assert found.schema == hdepic.MOVEMENTS
    assert found["track"].to_list() == ["t1", "t3", "t2"]
    assert found["base_name"].to_list() == ["bowl", "bowl", "bowl"]


def test_questions(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {
            "q_0": question("00:00:12.533"),
            "q_1": question("00:00:30.0"),
            "q_2": question("00:01:0.01"),
            "q_3": question("00:02:5.5"),
        },
    )
    first, one, several, nothing = questions = hdepic.load(path, movements(tmp_path))
    assert first.evidence == ((10.0, 12.5), (60.0, 70.0))
    assert (first.id, first.recording, first.answer, first.choices["C"]) == (
        "q_0",
        "P01",
        "C",
        "nowhere",
    )
    assert one.evidence == ((30.0, 60.02),)
    assert several.evidence == () and several.oddities == ("several objects move at its time",)
    assert nothing.evidence == () and nothing.oddities == ("no object moves at its time",)
    found = survey(questions, [q.evidence for q in questions])
    assert (found.questions, found.with_window, found.windows) == (4, 2, 3)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"correct_idx": 5}, "gold answer 5 is none of the 5 choices"),
        ({"choices": ["a"]}, "field 'choices'"),
        ({"inputs": {}}, "names no 'video 1'"),
        ({"inputs": {"video 1": {"id": "P09"}}}, "video P09 has no movements"),
        ({"question": "Where?"}, "the question names no <TIME"),
    ],
)
def test_bad_questions(tmp_path: Path, fields: dict[str, Any], says: str) -> None:
    path = written(tmp_path, {"q_0": question("00:00:12.5", **fields)})
    with pytest.raises(GebError, match=rf"vqa\.json question q_0: {says}"):
        hdepic.load(path, movements(tmp_path))


@pytest.mark.parametrize(
    ("thing", "says"),
    [
        ({"name": "bowl"}, "has no list 'tracks'"),
        ({"name": "", "tracks": []}, "field 'name' is missing"),
        ({"name": "bowl", "tracks": [{"track_id": "t", "time_segment": [1]}]}, "time_segment"),
        ({"name": "bowl", "tracks": [{"time_segment": [1, 2]}]}, "a track without an id"),
        ({"name": "bowl", "tracks": ["t"]}, "a track without an id"),
    ],
)
def test_bad_movements(tmp_path: Path, thing: dict[str, Any], says: str) -> None:
    with pytest.raises(GebError, match=rf"assoc_info\.json question P01 object o1: .*{says}"):
        movements(tmp_path, {"P01": {"o1": thing}})


def test_the_release() -> None:
    if "GEB_DATA" not in os.environ:
        pytest.skip("GEB_DATA is not set: HD-EPIC's annotations are not here")
    folder = Path(os.environ["GEB_DATA"]) / "hdepic"
    found = hdepic.load_movements(folder / "assoc_info.json")
    objects = found.group_by("video", "object").agg(pl.col("base_name").first())
    assert (found["video"].n_unique(), objects.height, found.height) == (156, 8382, 19812)
    assert objects.filter(pl.len().over("video", "base_name") > 1).height == 2354
    questions = hdepic.load(folder / "vqa_object_motion_object_movement_itinerary.json", found)
    counted = survey(questions, [q.evidence for q in questions])
    assert (counted.questions, counted.with_window) == (500, 449)
    assert sum(len(q.evidence) >= 2 for q in questions) == 225
