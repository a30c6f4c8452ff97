"""Association against Equation 3 written down plainly, and each of its rules by itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from geb_assets.writing.entities.association import (
    AssociationState,
    Explanation,
    Rule,
    associate,
    close_calls,
    extend,
)

EQUAL = 1e-12
NO_PAIRS = np.empty((0, 2), np.int64)


@dataclass
class Plain:
    """What the plain reference says of one observation."""

    entity: int
    anchored: bool
    similarities: list[float]
    runner_up: int
    why: str
    vetoes: int


def plain_association(
    vectors: NDArray[np.float32],
    *,
    separated: Iterable[tuple[int, int]],
    anchors: Iterable[tuple[int, int]],
    theta_cons: float,
    theta_match: float,
    references: int = 10,
) -> list[Plain]:
    """One observation at a time, every entity looked at, everything in float64."""
    apart = {frozenset(map(int, pair)) for pair in separated}
    in_place = {frozenset(map(int, pair)) for pair in anchors}
    rows = [[float(x) for x in v] for v in vectors]
    held: dict[int, list[int]] = {}
    answer: list[Plain] = []
    for i, v in enumerate(rows):
        missing = any(x != x for x in v)
        best, best_mean = -1, -9.0
        verdicts: dict[int, tuple[float, str]] = {}
        seen: dict[int, list[float]] = {}
        vetoes = 0
        for k, refs in held.items():
            if missing or not refs:
                continue
            s = [sum(x * y for x, y in zip(v, rows[j], strict=True)) for j in refs]
            seen[k] = s
            anchored = any(frozenset((i, j)) in in_place for j in refs)
            if max(s) < theta_match - EQUAL and not anchored:
                continue
            mean = sum(s) / len(s)
            if min(s) < theta_cons - EQUAL:
                verdicts[k] = (mean, "below theta_cons")
            elif any(frozenset((i, j)) in apart for j in refs):
                verdicts[k] = (mean, "separated")
                vetoes += 1
            else:
                verdicts[k] = (mean, "lower mean")
                if mean > best_mean + EQUAL:
                    best, best_mean = k, mean
        runner_up, runner_mean, why = -1, -9.0, ""
        for k, (mean, verdict) in verdicts.items():
            if k != best and mean > runner_mean + EQUAL:
                runner_up, runner_mean, why = k, mean, verdict
        if runner_up < 0:
            closest = theta_cons - EQUAL
            for k, s in seen.items():
                if k != best and max(s) >= closest + (EQUAL if runner_up >= 0 else 0):
                    runner_up, closest, why = k, max(s), "no match"
        entity = best if best >= 0 else len(held)
        refs = held.setdefault(entity, [])
        answer.append(
            Plain(
                entity=entity,
                anchored=any(frozenset((i, j)) in in_place for j in refs) if best >= 0 else False,
                similarities=seen[best] if best >= 0 else [],
                runner_up=runner_up,
                why=why,
                vetoes=vetoes,
            )
        )
        if not missing:
            held[entity] = [*refs, i][-references:]
    return answer


def as_stored(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Unit rows as they come from the store: float16, widened, normalised again."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    wide = unit.astype(np.float16).astype(np.float32)
    return wide / np.linalg.norm(wide, axis=1, keepdims=True)


@dataclass
class Case:
    vectors: NDArray[np.float32]
    clip: NDArray[np.int64]
    separated: NDArray[np.int64]
    anchors: NDArray[np.int64]
    rule: Rule

    def plain(self) -> list[Plain]:
        return plain_association(
            self.vectors,
            separated=[(int(a), int(b)) for a, b in self.separated],
            anchors=[(int(a), int(b)) for a, b in self.anchors],
            theta_cons=self.rule.theta_cons,
            theta_match=self.rule.theta_match,
            references=self.rule.references,
        )

    def associated(self) -> NDArray[np.int64]:
        return associate(
            self.vectors,
            clip=self.clip,
            separated=self.separated,
            anchors=self.anchors,
            theta_cons=self.rule.theta_cons,
            theta_match=self.rule.theta_match,
            references=self.rule.references,
        )

    def explained(self, block_rows: int = 256) -> tuple[AssociationState, Explanation]:
        return extend(
            AssociationState.start(self.rule),
            self.vectors,
            clip=self.clip,
            separated=self.separated,
            anchors=self.anchors,
            block_rows=block_rows,
        )


def random_case(seed: int, *, most: int = 24) -> Case:
    """Noisy views of a few things, with ties, copies and thresholds that lie on a similarity."""
    rng = np.random.default_rng(seed)
    n, dim = int(rng.integers(1, most + 1)), int(rng.integers(2, 7))
    centres = rng.standard_normal((int(rng.integers(1, 5)), dim))
    noise = rng.choice([0.0, 0.2, 0.6]) * rng.standard_normal((n, dim))
    views = centres[rng.integers(0, len(centres), n)] + noise
    if rng.random() < 0.5:
        views = np.round(views * 2) / 2 + 1e-3
    vectors = as_stored(views)
    for _ in range(int(rng.integers(0, 6))):
        vectors[rng.integers(0, n)] = vectors[rng.integers(0, n)]
    vectors[rng.random(n) < 0.08] = np.nan
    clip = np.sort(rng.integers(0, 6, n))
    earlier, later = np.triu_indices(n, 1)
    step = clip[later] - clip[earlier]
    some = rng.random(len(step)) < 0.25
    pairs = np.stack([earlier, later], axis=1)
    if rng.random() < 0.5:
        wide = vectors.astype(np.float64)
        similar = (wide @ wide.T)[earlier, later]
        cons, match = np.sort(rng.choice(np.append(similar[~np.isnan(similar)], [0.6, 0.75]), 2))
    else:
        cons, match = 0.6, 0.75
    rule = Rule(float(cons), float(match), int(rng.integers(1, 5)))
    return Case(vectors, clip, pairs[some & (step == 0)], pairs[some & (step == 1)], rule)


@pytest.mark.parametrize("part", range(6))
def test_equals_the_plain_rule_on_thousands_of_cases(part: int) -> None:
    for seed in range(part * 500, (part + 1) * 500):
        case = random_case(seed)
        assert case.associated().tolist() == [p.entity for p in case.plain()], seed


def test_equals_the_plain_rule_with_full_references_at_the_default_size() -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        views = np.eye(3, 16)[rng.integers(0, 3, 150)] + 0.12 * rng.standard_normal((150, 16))
        clip = np.arange(150) // 7
        case = Case(as_stored(views), clip, NO_PAIRS, NO_PAIRS, Rule(0.6, 0.75))
        found = case.associated()
        assert np.bincount(found).max() > 10
        assert found.tolist() == [p.entity for p in case.plain()], seed


@given(
    rows=st.lists(
        st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0]), min_size=3, max_size=3).filter(any)
        | st.just([float("nan")] * 3),
        min_size=1,
        max_size=12,
    ),
    data=st.data(),
    cons=st.sampled_from([0.0, 0.5, 0.6, 0.8]),
    match=st.sampled_from([0.6, 0.75, 0.8, 1.0 - 1e-7]),
    references=st.integers(1, 3),
)
@settings(max_examples=150, deadline=None)
def test_equals_the_plain_rule_for_any_pairs(
    rows: list[list[float]], data: st.DataObject, cons: float, match: float, references: int
) -> None:
    n = len(rows)
    possible = [(i, j) for j in range(n) for i in range(j)]
    some = st.lists(st.sampled_from(possible), max_size=12) if possible else st.just([])
    case = Case(
        as_stored(np.array(rows)),
        np.zeros(n, np.int64),
        np.array(data.draw(some), np.int64).reshape(-1, 2),
        np.array(data.draw(some), np.int64).reshape(-1, 2),
        Rule(cons, match, references),
    )
    assert case.associated().tolist() == [p.entity for p in case.plain()]


def test_explains_as_the_plain_rule_does() -> None:
    whys = set()
    for seed in range(200):
        case = random_case(seed)
        _, found = case.explained()
        for i, (plain, why) in enumerate(zip(case.plain(), found.why, strict=True)):
            s = plain.similarities
            values = (min(s), sum(s) / len(s), max(s)) if s else (np.nan,) * 3
            told = (
                found.min_similarity[i],
                found.mean_similarity[i],
                found.max_similarity[i],
            )
            np.testing.assert_allclose(told, values, atol=1e-7)
            assert bool(found.anchored[i]) == plain.anchored
            assert (int(found.runner_up[i]), why) == (plain.runner_up, plain.why), (seed, i)
            assert int(found.vetoes[i]) == plain.vetoes
            whys.add(why)
            for reference, value in (
                (found.closest[i], found.max_similarity[i]),
                (found.farthest[i], found.min_similarity[i]),
                (found.runner_up_closest[i], found.runner_up_max[i]),
                (found.runner_up_farthest[i], found.runner_up_min[i]),
            ):
                assert (reference < 0) == np.isnan(value)
                if reference >= 0:
                    pair = case.vectors[i] @ case.vectors[reference]
                    assert pair == pytest.approx(float(value), abs=1e-6)
    assert whys == {"", "lower mean", "below theta_cons", "no match", "separated"}


def assert_same(first: object, second: object) -> None:
    for f in fields(first):  # type: ignore[arg-type]
        np.testing.assert_array_equal(getattr(first, f.name), getattr(second, f.name), f.name)


def test_resumed_and_blocked_passes_equal_one_pass_to_the_bit() -> None:
    for seed in range(80):
        case = random_case(seed, most=60)
        whole_state, whole = case.explained()
        rng = np.random.default_rng(seed)
        state, parts, at = AssociationState.start(case.rule), [], 0
        while at < len(case.vectors):
            stop = at + int(rng.integers(0, 20))
            state, part = extend(
                state,
                case.vectors[at:stop],
                clip=case.clip[at:stop],
                separated=case.separated[case.separated[:, 1] < stop],
                anchors=case.anchors[case.anchors[:, 1] < stop],
                block_rows=int(rng.integers(1, 9)),
            )
            state = AssociationState.from_bytes(state.to_bytes())
            parts.append(Explanation.from_bytes(part.to_bytes()))
            at = min(stop, len(case.vectors))
        assert_same(Explanation.concatenated(parts), whole)
        assert_same(state, whole_state)


def test_high_dimensional_blocks_equal_one_pass_to_the_bit() -> None:
    rng = np.random.default_rng(3)
    centres = rng.standard_normal((40, 512))
    views = centres[rng.integers(0, 40, 500)] + 0.55 * rng.standard_normal((500, 512))
    case = Case(as_stored(views), np.arange(500) // 49, NO_PAIRS, NO_PAIRS, Rule(0.74, 0.78))
    state, whole = case.explained()
    assert len(set(whole.entity.tolist())) < 500
    for rows in (1, 5, 64, 500):
        other_state, other = case.explained(block_rows=rows)
        assert_same(other, whole)
        assert_same(other_state, state)


def test_a_state_is_left_as_it_is_by_what_extends_it() -> None:
    case = random_case(11, most=60)
    half = len(case.vectors) // 2
    state, _ = extend(
        AssociationState.start(case.rule),
        case.vectors[:half],
        clip=case.clip[:half],
        separated=NO_PAIRS,
        anchors=NO_PAIRS,
    )
    before = state.to_bytes()
    for _ in range(2):
        extend(
            state,
            case.vectors[half:],
            clip=case.clip[half:],
            separated=NO_PAIRS,
            anchors=NO_PAIRS,
        )
        assert state.to_bytes() == before


def test_a_rebuilt_state_goes_on_as_the_one_that_was_lost() -> None:
    for seed in range(60):
        case = random_case(seed, most=60)
        _, whole = case.explained()
        half = len(case.vectors) // 2
        embedded = ~np.isnan(case.vectors[:half]).any(axis=1)
        asked: list[int] = []

        def read(
            rows: NDArray[np.int64], case: Case = case, asked: list[int] = asked
        ) -> NDArray[np.float32]:
            asked.extend(rows.tolist())
            return case.vectors[rows]

        state = AssociationState.rebuilt(case.rule, whole.entity[:half], embedded, read)
        assert len(asked) == len(set(asked)) == np.minimum(state.counts, case.rule.references).sum()
        _, rest = extend(
            state,
            case.vectors[half:],
            clip=case.clip[half:],
            separated=case.separated,
            anchors=case.anchors,
        )
        assert_same(
            rest,
            Explanation(**{f.name: getattr(whole, f.name)[half:] for f in fields(Explanation)}),
        )


# Each rule by itself: unit vectors in the plane, named by their angle.


def plane(*degrees: float) -> NDArray[np.float32]:
    angle = np.deg2rad(np.array(degrees))
    return np.stack([np.cos(angle), np.sin(angle)], axis=1).astype(np.float32)


def entities(
    vectors: NDArray[np.float32],
    *,
    separated: Iterable[tuple[int, int]] = (),
    anchors: Iterable[tuple[int, int]] = (),
    theta_cons: float = 0.6,
    theta_match: float = 0.75,
    references: int = 10,
) -> list[int]:
    return associate(
        vectors,
        clip=np.zeros(len(vectors), np.int64),
        separated=np.array([*separated], np.int64).reshape(-1, 2),
        anchors=np.array([*anchors], np.int64).reshape(-1, 2),
        theta_cons=theta_cons,
        theta_match=theta_match,
        references=references,
    ).tolist()


def test_no_observations() -> None:
    assert entities(np.empty((0, 4), np.float32)) == []


def test_a_match_joins_and_less_than_a_match_does_not() -> None:
    assert entities(plane(0, 41)) == [0, 0]  # cos 41 = 0.755
    assert entities(plane(0, 42)) == [0, 1]  # cos 42 = 0.743


def test_one_strong_match_does_not_outweigh_one_contradicting_reference() -> None:
    assert entities(plane(0, 40, 54)) == [0, 0, 1]  # cos 54 = 0.588 to the first
    assert entities(plane(0, 40, 52)) == [0, 0, 0]  # cos 52 = 0.616


def test_a_reference_pushed_out_of_a_full_set_no_longer_contradicts() -> None:
    assert entities(plane(0, 40, 40, 60), references=3) == [0, 0, 0, 1]
    assert entities(plane(0, 40, 40, 60), references=2) == [0, 0, 0, 0]


def test_a_separated_reference_vetoes_until_it_is_pushed_out() -> None:
    assert entities(plane(0, 0), separated=[(0, 1)]) == [0, 1]
    assert entities(plane(0, 0, 0), separated=[(0, 2)]) == [0, 0, 1]
    assert entities(plane(0, 0, 0), separated=[(0, 2)], references=1) == [0, 0, 0]


def test_an_anchor_replaces_the_match_condition_alone() -> None:
    assert entities(plane(0, 50), anchors=[(0, 1)]) == [0, 0]  # 0.643: no match, but consistent
    assert entities(plane(0, 54), anchors=[(0, 1)]) == [0, 1]  # below theta_cons
    assert entities(plane(0, 50), anchors=[(0, 1)], separated=[(0, 1)]) == [0, 1]


def test_an_anchor_counts_only_while_its_reference_is_kept() -> None:
    assert entities(plane(0, 5, 50), anchors=[(0, 2)], references=2) == [0, 0, 0]
    assert entities(plane(0, 5, 50), anchors=[(0, 2)], references=1) == [0, 0, 1]


def test_the_highest_mean_wins_not_the_highest_single_similarity() -> None:
    # Entity 0 holds 0 and 40 degrees, entity 1 holds 30: at 9 degrees entity 0 has the closer
    # reference (0.988 against 0.934) and the lower mean (0.922).
    assert entities(plane(0, 40, 30, 9), separated=[(0, 2), (1, 2)]) == [0, 0, 1, 1]


def test_equal_means_go_to_the_smaller_id() -> None:
    apart = [(0, 1), (0, 2), (1, 2)]
    assert entities(plane(0, 0, 0, 0), separated=apart) == [0, 1, 2, 0]
    # The same references in another order, and more of them, have the same mean.
    vectors = plane(10, 20, 20, 10, 10, 20, 15)
    pairs = [(0, 2), (1, 2), (0, 3), (1, 3), (0, 4), (1, 4), (0, 5), (1, 5)]
    assert entities(vectors, separated=pairs) == [0, 0, 1, 1, 1, 1, 0]


def test_an_observation_without_embedding_starts_an_entity_that_nothing_joins() -> None:
    vectors = plane(0, 0, 0)
    vectors[1] = np.nan
    assert entities(vectors, anchors=[(0, 1), (1, 2)]) == [0, 1, 0]
    assert entities(np.full((3, 2), np.nan, np.float32)) == [0, 1, 2]


def test_a_similarity_exactly_at_a_threshold_reaches_it() -> None:
    exact = np.array([[1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.5, 0.5]], np.float32)
    assert entities(exact, theta_match=0.5, theta_cons=0.5) == [0, 0]
    assert entities(exact, theta_match=0.5 + 1e-9, theta_cons=0.5) == [0, 1]
    assert entities(exact, theta_match=0.5, theta_cons=0.5 + 1e-9) == [0, 1]


@pytest.mark.parametrize("block_rows", [1, 3, 256])
def test_float64_decides_what_float32_cannot_tell(block_rows: int) -> None:
    for seed in range(60):
        rng = np.random.default_rng(seed)
        base = rng.standard_normal(512)
        vectors = as_stored(base + 0.6 * rng.standard_normal((2, 512)))
        s = float(vectors[0].astype(np.float64) @ vectors[1].astype(np.float64))
        for match, cons, expected in (
            (s - 1e-9, 0.1, [0, 0]),
            (s + 1e-9, 0.1, [0, 1]),
            (0.1, s - 1e-9, [0, 0]),
            (0.1, s + 1e-9, [0, 1]),
        ):
            case = Case(vectors, np.zeros(2, np.int64), NO_PAIRS, NO_PAIRS, Rule(cons, match))
            assert case.explained(block_rows)[1].entity.tolist() == expected


def test_float64_decides_between_means_that_float32_cannot_tell() -> None:
    decided = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        first = as_stored(rng.standard_normal((1, 512)))[0]
        second = first.copy()
        second[rng.integers(0, 512)] += np.float32(3e-7 * rng.choice([-1, 1]))
        last = as_stored((first + 0.02 * rng.standard_normal(512))[None])[0]
        vectors = np.stack([first, second, last])
        wide = vectors.astype(np.float64)
        means = wide[:2] @ wide[2]
        assert 1e-12 < abs(means[0] - means[1]) < 1e-7
        better = int(np.argmax(means))
        assert entities(vectors, separated=[(0, 1)]) == [0, 1, better]
        decided.add(better)
    assert decided == {0, 1}


def test_ids_count_up_by_first_appearance() -> None:
    for seed in range(100):
        found = random_case(seed).associated()
        _, first = np.unique(found, return_index=True)
        assert found.dtype == np.int64
        assert found[np.sort(first)].tolist() == list(range(len(first)))


def test_close_calls_are_the_nearest_accepted_and_refused_pairs() -> None:
    _, found = Case(
        plane(0, 41, 42.5, 130, 88, 76, 180), np.zeros(7), NO_PAIRS, NO_PAIRS, Rule(0.6, 0.75)
    ).explained()
    calls = close_calls(found, Rule(0.6, 0.75))
    assert found.entity.tolist() == [0, 0, 0, 1, 2, 2, 3]
    told = [(c.threshold, c.observation, c.reference, c.accepted) for c in calls]
    assert told == [
        ("theta_match", 1, 0, True),
        ("theta_match", 5, 4, True),
        ("theta_match", 2, 1, True),
        ("theta_match", 4, 3, False),
        ("theta_match", 6, 3, False),
        ("theta_cons", 2, 0, True),
        ("theta_cons", 1, 0, True),
        ("theta_cons", 5, 4, True),
        ("theta_cons", 5, 0, False),
    ]
    assert [c.similarity for c in calls[:2]] == pytest.approx(
        [np.cos(np.deg2rad(41)), np.cos(np.deg2rad(12))], abs=1e-6
    )
    assert len(close_calls(found, Rule(0.6, 0.75), limit=1)) == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vectors": 3 * plane(0, 10)}, "observation 0 is not a unit vector"),
        ({"vectors": plane(0)[0]}, "must be"),
        ({"clip": np.zeros(3)}, "must be"),
        ({"separated": [(0, 2)]}, "from 0 to 1"),
        ({"anchors": [(1, 1)]}, "two different"),
        ({"references": 0}, "at least 1"),
    ],
)
def test_refuses_what_does_not_fit(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {
        "vectors": plane(0, 10),
        "clip": np.zeros(2),
        "separated": NO_PAIRS,
        "anchors": NO_PAIRS,
        "theta_cons": 0.6,
        "theta_match": 0.75,
        **change,
    }
    with pytest.raises(ValueError, match=message):
        associate(**arguments)  # type: ignore[arg-type]


def test_refuses_vectors_of_another_size_than_those_before() -> None:
    state, _ = Case(plane(0, 10), np.zeros(2), NO_PAIRS, NO_PAIRS, Rule(0.6, 0.75)).explained()
    wider = np.eye(1, 3, dtype=np.float32)
    with pytest.raises(ValueError, match="3 dimensions, those before them 2"):
        extend(state, wider, clip=np.zeros(1), separated=NO_PAIRS, anchors=NO_PAIRS)
