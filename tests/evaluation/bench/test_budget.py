from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evaluation.bench.budget import nearest


@given(
    steps=st.lists(st.floats(0, 50), min_size=1, max_size=64), target=st.floats(-10, 2000)
)  # fmt: skip
def test_the_nearest_amount_is_found_without_trying_all(steps: list[float], target: float) -> None:
    amounts = np.cumsum(steps)
    asked: set[int] = set()

    def amount(count: int) -> float:
        asked.add(count)
        return float(amounts[count - 1])

    found = nearest(amount, target, most=len(amounts))
    assert abs(amounts[found - 1] - target) == np.abs(amounts - target).min()
    assert len(asked) <= 9
