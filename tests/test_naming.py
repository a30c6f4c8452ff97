"""Who carries which cast name: conflicts, consolidation, and the separation veto (spec 9.19)."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from geb_assets.naming import Naming, carried, cast_names, consolidated

ENTITIES = [f"e{n}" for n in range(6)]
NAMINGS = st.lists(
    st.builds(
        Naming, st.sampled_from(ENTITIES), st.integers(1, 3), st.sampled_from(["Ada", "Bo"]),
        st.floats(0, 10),
    ),
    max_size=12,
)  # fmt: skip
PAIRS = st.sets(st.sampled_from([frozenset(p) for p in combinations(ENTITIES, 2)]))
SIZES = st.fixed_dictionaries({entity: st.integers(1, 4) for entity in ENTITIES})


@settings(deadline=None)
@given(NAMINGS)
def test_a_name_carries_across_days_unless_two_days_differ(namings: list[Naming]) -> None:
    names = carried(namings)
    for entity in ENTITIES:
        said = {one.cast_name for one in namings if one.entity == entity}
        assert names.get(entity) == (said.pop() if len(said) == 1 else None)


@settings(deadline=None)
@given(NAMINGS, PAIRS, SIZES)
def test_one_person_is_never_two_proven_different(
    namings: list[Naming], separated: set[frozenset[str]], sizes: dict[str, int]
) -> None:
    names = carried(namings)
    people = consolidated(names, separated, sizes)
    for name, own in people.items():
        assert not any(frozenset(pair) in separated for pair in combinations(own, 2))
        for entity in names.keys() - set(own):
            if names[entity] == name:  # it lost its name to one that keeps it and is no smaller
                rivals = [one for one in own if frozenset((one, entity)) in separated]
                assert any((-sizes[one], one) < (-sizes[entity], entity) for one in rivals)
    assert cast_names(namings, separated, sizes) == {
        entity: name for name, own in people.items() for entity in own
    }
