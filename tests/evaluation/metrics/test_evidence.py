"""Evidence access against plain loops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.metrics.evidence import (
    after_each_round,
    clip_fraction,
    complete_coverage,
    evidence_hit,
    received_spans,
    union_seconds,
)
from geb_assets.errors import GebError

Span = tuple[int, int]
spans = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 12)).map(lambda p: (p[0], p[0] + p[1])), max_size=5
)


def touched(window: Span, received: list[Span]) -> bool:
    return any(min(window[1], r[1]) - max(window[0], r[0]) > 0 for r in received)


@settings(max_examples=150, deadline=None)
@given(spans, spans)
def test_hit_and_coverage(windows: list[Span], received: list[Span]) -> None:
    assert evidence_hit(windows, received) == any(touched(w, received) for w in windows)
    if windows:
        assert complete_coverage(windows, received) == all(touched(w, received) for w in windows)
    else:
        with pytest.raises(GebError, match="without evidence windows"):
            complete_coverage(windows, received)


@settings(max_examples=150, deadline=None)
@given(spans)
def test_union_counts_every_second_once(received: list[Span]) -> None:
    covered = {second for start, end in received for second in range(start, end)}
    assert union_seconds(received) == len(covered)
    assert clip_fraction(received, 20.0) == len({s for s in covered if s < 20}) / 20


@settings(max_examples=100, deadline=None)
@given(spans.filter(bool), st.lists(spans, max_size=4), st.integers(1, 5), st.booleans())
def test_rounds_accumulate_and_keep_the_final_value(
    windows: list[Span], rounds: list[list[Span]], count: int, complete: bool
) -> None:
    found = after_each_round(windows, rounds, count, complete=complete)
    reach = all if complete else any
    for number in range(count):
        so_far = [span for received in rounds[: number + 1] for span in received]
        assert found[number] == reach(touched(w, so_far) for w in windows)


def test_units_that_only_touch_do_not_hit() -> None:
    assert not evidence_hit([(30, 60)], [(0, 30), (60, 90)])
    assert evidence_hit([(30, 60)], [(59.9, 90)])
    assert not evidence_hit([(30, 60)], [])


@dataclass(frozen=True)
class Got:
    """A received unit."""

    kind: str
    id: str
    start_s: float
    end_s: float
    scale: str | None = None


def test_what_counts_as_received() -> None:
    units = [
        Got("episode", "a", 0, 30, "30sec"),
        Got("episode", "b", 0, 600, "10min"),
        Got("clip", "c", 30, 60),
        Got("observation", "seen", 90, 93),
        Got("observation", "undescribed", 200, 203),
    ]
    found = received_spans(units, {"seen": (50.0, 133.0)})
    assert found.tolist() == [[0, 30], [50, 133]]
    assert received_spans([], {}).shape == (0, 2)


def test_unknown_times_are_refused() -> None:
    with pytest.raises(GebError, match="no pairs of start and end"):
        evidence_hit([(0, 1)], np.array([[np.nan, 3.0]]))
    with pytest.raises(GebError, match="no pairs of start and end"):
        evidence_hit([0, 1], [[0, 1]])
