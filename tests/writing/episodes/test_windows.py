"""Coarse windows against the rule of spec 2.3 written out."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geb_assets.writing.episodes.windows import windows

Scale = Literal["3min", "10min", "1h"]
Span = tuple[float, float]
DAY = 86_400


def reference(spans: list[Span], scale: Scale) -> list[tuple[float, float, list[Span]]]:
    made: list[tuple[float, float, list[Span]]] = []
    for day in sorted({int(start // DAY) for start, _ in spans}):
        of_day = [span for span in spans if start_day(span) == day]
        members: list[Span] = []
        groups: list[list[Span]] = []
        for span in of_day:
            if members and same_window(members[0][0], span[0], scale):
                members.append(span)
            else:
                members = [span]
                groups.append(members)
        for place, group in enumerate(groups):
            if scale == "3min":
                edge = group[0][0] // 180 * 180
                made.append((group[0][0] if place == 0 else edge, edge + 180, group))
            else:
                made.append((group[0][0], max(end for _, end in group), group))
    return made


def same_window(first: float, start: float, scale: Scale) -> bool:
    if scale == "3min":
        return start // 180 == first // 180
    return start < first + (600 if scale == "10min" else 3600)


def start_day(span: Span) -> int:
    return int(span[0] // DAY)


@settings(deadline=None)
@given(
    starts=st.lists(
        st.builds(
            lambda day, second: day * DAY + second,
            st.integers(0, 3),
            st.integers(0, 9_000) | st.integers(DAY - 4_000, DAY - 1),
        ),
        max_size=60,
    ),
    length=st.integers(0, 200),
    scale=st.sampled_from(["3min", "10min", "1h"]),
)
def test_windows_follow_the_rule(starts: list[int], length: int, scale: Scale) -> None:
    spans = [(float(start), float(start + length)) for start in sorted(starts)]
    table = np.array(spans, dtype=np.float64).reshape(-1, 2)
    cut = windows(table[:, 0], table[:, 1], scale)
    expected = reference(spans, scale)
    assert list(zip(cut.start_s, cut.end_s, strict=True)) == [(a, b) for a, b, _ in expected]
    assert cut.of.tolist() == [place for place, (_, _, group) in enumerate(expected) for _ in group]


@pytest.mark.parametrize("scale", ["3min", "10min", "1h"])
def test_the_same_hour_of_several_days_never_shares_a_window(scale: Scale) -> None:
    """Regression: 36 captions over 3 days are 12 windows of 3 min, not 4 (spec 2.3, 12.10)."""
    start = np.concatenate([day * DAY + 75_600 + 60.0 * np.arange(12) for day in range(3)])
    cut = windows(start, start + 30, scale)
    days = [set((start[cut.of == window] // DAY).tolist()) for window in range(len(cut.start_s))]
    assert all(len(held) == 1 for held in days)
    assert len(cut.start_s) == {"3min": 12, "10min": 6, "1h": 3}[scale]
