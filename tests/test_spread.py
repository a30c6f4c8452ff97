"""Evenly spaced members."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from geb_assets.spread import spread


@given(st.integers(0, 200), st.integers(1, 30))
def test_it_keeps_the_ends_the_order_and_the_distance(count: int, most: int) -> None:
    found = spread(range(count), most)
    assert len(found) == len(set(found)) == min(most, count)
    assert found == sorted(found)
    if len(found) > 1:
        assert (found[0], found[-1]) == (0, count - 1)
        gaps = [b - a for a, b in pairwise(found)]
        assert max(gaps) - min(gaps) <= 1
    elif found:
        assert found == [0]
