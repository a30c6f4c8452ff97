"""The separation test against a loop over pairs and frames."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from geb_assets.writing.entities.separation import box_iou, separated_pairs, separations

Box = tuple[float, float, float, float]


def plain_iou(a: Box, b: Box) -> Fraction:
    ax1, ay1, ax2, ay2 = map(Fraction, a)
    bx1, by1, bx2, by2 = map(Fraction, b)
    overlap = max(min(ax2, bx2) - max(ax1, bx1), Fraction(0)) * max(
        min(ay2, by2) - max(ay1, by1), Fraction(0)
    )
    union = (ax2 - ax1) * (ay2 - ay1) + (bx2 - bx1) * (by2 - by1) - overlap
    return overlap / union if union > 0 else Fraction(0)


def plain_separations(
    tracks: list[dict[int, Box]],
    min_shared: int = 3,
    iou: Fraction = Fraction(1, 2),
    fraction: Fraction = Fraction(2, 3),
) -> list[tuple[int, int, int, Fraction]]:
    found = []
    for i, first in enumerate(tracks):
        for j in range(i + 1, len(tracks)):
            shared = [f for f in first if f in tracks[j]]
            apart = [f for f in shared if plain_iou(first[f], tracks[j][f]) < iou]
            if len(shared) >= min_shared and Fraction(len(apart), len(shared)) >= fraction:
                found.append((i, j, len(shared), Fraction(len(apart), len(shared))))
    return found


def arrays(
    tracks: list[dict[int, Box]],
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.float32]]]:
    frames = [np.array([*t], np.int64) for t in tracks]
    boxes = [np.array([*t.values()], np.float32).reshape(-1, 4) for t in tracks]
    return frames, boxes


def check(tracks: list[dict[int, Box]]) -> int:
    frames, boxes = arrays(tracks)
    expected = plain_separations(tracks)
    found = separations(frames, boxes)
    told = zip(found.pairs.tolist(), found.shared, found.fraction_apart, strict=True)
    assert [(*pair, int(n), float(f)) for pair, n, f in told] == [
        (i, j, n, float(f)) for i, j, n, f in expected
    ]
    pairs = separated_pairs(frames, boxes)
    assert pairs.dtype == np.int64
    assert pairs.shape == (len(expected), 2)
    assert pairs.tolist() == [[i, j] for i, j, _, _ in expected]
    return len(expected)


corner = st.integers(0, 4)
side = st.integers(0, 4)
box = st.builds(
    lambda x, y, w, h: (float(x), float(y), float(x + w), float(y + h)), corner, corner, side, side
)
track = st.dictionaries(st.integers(0, 6), box, max_size=7)


@given(st.lists(track, max_size=5))
@settings(max_examples=200, deadline=None)
def test_equals_the_loop(tracks: list[dict[int, Box]]) -> None:
    check(tracks)


def test_equals_the_loop_on_many_seeded_cases() -> None:
    proven = 0
    for seed in range(600):
        rng = np.random.default_rng(seed)
        tracks: list[dict[int, Box]] = []
        for _ in range(int(rng.integers(0, 7))):
            x, y = rng.integers(0, 4, 2)
            w, h = rng.integers(0, 4, 2)
            seen = rng.permutation(12)[: rng.integers(0, 13)] * 3 + 1000
            steps = rng.integers(0, 2, len(seen))
            tracks.append(
                {
                    int(f): (float(x + s), float(y), float(x + s + w), float(y + h))
                    for f, s in zip(seen, steps, strict=True)
                }
            )
        proven += check(tracks)
    assert proven > 500


HERE: Box = (0, 0, 2, 2)
AWAY: Box = (5, 5, 7, 7)


@pytest.mark.parametrize(
    ("apart", "shared", "proven"),
    [(2, 2, False), (3, 3, True), (2, 3, True), (1, 3, False), (4, 6, True), (3, 6, False)]
    + [(2 * n, 3 * n, True) for n in (7, 33, 1000)]
    + [(2 * n - 1, 3 * n, False) for n in (7, 33, 1000)],
)
def test_two_thirds_of_at_least_three_shared_frames(apart: int, shared: int, proven: bool) -> None:
    still = {f: HERE for f in range(shared)}
    other = {f: AWAY if f < apart else HERE for f in range(shared)}
    found = separated_pairs(*arrays([still, other]))
    assert found.tolist() == ([[0, 1]] if proven else [])


def test_an_overlap_of_exactly_one_half_is_not_apart() -> None:
    half = {f: (0.0, 0.0, 2.0, 1.0) for f in range(3)}
    less = {f: (0.0, 0.0, 2.0, 0.9375) for f in range(3)}
    whole = {f: HERE for f in range(3)}
    assert separated_pairs(*arrays([whole, half])).tolist() == []
    assert separated_pairs(*arrays([whole, less])).tolist() == [[0, 1]]


def test_the_settings_are_read() -> None:
    tracks: list[dict[int, Box]] = [
        {f: HERE for f in range(10)},
        {f: AWAY if f < 7 else HERE for f in range(10)},
    ]
    frames, boxes = arrays(tracks)
    assert len(separated_pairs(frames, boxes, fraction=0.7)) == 1
    assert len(separated_pairs(frames, boxes, fraction=0.71)) == 0
    assert len(separated_pairs(frames, boxes, min_shared=11)) == 0
    assert len(separated_pairs(frames, boxes, iou=0.0)) == 0


def test_no_shared_frame_is_no_evidence() -> None:
    assert separated_pairs(*arrays([{0: HERE}, {1: AWAY}]), min_shared=0).tolist() == []
    assert separated_pairs([], []).shape == (0, 2)
    assert separated_pairs([[]], [[]]).shape == (0, 2)


def test_a_full_clip() -> None:
    rng = np.random.default_rng(0)
    frames = [np.sort(rng.permutation(300)[: rng.integers(20, 300)]) for _ in range(100)]
    origin = rng.integers(0, 1000, (100, 2))
    boxes = []
    for f, at in zip(frames, origin, strict=True):
        corner = at + rng.integers(0, 30, (len(f), 2))
        boxes.append(np.hstack([corner, corner + 200]).astype(np.float32))
    found = separations(frames, boxes)
    assert 2000 < len(found.pairs) < 4950
    for (i, j), shared in zip(found.pairs[::97], found.shared[::97], strict=True):
        assert shared == len(np.intersect1d(frames[i], frames[j]))


def test_iou_of_a_box_without_area_is_zero() -> None:
    point = np.array([1.0, 1.0, 1.0, 1.0])
    assert box_iou(point, point) == 0.0


@pytest.mark.parametrize(
    ("frames", "boxes", "message"),
    [([[1]], [], "1 observations have frames but 0"), ([[1]], [[HERE] * 2], "1 frames but 2")],
)
def test_refuses_what_does_not_fit(
    frames: list[list[int]], boxes: list[object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        separated_pairs(frames, boxes)  # type: ignore[arg-type]
