"""Identity notes, the paper's two printed samples among them (spec 9.39)."""

from __future__ import annotations

import re
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from geb_assets.reading.notes import handle, identity_notes


def pairs(*given: tuple[str, str]) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in given}


def test_two_caps_seen_together() -> None:
    """Appendix E, the hat question."""
    names = {"object#28648": "blue cap", "object#28919": "blue cap"}
    assert identity_notes(names, pairs(("object#28648", "object#28919"))) == [
        "blue cap — these are DIFFERENT objects: object#28648, object#28919 "
        "(none of them may be the same)."
    ]


def test_a_screwdriver_that_may_be_either_of_two() -> None:
    """Appendix F, example 8."""
    names = {f"ego/e{number:06d}": "screwdriver" for number in (1232, 1242, 1300)}
    assert identity_notes(names, pairs(("ego/e001300", "ego/e001232"))) == [
        "screwdriver — these may be THE SAME object: object#1232, object#1242.",
        "screwdriver — these may be THE SAME object: object#1242, object#1300.",
        "screwdriver — these are DIFFERENT objects: object#1232, object#1300.",
    ]


def test_nothing_to_say_of_a_name_that_one_id_bears() -> None:
    assert identity_notes({1: "cup", 2: "pan"}, {frozenset((1, 2))}) == []
    assert identity_notes({}, set()) == []


def test_names_are_shared_whatever_their_case_and_spaces() -> None:
    assert identity_notes({1: "Blue  cap", 2: "blue cap"}, set()) == [
        "Blue cap — these may be THE SAME object: object#1, object#2."
    ]


def test_names_and_ids_stay_in_the_order_shown() -> None:
    names = {5: "pan", 9: "cup", 3: "pan", 1: "cup"}
    assert identity_notes(names, set()) == [
        "pan — these may be THE SAME object: object#5, object#3.",
        "cup — these may be THE SAME object: object#9, object#1.",
    ]


def test_at_most_twelve_ids_of_a_name() -> None:
    [same] = identity_notes({number: "cup" for number in range(40)}, set())
    assert same.count("object#") == 12
    every = {frozenset(pair) for pair in combinations(range(40), 2)}
    [different] = identity_notes({number: "cup" for number in range(40)}, every)
    assert different.count("object#") == 12
    assert "none of them" not in different


def test_handles() -> None:
    assert handle("ego/e000042") == "object#42"
    assert handle(7) == "object#7"
    assert handle("object#9") == "object#9"


@given(st.integers(1, 7), st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6))))
def test_lines_are_the_maximal_cliques(count: int, drawn: set[tuple[int, int]]) -> None:
    apart = {frozenset(p) for p in drawn if p[0] != p[1] and max(p) < count}
    lines = identity_notes({number: "cup" for number in range(count)}, apart)
    found = {"SAME": set(), "DIFFERENT": set()}  # type: dict[str, set[frozenset[int]]]
    for line in lines:
        kind = "SAME" if "SAME" in line else "DIFFERENT"
        ids = frozenset(int(number) for number in re.findall(r"#(\d+)", line))
        found[kind].add(ids)
        assert ("none of them" in line) == (kind == "DIFFERENT" and len(ids) == count)
    for kind, wanted in (("SAME", False), ("DIFFERENT", True)):
        cliques = [
            frozenset(group)
            for size in range(2, count + 1)
            for group in combinations(range(count), size)
            if all((frozenset(p) in apart) == wanted for p in combinations(group, 2))
        ]
        maximal = {one for one in cliques if not any(one < other for other in cliques)}
        assert found[kind] == maximal
