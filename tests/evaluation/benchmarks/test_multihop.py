"""MultiHop-EgoQA: the annotation file, replies in three sections, merged evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


REPLY = """### Answer:
You opened the tap twice.

### Evidence:
[[120, 135], [9, 15]]

### Rationale:
Water runs both times."""


def test_a_reply_in_three_sections() -> None:
    expected = multihop.Reply(
        "You opened the tap twice.", ((9, 15), (120, 135)), "Water runs both times."
    )
    assert multihop.parse_reply(REPLY) == expected
    assert multihop.parse_reply(REPLY.replace("### ", "")) == expected
    assert multihop.parse_reply(REPLY.replace("### ", "**").replace(":\n", ":**\n")) == expected
    one_line = "Answer: You opened the tap twice. ### Evidence: [9, 15] ### Rationale: Water."
    assert multihop.parse_reply(one_line) == multihop.Reply(
        "You opened the tap twice.", ((9, 15),), "Water."
    )


@pytest.mark.parametrize(
    "evidence",
    [
        "",
        "none",
        "[[9.5, 15]]",
        "[[15, 9]]",
        "[[1, 2, 3]]",
        "[[True, 2]]",
        "[1, 2, 3]",
        "9-15",
        "__import__('os').getpid()",
        "[" * 5000,
        "[[1, 2], 'x']",
        "{}",
    ],
)
def test_what_cannot_be_read_stays_empty(evidence: str) -> None:
    assert multihop.parse_evidence(evidence) == ()
    assert multihop.parse_reply(f"### Answer:\nTwice.\n### Evidence:\n{evidence}").evidence == ()


def test_no_random_interval_is_ever_put_in() -> None:
    assert {multihop.parse_reply("I do not know.") for _ in range(50)} == {
        multihop.Reply("", (), "")
    }


def plain_merge(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The released rule: in order of start, joined on overlap or a gap below 8 s."""
    merged: list[list[int]] = []
    for start, end in sorted(pairs, key=lambda pair: pair[0]):
        if merged and (start <= merged[-1][1] or start - merged[-1][1] < 8):
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return [(start, end) for start, end in merged]


@given(
    st.lists(
        st.tuples(st.integers(0, 150), st.integers(0, 30)).map(lambda p: (p[0], p[0] + p[1])),
        min_size=1,
        max_size=8,
    )
)
def test_evidence_is_merged_as_released(pairs: list[tuple[int, int]]) -> None:
    said = str([list(pair) for pair in pairs])
    assert list(multihop.parse_evidence(said)) == plain_merge(pairs)
