"""Questions of the demonstration, against a truth made straight from its story."""

from __future__ import annotations

import polars as pl
import pytest

from evaluation.demo.questions import DEEDS, SHOWN, DemoQuestion, questions, shown, sightings
from evaluation.demo.render import TRUTH_SCHEMA
from evaluation.demo.story import DAY_STARTS, VISITS
from geb_assets.clock import Clock

CLOCK = Clock.parse("egolife")


def told_truth() -> pl.DataFrame:
    """Each subject of each visit in view for 3 s, one after the other."""
    rows = []
    for place, visit in enumerate(VISITS):
        first = next(n for n, one in enumerate(VISITS) if one.day == visit.day)
        start = CLOCK.seconds(DAY_STARTS[visit.day]) + 30.0 * (place - first)
        for slot, identity in enumerate(visit.subjects):
            for frame in range(30):
                time = start + 4.0 * slot + frame / 10
                rows.append(("v", frame, time, identity, "x", False, 0.0, 0.0, 9.0, 9.0, 1.0))
    return pl.DataFrame(rows, schema=TRUTH_SCHEMA, orient="row")


TRUTH = told_truth()


def question(name: str, seed: int = 7) -> DemoQuestion:
    return next(one for one in questions(TRUTH, seed) if one.id == name)


def test_every_deed_is_one_line_of_the_story() -> None:
    said = [line for visit in VISITS for _, line in visit.lines]
    assert all(said.count(deed.line) == 1 for deed in DEEDS.values())
    assert all(deed.told.casefold() in deed.line.casefold() for deed in DEEDS.values())


def test_sightings_are_those_of_each_visit() -> None:
    seen = sightings(TRUTH)
    assert len(seen) == sum(len(visit.subjects) for visit in VISITS)
    start, end = seen[4, "blue cup"]
    assert CLOCK.show(start) == "DAY1 10:02:00" and end - start == pytest.approx(2.9)


def test_there_are_enough_of_both_kinds_and_half_need_identity() -> None:
    found = questions(TRUTH, 7)
    assert len({one.id for one in found}) == len(found) >= 60
    assert sum(one.kind == "choice" for one in found) >= 25
    assert sum(one.kind == "open" for one in found) >= 25
    assert sum(one.identity for one in found) / len(found) == pytest.approx(0.5, abs=0.05)
    asked = shown(TRUTH, 7)
    assert tuple(one.id for one in asked) == SHOWN and len(asked) == 5
    assert {one.kind for one in asked} == {"choice", "open"} and all(q.identity for q in asked)


def test_the_order_of_the_truths_rows_changes_no_question() -> None:
    found = questions(TRUTH, 7)
    for seed in range(5):
        assert questions(TRUTH.sample(fraction=1.0, shuffle=True, seed=seed), 7) == found


def test_gold_answers() -> None:
    assert question("same/drank-put").gold == "No, a different one"
    assert question("same/driver-back").gold == "Yes, the same one"
    assert question("colour/put").gold == "blue" and question("colour/put").identity
    assert not question("colour/tea").identity
    assert question("last-room/drank").gold == "garage"
    early = question("last-room/drank/day1")
    assert early.gold == "living room" and early.at is not None
    assert all(end <= early.at for _, end in early.evidence)
    assert question("how-many/cup").gold == "2" and question("how-many/cat").gold == "1"


def test_what_needs_no_identity_is_told_by_the_lines() -> None:
    said = {line: visit for visit in VISITS for _, line in visit.lines}
    start = {line: span[0] for (place, identity), span in sightings(TRUTH).items()
             for who, line in VISITS[place].lines if who == identity}  # fmt: skip
    plain = [one for one in questions(TRUTH, 7) if not one.identity]
    assert {one.type for one in plain} == {"colour", "told time", "told room", "moment", "order"}
    for one in plain:
        deed = DEEDS[one.id.split("/")[1].split("-")[0]]
        if one.type == "told time":
            assert one.answer == CLOCK.show(start[deed.line])
        elif one.type == "told room":
            visit = said[deed.line]
            assert one.gold == visit.room and one.gold not in one.question
            assert any(one.gold in line for _, line in visit.lines)
        elif one.type == "moment":
            assert one.gold == deed.line
            away = [abs(start[line] - start[deed.line]) for line in one.choices.values()]
            assert sorted(away)[1] > 30.0 and sorted(away)[0] == 0.0
        elif one.type == "order":
            assert len(one.choices) == 2 and one.gold == min(one.choices.values(), key=start.get)
    early = [one for one in plain if one.at is not None]
    assert early and all(end <= one.at for one in early for _, end in one.evidence)


def test_the_seed_orders_the_choices_alone() -> None:
    orders = {tuple(question("colour/put", seed).choices.values()) for seed in range(8)}
    assert len(orders) > 1
    assert {question("colour/put", seed).gold for seed in range(8)} == {"blue"}


@pytest.mark.parametrize(
    ("name", "text", "right"),
    [
        ("last-time/drank", "DAY2 09:00:50 - DAY2 09:00:53: the cup", True),
        ("last-time/drank", "it stood there at DAY1 10:00:00, then DAY2 09:00:50", False),
        ("last-time/drank", "in the morning", False),
        ("later/put", "I take a cup out of the cupboard (DAY2 09:01:00)", True),
        ("later/put", "I find the red cup where I left it", False),
    ],
)
def test_open_answers(name: str, text: str, right: bool) -> None:
    assert question(name).is_right(text, None) is right


def test_a_choice_is_right_by_its_letter() -> None:
    one = question("same/drank-put")
    assert one.is_right("", one.answer) and not one.is_right(one.gold, None)
