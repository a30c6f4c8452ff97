"""Evenly spaced members of a sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def spread(items: Sequence[T], most: int) -> list[T]:
    """At most ``most`` of them in their order, first and last among them; one is the first."""
    places = np.linspace(0, len(items) - 1, min(most, len(items))).round().astype(int)
    return [items[place] for place in places.tolist()]
