"""A cast of four over two days: shared clothing, a conflict, two look-alikes seen together."""

from __future__ import annotations

import polars as pl
import pytest

from geb_assets.naming import cast_names
from geb_assets.writing.names.asset import _told_by
from geb_assets.writing.names.assignment import joint
from geb_assets.writing.names.day import Clothing, Look, looks_by_person, named, named_on
from geb_assets.writing.names.wardrobe import feature, match, telling

CAST = ("Ada", "Bo", "Cy", "Dee")
DAY_S = 86_400.0
NIGHT = [20 * 3600.0, DAY_S + 20 * 3600.0]
"""When the clothing of day 1 and of day 2 can be known."""

WARDROBE = [
    # Ada and Bo share the green apron of the kitchen; Cy's jacket and Dee's hat are their own.
    Clothing("Ada", 1, ("green apron", "pink hair"), NIGHT[0]),
    Clothing("Bo", 1, ("green aprons", "black glasses"), NIGHT[0]),
    Clothing("Cy", 1, ("red leather jacket",), NIGHT[0]),
    Clothing("Dee", 1, ("straw hat",), NIGHT[0]),
    # On day 2 Dee borrows the jacket: by its clothing Cy's entity is taken for Dee.
    Clothing("Ada", 2, ("blue dress",), NIGHT[1]),
    Clothing("Dee", 2, ("red leather jacket", "straw hat"), NIGHT[1]),
]


def look(entity: str, day: int, text: str, number: int = 0) -> Look:
    at = (day - 1) * DAY_S + 3600.0 * (9 + number)
    return Look(f"{entity}/{day}/{number}", entity, day, text, at)


LOOKS = [
    look("pink", 1, "A woman with pink hair in a green apron."),
    look("pink", 2, "A woman in grey seen from behind."),
    look("apron", 1, "A person in a green apron seen from behind."),
    look("jacket", 1, "A man in a red leather jacket."),
    look("jacket", 2, "Somebody in a red leather jacket."),
    # Two in straw hats, seen together: both look like Dee.
    *(look("hat", 1, "A woman with a straw hat.", n) for n in range(3)),
    look("twin", 1, "A woman with a straw hat and a bag."),
    # Dee again after a long gap, never seen beside the first.
    look("later", 1, "The woman in the straw hat."),
]
SEPARATED = {frozenset(("hat", "twin"))}
SIZES = {"pink": 2, "apron": 1, "jacket": 2, "hat": 3, "twin": 1, "later": 1}


def namings(at: float) -> list:
    found = [one for one, _ in named(LOOKS, WARDROBE, [], 0.5)]
    return [one for one in found if one.named_at <= at]


def test_it_abstains_propagates_refuses_and_consolidates() -> None:
    assert namings(NIGHT[0] - 1) == []
    first = cast_names(namings(NIGHT[0]), SEPARATED, SIZES)
    # Abstains on the shared apron; the twin lost to the look-alike that was seen more often.
    assert first == {"pink": "Ada", "jacket": "Cy", "hat": "Dee", "later": "Dee"}
    # Day 2 calls the jacket Dee: no name across days. Ada keeps hers, though day 2 shows nothing.
    second = cast_names(namings(NIGHT[1]), SEPARATED, SIZES)
    assert second == {"pink": "Ada", "hat": "Dee", "later": "Dee"}
    days = {(one.entity, one.day): one.cast_name for one in namings(NIGHT[1])}
    assert days["jacket", 1] == "Cy" and days["jacket", 2] == "Dee"


def test_nobody_is_named_on_a_day_on_which_somebodys_clothing_failed() -> None:
    # Without Bo's profile the shared apron would be Ada's alone.
    without = [one for one in WARDROBE if (one.cast_name, one.day) != ("Bo", 1)]
    apron = {one.entity: one.cast_name for one, _ in named(LOOKS, without, [], 0.5)}
    assert apron["apron"] == "Ada"
    found = named(LOOKS, without, [1], 0.5)
    assert found and {one.day for one, _ in found} == {2}


def test_a_naming_is_known_once_all_it_rests_on_is() -> None:
    late = [Look("x", "hat", 1, "A straw hat.", NIGHT[0] + 50.0)]
    [(naming, features)] = named_on(1, late, WARDROBE, 0.5)
    assert naming.named_at == NIGHT[0] + 50.0 and features == ("hat straw",)


def test_what_a_model_assigned_is_joint_and_of_the_cast() -> None:
    frames = {"a": [1, 2], "b": [2, 3], "c": [5], "d": [9]}
    assert joint({"a": "Ada", "b": "Bo", "c": "Ada"}, frames, CAST) == {
        "a": "Ada", "b": "Bo", "c": "Ada",
    }  # fmt: skip
    assert joint({"a": "Ada", "b": "Ada", "c": "Ada"}, frames, CAST) == {"c": "Ada"}
    assert joint({"a": "Zoe", "d": "unknown"}, frames, CAST) == {}


def test_looks_by_person_and_day() -> None:
    assigned = {"pink/1/0": "Ada", "pink/2/0": "Ada", "hat/1/1": "Dee"}
    found = looks_by_person(LOOKS, assigned)
    assert {key: len(own) for key, own in found.items()} == {
        ("Ada", 1): 1, ("Ada", 2): 1, ("Dee", 1): 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("features", "others", "tells"),
    [
        (["green apron"], ["green aprons"], False),
        (["apron"], ["green apron"], False),
        (["green apron"], ["apron"], False),
        (["green apron"], ["red apron"], True),
        (["the"], ["hat"], False),
    ],
)
def test_a_feature_tells_where_nobody_else_has_it(
    features: list[str], others: list[str], tells: bool
) -> None:
    assert bool(telling({"Ada": features, "Bo": others})["Ada"]) is tells


def test_features_of_two_people_name_nobody() -> None:
    profiles = {"Ada": ["straw hat"], "Bo": ["red jacket"]}
    assert match(["A straw hat and a red jacket."], profiles, 0.5) is None
    assert match(["A straw hat."], profiles, 0.5) == ("Ada", ("hat straw",))
    assert match(["A straw hat.", "Bare-headed.", "In the rain."], profiles, 0.5) is None
    assert match([], profiles, 0.5) is None
    assert feature("wearing a Red Jackets") == {"red", "jacket"}


def test_an_assignment_is_known_once_the_lines_it_was_made_from_are_over() -> None:
    lines = pl.DataFrame(
        {"start_s": [8.0, 40.0], "end_s": [15.0, 50.0], "visible_from": [15.0, 50.0]}
    )
    assert _told_by(lines, {"start_s": 0.0, "end_s": 10.0}) == 15.0
    assert _told_by(lines, {"start_s": 20.0, "end_s": 30.0}) == 30.0
