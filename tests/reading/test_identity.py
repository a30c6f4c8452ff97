"""Questions that identity decides: what a description points to, and what its biography tells."""

from __future__ import annotations

import pytest

from geb_assets.reading.answerer.embedded import EmbeddedAnswerer
from geb_assets.reading.asking import ask
from geb_assets.reading.controller.embedded import EmbeddedController
from geb_assets.reading.description import Description, compared, described
from geb_assets.reading.record import Record
from tests.reading.tiny import TinyMemory, episode, sighting

RED, BLUE, BIKE = (f"ego/e{number:06d}" for number in (1, 2, 3))
SAME = ("Yes, the same one", "No, a different one")
STUDIO = TinyMemory(
    [
        episode("DAY1 09:00:00", "I drink from the red cup. The blue cup stands beside it."),
        sighting("DAY1 09:00:02", 1, "The brown cup was on the left."),
        sighting("DAY1 09:00:04", 2, "The brown cup was on the right."),
        episode("DAY1 12:00:00", "The red cup stands in the garage."),
        # Its description quotes a line told of the other cup, a little later.
        sighting("DAY1 12:00:02", 1, "The cup was seen. I put a cup away in the cupboard."),
        episode("DAY1 12:00:40", "I put a cup away in the cupboard."),
        sighting("DAY1 12:00:45", 2, "The cup was seen. I put a cup away in the cupboard."),
        episode("DAY2 09:00:00", "I wash the blue cup in the kitchen."),
        sighting("DAY2 09:00:10", 2, "The brown cup was in the middle."),
        episode("DAY2 10:00:00", "The driver parks the motorbike in the garden."),
        sighting("DAY2 10:00:10", 3, "The driver parks the motorbike."),
        sighting("DAY2 11:00:00", 1, "The brown cup was seen small."),
        episode("DAY2 11:00:00", "The cat sleeps in the attic."),
    ],
    names={RED: "cup", BLUE: "cup", BIKE: "motorcycle"},
    apart={frozenset((RED, BLUE))},
    per_search=12,
)
PUT = "the cup that I put away in the cupboard"


def run(question: str, *choices: str, memory: TinyMemory = STUDIO) -> Record:
    return ask(
        memory, question, choices=choices, controller=EmbeddedController(),
        answerer=EmbeddedAnswerer(),
    )  # fmt: skip


def test_descriptions_are_read() -> None:
    read = Description.of("the red cup that I later drank from on day 2")
    assert (read.name, read.told, read.day) == (("red", "cup"), ("drink",), 2)
    assert Description.of("that I washed").called(read).name == ("cup",)
    assert described(f"When was {PUT} last seen?") == f"{PUT} last seen"
    assert described("Who drank tea?") is None
    left, right = compared("Is the cup that I drank from the same one that I washed?") or ("", "")
    assert (left, right) == ("Is the cup that I drank from", "that I washed?")
    assert compared("Is the red cup clean?") is None


def test_the_one_in_view_at_the_moment_is_meant_not_one_whose_text_quotes_it() -> None:
    record = run(f"Is the cup that I drank from on day 1 the same one {PUT[8:]}?", *SAME)
    assert (record.choice, set(record.supports)) == ("B", {RED, BLUE})
    record = run(f"Is {PUT} the same one that I washed on day 2?", *SAME)
    assert (record.choice, record.supports) == ("A", (BLUE,))
    assert "object#2" in record.why and "one biography" in record.why


def test_a_name_alone_and_a_moment() -> None:
    record = run("Is the red cup of day 1 the cup that I put away?", *SAME)
    assert (record.choice, set(record.supports)) == ("B", {RED, BLUE})


def test_what_a_biography_tells_elsewhere() -> None:
    record = run(f"Which colour has {PUT}?", "red", "green", "blue")
    assert (record.answer, record.decided, record.supports[0]) == ("blue", True, BLUE)
    assert "object#2" in record.why and "blue cup" in record.why


def test_first_and_last_times_come_from_all_known_sightings() -> None:
    record = run("When was the cup that I drank from on day 1 last seen?")
    assert record.answer.startswith("DAY2 11:00:10") and record.supports[0] == RED
    record = run(f"When was {PUT} first seen?")
    assert record.answer.startswith("DAY1 09:00:04")
    record = run("When did I last see the red cup?")
    assert record.answer.startswith("DAY2 11:00:10") and record.supports[0] == RED
    record = run("In which room was the cup that I drank from last seen?", "garage", "attic")
    assert (record.answer, record.supports[0]) == ("attic", RED)


def test_what_became_of_it() -> None:
    record = run(f"What happened on day 2 to {PUT}?")
    assert "I wash the blue cup" in record.answer and "red cup" not in record.answer
    assert record.supports[0] == BLUE


def test_a_thing_known_under_another_name() -> None:
    record = run("When was the motorbike that the driver parked first seen?")
    assert record.answer.startswith("DAY2 10:00:10") and record.supports[0] == BIKE
    assert run("How many motorbikes were there?", "1", "2").answer == "1"


@pytest.mark.parametrize(
    "question",
    [
        "Is the cup that I drank from the same one that I sold?",
        "Is the cup that fell the same one that broke?",
    ],
)
def test_a_moment_that_nothing_tells_decides_nothing(question: str) -> None:
    record = run(question)
    assert not record.decided and "does not decide" in record.answer


def test_two_in_view_that_nothing_tells_apart() -> None:
    memory = TinyMemory(
        [
            episode("DAY1 09:00:00", "I drink from a cup."),
            sighting("DAY1 09:00:02", 1, "A cup stands there."),
            sighting("DAY1 09:00:04", 2, "A cup stands there.", length=20),
            episode("DAY1 10:00:00", "I wash a cup."),
            sighting("DAY1 10:00:04", 2, "A cup stands there."),
        ],
        names={RED: "cup", BLUE: "cup"},
        per_search=9,
    )
    record = run("Is the cup that I drank from the same one that I washed?", memory=memory)
    assert not record.decided
    for choices in ((), ("green", "red")):
        record = run("Which colour has the cup that I drank from?", *choices, memory=memory)
        assert not record.decided and "single out" in record.why
