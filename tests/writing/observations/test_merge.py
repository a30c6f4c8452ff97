"""Merging of duplicate and nested tracks, against a loop over pairs and frames."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geb_assets.parameters import Observations
from geb_assets.writing.observations.merge import merge_tracks
from geb_assets.writing.observations.subjects import (
    Subject,
    combine,
    from_rows,
    subjects_of,
    to_rows,
)

Box = tuple[int, int, int, int]
Sighting = tuple[Box, float, str]
TWO_THIRDS = Fraction(2, 3)


def subject(name: str, seen: dict[int, Sighting]) -> Subject:
    frames = sorted(seen)
    return Subject(
        tracks=(name,),
        frames=np.array(frames, np.int32),
        times=np.array(frames, np.float64) / 10,
        boxes=np.array([seen[f][0] for f in frames], np.float32),
        confidence=np.array([seen[f][1] for f in frames], np.float32),
        labels=np.array([seen[f][2] for f in frames]),
    )


def steady(name: str, box: Box, frames: range, *, conf: float = 0.5, label: str = "cup") -> Subject:
    return subject(name, {frame: (box, conf, label) for frame in frames})


def area(box: Box) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])


def overlap(a: Box, b: Box) -> int:
    width = max(0, min(a[2], b[2]) - max(a[0], b[0]))
    return width * max(0, min(a[3], b[3]) - max(a[1], b[1]))


def plain_merge(tracks: dict[str, dict[int, Sighting]]) -> set[frozenset[str]]:
    """Which tracks become one, by the words of spec 9.1."""

    def label(name: str) -> str:
        weights: dict[str, float] = {}
        for _, confidence, word in tracks[name].values():
            weights[word] = weights.get(word, 0.0) + float(np.float32(confidence))
        return min(weights, key=lambda word: (-weights[word], word))

    def pair(a: str, b: str) -> tuple[bool, bool]:
        shared = sorted(tracks[a].keys() & tracks[b].keys())
        same = nested = apart = 0
        for frame in shared:
            one, two = tracks[a][frame][0], tracks[b][frame][0]
            both = overlap(one, two)
            iou = Fraction(both, area(one) + area(two) - both)
            same += iou >= Fraction(7, 10)
            nested += Fraction(both, min(area(one), area(two))) >= Fraction(8, 10)
            apart += iou < Fraction(1, 2)
        if len(shared) < 3:
            return False, False
        joined = 2 * len(shared) >= min(len(tracks[a]), len(tracks[b])) and (
            same >= TWO_THIRDS * len(shared)
            or (label(a) == label(b) and nested >= TWO_THIRDS * len(shared))
        )
        return joined, apart >= TWO_THIRDS * len(shared) and not joined

    order = sorted(tracks, key=lambda name: (min(tracks[name]), name))
    place = {name: number for number, name in enumerate(order)}
    facts = {frozenset((a, b)): pair(a, b) for a, b in combinations(order, 2)}
    wanted = [(a, b) for a, b in combinations(order, 2) if facts[frozenset((a, b))][0]]
    wanted.sort(
        key=lambda p: (
            -max(len(tracks[p[0]]), len(tracks[p[1]])),
            -min(len(tracks[p[0]]), len(tracks[p[1]])),
            place[p[0]],
            place[p[1]],
        )
    )
    groups = [{name} for name in order]
    for a, b in wanted:
        ours = next(g for g in groups if a in g)
        theirs = next(g for g in groups if b in g)
        proven = any(facts[frozenset((x, y))][1] for x in ours for y in theirs if x != y)
        if ours is not theirs and not proven:
            ours |= theirs
            groups.remove(theirs)
    return {frozenset(group) for group in groups}


BASES: list[Box] = [
    (0, 0, 100, 100), (10, 0, 100, 100), (20, 0, 120, 100), (40, 40, 80, 90), (0, 0, 50, 100),
    (200, 200, 260, 260), (60, 0, 160, 100),
]  # fmt: skip


@st.composite
def clips(draw: st.DrawFn) -> dict[str, dict[int, Sighting]]:
    tracks = {}
    for number in range(draw(st.integers(1, 6))):
        start, length = draw(st.integers(0, 4)), draw(st.integers(1, 9))
        base = draw(st.sampled_from(BASES))
        odd = draw(st.sampled_from(BASES))
        word = draw(st.sampled_from(["cup", "bowl"]))
        tracks[f"t{number}"] = {
            frame: (
                odd if draw(st.integers(0, 4)) == 0 else base,
                draw(st.sampled_from([0.25, 0.5, 0.75])),
                word,
            )
            for frame in range(start, start + length)
        }
    return tracks


@settings(max_examples=200, deadline=None)
@given(clips())
def test_merges_as_the_words_say(tracks: dict[str, dict[int, Sighting]]) -> None:
    subjects = [subject(name, seen) for name, seen in tracks.items()]
    subjects.sort(key=lambda s: (int(s.frames[0]), s.tracks))
    merged = merge_tracks(subjects, Observations())
    assert {frozenset(s.tracks) for s in merged} == plain_merge(tracks)
    for united in merged:
        for frame, box, confidence in zip(
            united.frames, united.boxes, united.confidence, strict=True
        ):
            held = [
                tracks[name][int(frame)] for name in united.tracks if int(frame) in tracks[name]
            ]
            assert confidence == max(sighting[1] for sighting in held)
            assert any(tuple(box) == s[0] and confidence == s[1] for s in held)
        assert set(united.frames.tolist()) == set().union(*(tracks[name] for name in united.tracks))


def test_duplicates_merge_whatever_their_labels() -> None:
    first = steady("a", (0, 0, 100, 100), range(10))
    second = steady("b", (5, 0, 100, 100), range(10), label="bowl")
    assert len(merge_tracks([first, second], Observations())) == 1


def test_a_nested_box_merges_only_under_one_label() -> None:
    whole = steady("a", (0, 0, 100, 100), range(10), label="chair")
    part = (20, 20, 70, 80)
    assert (
        len(merge_tracks([whole, steady("b", part, range(10), label="chair")], Observations())) == 1
    )
    assert (
        len(merge_tracks([whole, steady("b", part, range(10), label="cup")], Observations())) == 2
    )


def test_a_merge_never_joins_two_tracks_proven_apart() -> None:
    # The wide box agrees with both, which are apart from each other: only one of them joins it.
    wide = steady("w", (0, 0, 100, 10), range(12))
    left, right = steady("l", (0, 0, 45, 10), range(10)), steady("r", (55, 0, 100, 10), range(11))
    merged = merge_tracks([left, right, wide], Observations())
    assert sorted(s.tracks for s in merged) == [("l",), ("r", "w")]


def test_too_few_shared_frames_merge_nothing() -> None:
    box = (0, 0, 100, 100)
    assert (
        len(
            merge_tracks(
                [steady("a", box, range(5)), steady("b", box, range(3, 9))], Observations()
            )
        )
        == 2
    )
    long = [steady("a", box, range(20)), steady("b", box, range(17, 40))]
    assert len(merge_tracks(long, Observations())) == 2


def test_equal_confidence_keeps_the_earlier_member() -> None:
    both = combine([steady("a", (0, 0, 9, 9), range(2)), steady("b", (1, 1, 9, 9), range(3))])
    assert both.boxes[:, 0].tolist() == [0, 0, 1]
    assert both.tracks == ("a", "b")


def test_label_is_the_weighted_majority() -> None:
    seen: dict[int, Sighting] = {
        0: ((0, 0, 9, 9), 0.9, "cup"),
        1: ((0, 0, 9, 9), 0.4, "bowl"),
        2: ((0, 0, 9, 9), 0.4, "bowl"),
    }
    assert subject("a", seen).label == "cup"


def test_tracks_are_read_by_first_appearance_and_written_back() -> None:
    rows = pl.DataFrame(
        {
            "track": ["t1", "t1", "t0", "t2"],
            "frame": [1, 0, 3, 0], "time_s": [0.1, 0.0, 0.3, 0.0],
            "x1": [1.0, 0, 3, 0], "y1": [0.0] * 4, "x2": [9.0] * 4, "y2": [9.0] * 4,
            "confidence": [0.5] * 4, "label": ["cup"] * 4,
        }
    )  # fmt: skip
    subjects = subjects_of(rows)
    assert [s.tracks for s in subjects] == [("t1",), ("t2",), ("t0",)]
    assert subjects[0].boxes[:, 0].tolist() == [0, 1]
    back = from_rows(to_rows(subjects))
    for one, two in zip(subjects, back, strict=True):
        assert one.tracks == two.tracks
        for name in ("frames", "times", "boxes", "confidence", "labels"):
            np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_to_merge(count: int) -> None:
    tracks = [steady("a", (0, 0, 9, 9), range(3))][:count]
    assert [s.tracks for s in merge_tracks(tracks, Observations())] == [("a",)][:count]
