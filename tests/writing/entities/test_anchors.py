"""Boundary anchors against a greedy loop over the best remaining pair."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geb_assets.writing.entities.anchors import boundary_anchors, consecutive_clips, edge_boxes

Box = tuple[int, int, int, int]


def plain_iou(a: Box, b: Box) -> Fraction:
    overlap = max(min(a[2], b[2]) - max(a[0], b[0]), 0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0)
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - overlap
    return Fraction(overlap, union) if union else Fraction(0)


def plain_anchors(before: list[Box], after: list[Box], iou: Fraction) -> list[tuple[int, int]]:
    left, right = set(range(len(before))), set(range(len(after)))
    found = []
    while True:
        best = None
        for i in sorted(left):
            for j in sorted(right):
                s = plain_iou(before[i], after[j])
                if s >= iou and (best is None or s > best[0]):
                    best = (s, i, j)
        if best is None:
            return sorted(found)
        found.append(best[1:])
        left.remove(best[1])
        right.remove(best[2])


box = st.builds(
    lambda x, y, w, h: (x, y, x + w, y + h),
    st.integers(0, 2),
    st.integers(0, 2),
    st.integers(0, 6),
    st.integers(0, 6),
)


@given(st.lists(box, max_size=6), st.lists(box, max_size=6))
@settings(max_examples=300, deadline=None)
def test_equals_the_greedy_loop(before: list[Box], after: list[Box]) -> None:
    found = boundary_anchors(before, after)
    assert found.dtype == np.int64
    assert found.shape[1] == 2
    assert [tuple(p) for p in found.tolist()] == plain_anchors(before, after, Fraction(3, 5))


def test_equals_the_greedy_loop_on_many_seeded_cases() -> None:
    pairs = 0
    for seed in range(1500):
        rng = np.random.default_rng(seed)
        sides: list[list[Box]] = []
        for _ in range(2):
            at = rng.integers(0, 2, (int(rng.integers(0, 6)), 2))
            size = rng.integers(rng.integers(0, 7), 8, at.shape)
            sides.append(
                [
                    (int(x), int(y), int(x + w), int(y + h))
                    for (x, y), (w, h) in zip(at, size, strict=True)
                ]
            )
        expected = plain_anchors(*sides, Fraction(3, 5))
        assert [tuple(p) for p in boundary_anchors(*sides).tolist()] == expected, seed
        pairs += len(expected)
    assert pairs > 500


def test_an_overlap_of_exactly_the_limit_anchors() -> None:
    assert boundary_anchors([(0, 0, 5, 1)], [(0, 0, 3, 1)]).tolist() == [[0, 0]]
    assert boundary_anchors([(0, 0, 5, 1)], [(0, 0, 2.999, 1)]).tolist() == []


def test_a_box_that_lost_its_best_match_takes_the_next() -> None:
    before = [(0, 0, 10, 10), (0, 0, 10, 9)]
    after = [(0, 0, 10, 10), (0, 0, 10, 8)]
    assert boundary_anchors(before, after).tolist() == [[0, 0], [1, 1]]


def test_no_boxes() -> None:
    assert boundary_anchors([], [(0, 0, 1, 1)]).shape == (0, 2)


def test_edge_boxes_are_those_nearest_the_cut() -> None:
    sampled = [100, 103, 106, 109, 112]
    frames = [[106, 112, 109], [100, 109], [100, 106], [], [103]]
    boxes = [[(f, 0, f + 1, 1) for f in track] for track in frames]
    places, picked = edge_boxes(frames, boxes, sampled=sampled, edge="end")
    assert places.tolist() == [0, 1]
    assert picked[:, 0].tolist() == [112, 109]
    places, picked = edge_boxes(frames, boxes, sampled=sampled, edge="start")
    assert places.tolist() == [1, 2, 4]
    assert picked[:, 0].tolist() == [100, 100, 103]
    places, picked = edge_boxes(frames, boxes, sampled=sampled, edge="start", within=1)
    assert places.tolist() == [1, 2]
    assert edge_boxes([[106]], [[(0, 0, 1, 1)]], sampled=sampled, edge="end")[1].shape == (0, 4)


@pytest.mark.parametrize(
    ("gap", "days", "consecutive"),
    [
        (0.0, (1, 1), True),
        (-1e-9, (1, 1), True),
        (1.0, (1, 1), True),
        (1.01, (1, 1), False),
        (-0.01, (1, 1), False),
        (0.0, (1, 2), False),
    ],
)
def test_consecutive_clips(gap: float, days: tuple[int, int], consecutive: bool) -> None:
    found = consecutive_clips([30.0, 60.0 + gap], [60.0, 90.0 + gap], days)
    assert found.tolist() == ([[0, 1]] if consecutive else [])
    assert consecutive_clips([0.0], [30.0], [1]).shape == (0, 2)
