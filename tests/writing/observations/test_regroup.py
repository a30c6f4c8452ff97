"""Regrouping against VideoAgent's rule written as a plain loop."""

from __future__ import annotations

from typing import Literal

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from geb_assets.writing.observations.regroup import regroup, seen_together, worth_comparing
from geb_assets.writing.observations.subjects import Subject


def track(name: str, frames: list[int]) -> Subject:
    return Subject(
        tracks=(name,),
        frames=np.array(frames, np.int32),
        times=np.array(frames, np.float64),
        boxes=np.tile(np.array([0, 0, 9, 9], np.float32), (len(frames), 1)),
        confidence=np.ones(len(frames), np.float32),
        labels=np.array(["cup"] * len(frames)),
    )


def plain_groups(
    score: NDArray[np.float32], frames: list[set[int]], rule: Literal["best", "first"]
) -> list[int]:
    groups: list[list[int]] = []
    numbers = []
    for t in range(len(frames)):
        qualified = []
        for number, members in enumerate(groups):
            if any(frames[t] & frames[m] for m in members):
                continue
            values = [float(score[t, m]) for m in members]
            if all(v >= np.float32(0.5) for v in values) and any(
                v >= np.float32(0.62) for v in values
            ):
                qualified.append((sum(values) / len(values), number))
        if not qualified:
            groups.append([t])
            numbers.append(len(groups) - 1)
            continue
        number = (
            min(n for _, n in qualified)
            if rule == "first"
            else min(qualified, key=lambda item: (-item[0], item[1]))[1]
        )
        groups[number].append(t)
        numbers.append(number)
    return numbers


@st.composite
def cases(draw: st.DrawFn) -> tuple[NDArray[np.float32], list[set[int]]]:
    count = draw(st.integers(0, 9))
    score = np.ones((count, count), np.float32)
    values = st.sampled_from([0.3, 0.5, 0.55, 0.62, 0.7, 0.9, float("nan")])
    for a in range(count):
        for b in range(a):
            score[a, b] = score[b, a] = draw(values)
    frames = [set(draw(st.lists(st.integers(0, 20), min_size=1, max_size=3))) for _ in range(count)]
    return score, sorted(frames, key=min)


@settings(max_examples=200, deadline=None)
@given(cases(), st.sampled_from(["best", "first"]))
def test_groups_as_the_loop_does(
    case: tuple[NDArray[np.float32], list[set[int]]], rule: Literal["best", "first"]
) -> None:
    score, frames = case
    tracks = [track(f"t{n}", sorted(seen)) for n, seen in enumerate(frames)]
    together = seen_together(tracks)
    for a, one in enumerate(frames):
        for b, two in enumerate(frames):
            assert together[a, b] == bool(one & two)
    numbers = regroup(score, together, floor=0.5, match=0.62, rule=rule)
    assert numbers.tolist() == plain_groups(score, frames, rule)


def test_tracks_of_one_frame_never_group_even_without_a_floor() -> None:
    tracks = [track("a", [0, 1]), track("b", [1, 2])]
    alike = np.ones((2, 2), np.float32)
    assert regroup(alike, seen_together(tracks), floor=0.0, match=0.0).tolist() == [0, 1]


def test_best_and_first_differ() -> None:
    tracks = [track("a", [0, 3]), track("b", [0, 4]), track("c", [9])]
    score = np.array([[1, 0.1, 0.65], [0.1, 1, 0.9], [0.65, 0.9, 1]], np.float32)
    together = seen_together(tracks)
    assert regroup(score, together, floor=0.5, match=0.62, rule="first").tolist() == [0, 1, 0]
    assert regroup(score, together, floor=0.5, match=0.62).tolist() == [0, 1, 1]


@settings(max_examples=200, deadline=None)
@given(cases(), st.integers(1, 8), st.sampled_from(["best", "first"]))
def test_tracks_left_out_change_no_observation(
    case: tuple[NDArray[np.float32], list[set[int]]], least: int, rule: Literal["best", "first"]
) -> None:
    score, frames = case
    tracks = [track(f"t{n}", sorted(seen)) for n, seen in enumerate(frames)]
    together = seen_together(tracks)

    def long_enough(members: list[list[int]]) -> set[tuple[int, ...]]:
        return {tuple(m) for m in members if len(set().union(*(frames[t] for t in m))) >= least}

    def groups(numbers: NDArray[np.int64], of: list[int]) -> list[list[int]]:
        return [
            [t for t, n in zip(of, numbers, strict=True) if n == g] for g in sorted(set(numbers))
        ]

    every = list(range(len(tracks)))
    whole = regroup(score, together, floor=0.5, match=0.62, rule=rule)
    worth = worth_comparing(tracks, together, least) if tracks else np.zeros(0, bool)
    kept = np.flatnonzero(worth).tolist()
    part = regroup(
        score[np.ix_(kept, kept)], together[np.ix_(kept, kept)], floor=0.5, match=0.62, rule=rule
    )
    alone = [[t] for t in every if t not in kept]
    assert long_enough(groups(whole, every)) == long_enough(groups(part, kept) + alone)
