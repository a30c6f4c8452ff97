from __future__ import annotations

import json
from pathlib import Path

import pytest

from geb_assets.clock import Clock
from geb_assets.errors import GebError
from geb_assets.writing.chains.released import read_chains
from geb_assets.writing.chains.topics import Caption, chunks, topics

DAY_S = 86_400.0


def captions() -> list[Caption]:
    texts = [
        (100.0, "I bake a cake with Tasha."),
        (200.0, "The cake is in the oven and I look at the coffee machine."),
        (DAY_S + 50.0, "We eat the cake. The coffee machine is broken."),
        (DAY_S + 90.0, "I take the umbrella."),
    ]
    return [Caption(at, at + 30, at + 31, text) for at, text in texts]


def test_topics_come_back_are_no_people_and_nothing_said_of_everything() -> None:
    found = topics(captions(), ["Coffee  machine", "man"], 10)
    assert [one.label for one in found] == ["cake", "coffee", "coffee machine", "machine"]
    assert [one.start_s for one in found[0].captions] == [100.0, 200.0, DAY_S + 50.0]
    assert found[0].known_from == 231.0
    assert [one.label for one in topics(captions(), [], 1)] == ["cake"]


def test_no_call_reads_two_days_or_too_many_captions() -> None:
    cake = topics(captions(), [], 1)[0]
    assert [len(own) for own in chunks(cake, 50)] == [2, 1]
    assert [len(own) for own in chunks(cake, 1)] == [1, 1, 1]


def test_released_chains_are_read(tmp_path: Path) -> None:
    clock = Clock.parse("egolife")
    path = tmp_path / "topics.json"
    fact = {"time": "DAY2 10:05", "fact": "I bake  it."}
    path.write_text(json.dumps({"cake": {"entity": "cake", "facts": [fact]}}))
    at = DAY_S + 10 * 3600 + 300
    assert read_chains(path, clock) == [
        {"kind": "topic", "label": "cake", "text": "I bake it.", "start_s": at,
         "end_s": at + 60.0, "visible_from": at + 60.0}
    ]  # fmt: skip
    step = {"day": "DAY1", "start_time": "11:00", "end_time": "11:20:30", "description": "Mix."}
    path.write_text(json.dumps([{"name": "Baking", "steps": [step]}]))
    [row] = read_chains(path, clock)
    assert (row["kind"], row["start_s"], row["visible_from"]) == ("event", 39600.0, 40830.0)


def test_a_step_over_midnight_ends_on_the_next_day(tmp_path: Path) -> None:
    path = tmp_path / "events.json"
    step = {"day": "DAY1", "start_time": "23:50", "end_time": "00:10", "description": "Mix."}
    odd = {"day": "DAY1", "start_time": "11:20", "end_time": "11:19", "description": "Mix."}
    path.write_text(json.dumps([{"name": "Baking", "steps": [step, odd]}]))
    late, short = read_chains(path, Clock.parse("egolife"))
    assert (late["start_s"], late["end_s"]) == (DAY_S - 600, DAY_S + 600)
    assert short["end_s"] == short["visible_from"] == short["start_s"]


@pytest.mark.parametrize("content", ["{", "[1]", '{"a": {"facts": [{"when": 1}]}}', '{"a": 1}'])
def test_what_is_no_file_of_chains(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(GebError, match="no file of topic or event chains"):
        read_chains(path, Clock.parse("egolife"))
