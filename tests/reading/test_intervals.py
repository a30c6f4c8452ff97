"""The times that an answer rests on: read strictly, never made up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geb_assets.clock import Clock
from geb_assets.reading.answerer.chat import NO_EVIDENCE, ChatAnswerer, page
from geb_assets.reading.answerer.embedded import EmbeddedAnswerer
from geb_assets.reading.answerer.intervals import (
    Sections,
    read_intervals,
    read_literal,
    read_sections,
    rested_on,
)
from geb_assets.reading.asking import ask, replay
from geb_assets.reading.biography import Block, Excerpt
from geb_assets.reading.controller.embedded import EmbeddedController
from geb_assets.reading.evidence import Evidence
from geb_assets.reading.memory import Memory
from geb_assets.reading.question import Question
from geb_assets.reading.record import Record
from geb_assets.reading.units import Unit
from resources.chat import Message, Reply
from resources.identity import ModelIdentity
from tests.reading.synthetic import WordVectors, random_tables

CLIP = (0.0, 180.0)
REPLY = """### Answer:
You opened the tap twice.

### Evidence:
[[120, 135], [9, 15]]

### Rationale:
Water runs both times."""


class Says:
    """A chat that says one thing, and keeps what it was asked."""

    identity = ModelIdentity("m", "", "")

    def __init__(self, text: str) -> None:
        self.text = text
        self.asked: list[tuple[Sequence[Message], dict[str, Any]]] = []

    def reply(self, messages: Sequence[Message], **options: Any) -> Reply:
        self.asked.append((messages, options))
        return Reply(self.text, 100, 10)


def question(choices: tuple[str, ...] = (), within: tuple[float, float] | None = CLIP) -> Question:
    return Question.of("How often?", clock=Clock.parse("seconds"), choices=choices,
                       evidence_in=within)  # fmt: skip


def test_a_reply_in_three_sections() -> None:
    expected = Sections(
        "You opened the tap twice.", "[[120, 135], [9, 15]]", "Water runs both times."
    )
    assert read_sections(REPLY) == expected
    assert read_sections(REPLY.replace("### ", "")) == expected
    assert read_sections(REPLY.replace("### ", "**").replace(":\n", ":**\n")) == expected
    one_line = "Answer: You opened the tap twice. ### Evidence: [9, 15] ### Rationale: Water."
    assert read_sections(one_line) == Sections("You opened the tap twice.", "[9, 15]", "Water.")
    assert read_sections("I do not know.") == Sections("", "", "")


@pytest.mark.parametrize(
    "evidence",
    [
        "",
        "none",
        "[[9.5, 15]]",
        "[[15, 9]]",
        "[[1, 2, 3]]",
        "[[True, 2]]",
        "[True, False]",
        "[['nine', 'fifteen']]",
        "[1, 2, 3]",
        "9-15",
        "__import__('os').getpid()",
        "[" * 5000,
        "[[1, 2], 'x']",
        "{}",
        "[[170, 181]]",
        "[[-1, 4]]",
    ],
)
def test_what_cannot_be_read_is_no_interval(evidence: str) -> None:
    assert read_intervals(read_literal(evidence), CLIP) is None
    for reply in (
        f"### Answer:\nTwice.\n### Evidence:\n{evidence}\n### Rationale:\nSeen.",
        json.dumps({"answer": "Twice.", "evidence": evidence, "rationale": "Seen."}),
    ):
        answer = ChatAnswerer(Says(reply)).answer(question(), Evidence())
        assert (answer.text, answer.intervals) == ("Twice.", ())
        assert (answer.error, answer.failed) == (NO_EVIDENCE, False)


seconds = st.one_of(
    st.integers(-3, 200), st.floats(0, 180), st.booleans(), st.none(), st.just("nine")
)


@given(
    st.lists(st.one_of(seconds, st.lists(seconds, max_size=3)), max_size=4),
    st.sampled_from([CLIP, (10.0, 70.0)]),
)
def test_intervals_equal_a_plain_reading(value: list[Any], within: tuple[float, float]) -> None:
    """Whole, ordered, inside: all pairs are, or none is taken."""

    def whole(pair: Any) -> bool:
        return (
            isinstance(pair, list)
            and len(pair) == 2
            and all(isinstance(one, int) and one is not True and one is not False for one in pair)
            and 0 <= pair[0] <= pair[1] <= within[1] - within[0]
        )

    bare = [value] if whole(value) else value
    expected = (
        tuple(sorted((within[0] + pair[0], within[0] + pair[1]) for pair in bare))
        if all(whole(pair) for pair in bare)
        else None
    )
    assert read_intervals(value, within) == expected


def test_json_and_sections_say_the_same_and_nothing_is_asked_twice() -> None:
    said = json.dumps(
        {"answer": "You opened the tap twice.", "evidence": [[120, 135], [9, 15]],
         "rationale": "Water runs both times."}
    )  # fmt: skip
    for reply in (REPLY, said, f"```json\n{said}\n```"):
        chat = Says(reply)
        answer = ChatAnswerer(chat).answer(question(), Evidence())
        assert answer.text == "You opened the tap twice."
        assert answer.intervals == ((9.0, 15.0), (120.0, 135.0))
        assert (answer.why, answer.error) == ("Water runs both times.", "")
        assert len(chat.asked) == 1
    none = ChatAnswerer(Says('{"answer": "No.", "evidence": [], "rationale": "Not shown."}'))
    assert none.answer(question(), Evidence()).intervals == ()
    assert none.answer(question(), Evidence()).error == ""


def test_evidence_is_asked_for_where_the_question_wants_it_and_only_there() -> None:
    chat = Says('{"answer": "A", "evidence": [3, 4], "rationale": ""}')
    for within in (CLIP, None):
        for choices in ((), ("once", "twice")):
            asked = question(choices, within)
            answer = ChatAnswerer(chat).answer(asked, Evidence())
            messages, options = chat.asked[-1]
            wanted = within is not None
            assert ("rationale" in options["schema"]["properties"]) == wanted
            assert ("counted from 00:00:00" in str(messages[0].parts[0])) == wanted
            assert answer.intervals == (((3.0, 4.0),) if wanted else ())
            assert answer.choice == ("A" if choices else None)
    later = page(question(within=(60.0, 240.0)), Evidence(), frames=False)
    assert "counted from 00:01:00, which is 0, up to 180" in str(later[0].parts[0])


def unit(name: str, start_s: float, end_s: float) -> Unit:
    return Unit("episode", name, start_s, end_s, 1.0, "I open the tap.", scale="30sec")


def test_what_an_answer_rests_on_is_where_its_units_lie() -> None:
    blocks = (Block("o", 61.2, 64.5, "a tap"), Block("p", 90.0, 90.0, ""))
    excerpt = Excerpt("e", "tap", 61.2, 90.0, blocks, None)
    evidence = Evidence(
        (unit("a", 10.0, 20.0), unit("b", 170.0, 200.0), unit("c", 180.0, 190.0)), (excerpt,)
    )
    assert rested_on(("a",), evidence, CLIP) == ((10.0, 19.0),)
    assert rested_on(("e", "b"), evidence, CLIP) == ((170.0, 179.0),)
    assert rested_on(("e",), evidence, CLIP) == ((61.0, 64.0), (90.0, 90.0))
    assert rested_on(("c",), evidence, CLIP) == rested_on(("x",), evidence, CLIP) == ()
    assert rested_on((), evidence, CLIP) == ()


def test_a_record_keeps_the_intervals_and_replays_them() -> None:
    memory = Memory.from_tables(random_tables(np.random.default_rng(1)), WordVectors())
    within = (memory.span[0] // 1, memory.span[1] // 1 + 1)
    record = ask(memory, "Where is the cup?", controller=EmbeddedController(),
                 answerer=EmbeddedAnswerer(), evidence_in=within)  # fmt: skip
    spans = {(one.start_s, one.end_s) for one in record.units if one.id in record.supports}
    assert record.intervals and len(record.intervals) <= len(spans)
    for first, last in record.intervals:
        assert any(start - 1 < first and last < end for start, end in spans)
    again = Record.model_validate_json(record.model_dump_json())
    assert again == record
    chat = ChatAnswerer(Says('{"answer": "On the table.", "evidence": [[0, 2]], "rationale": ""}'))
    other = replay(memory, record, answerer=chat)
    assert other.intervals == ((within[0], within[0] + 2),)
    assert other.answer_tokens == (100, 10)
    plain = ask(memory, "Where is the cup?", controller=EmbeddedController(),
                answerer=EmbeddedAnswerer())  # fmt: skip
    assert (plain.answer, plain.intervals, plain.evidence_in) == (record.answer, (), None)
