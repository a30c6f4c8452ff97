"""How fast association is, against two plain ways to do it, with the answers compared.

    python -m evaluation.bench.association --json

Baselines, measured in the same run on the same observations:

* `entities`: for each observation a loop over all entities, each tested by Equation 3 on its own.
* `matvec`: for each observation one float32 product with all active references, then Equation 3
  for the entities with a reference at theta_match or above.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from geb_assets.writing.entities.association import MARGIN, ROUNDING, associate

THETA_CONS, THETA_MATCH, REFERENCES = 0.60, 0.75, 10
PER_CLIP = 49
"""Observations in a clip of the EgoLife week (paper, Appendix B)."""


@dataclass(frozen=True)
class Recording:
    """Synthetic observations, in the arrays that `associate` takes."""

    vectors: NDArray[np.float32]
    clip: NDArray[np.int64]
    separated: NDArray[np.int64]
    anchors: NDArray[np.int64]

    def first(self, count: int) -> Recording:
        """The first `count` observations."""
        return Recording(
            self.vectors[:count],
            self.clip[:count],
            self.separated[self.separated[:, 1] < count],
            self.anchors[self.anchors[:, 1] < count],
        )


def synthetic(observations: int, dim: int, *, seed: int = 0) -> Recording:
    """Noisy views of entities whose sizes have a heavy tail; a few views have no embedding.

    Views of one entity have a cosine of about 0.8 to each other, entities of one kind about 0.5,
    so that both thresholds have close cases. Two views in one clip of different entities are
    proven apart half the time, and a tenth of the entities stay in place into the next clip.
    """
    rng = np.random.default_rng(seed)
    entities = max(1, observations // 4)
    weight = 1.0 / np.arange(1, entities + 1) ** 0.9
    member = rng.choice(entities, size=observations, p=weight / weight.sum())
    clip = np.arange(observations) // PER_CLIP

    def directions(count: int) -> NDArray[np.float32]:
        drawn = rng.standard_normal((count, dim), dtype=np.float32)
        drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
        return drawn

    kinds = directions(max(1, entities // 20))
    own = 0.75 * kinds[rng.integers(0, len(kinds), entities)] + 0.66 * directions(entities)
    noise = rng.gamma(8.0, 0.065, size=(observations, 1)).astype(np.float32)
    views = own[member] + noise * directions(observations)
    # As read from the store: float16, widened and normalised again.
    stored = (views / np.linalg.norm(views, axis=1, keepdims=True)).astype(np.float16)
    vectors = stored.astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[rng.random(observations) < 0.005] = np.nan

    earlier, later = np.triu_indices(PER_CLIP, 1)
    starts = np.arange(0, observations, PER_CLIP)[:, None]
    pairs = np.stack([(starts + earlier).ravel(), (starts + later).ravel()], axis=1)
    pairs = pairs[pairs[:, 1] < observations]
    different = member[pairs[:, 0]] != member[pairs[:, 1]]
    separated = pairs[different & (rng.random(len(pairs)) < 0.5)]

    latest: dict[int, int] = {}
    anchors: list[tuple[int, int]] = []
    for row, entity in enumerate(member.tolist()):
        before = latest.get(entity)
        if entity % 10 == 0 and before is not None and clip[row] - clip[before] == 1:
            anchors.append((before, row))
        latest[entity] = row
    return Recording(vectors, clip, separated, np.array(anchors, np.int64).reshape(-1, 2))


def _by_later(pairs: NDArray[np.int64]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for earlier, later in pairs.tolist():
        found.setdefault(later, set()).add(earlier)
    return found


def _judge(
    s: NDArray[np.float32], refs: NDArray[np.float32], v: NDArray[np.float32]
) -> tuple[float, float, float]:
    """Minimum, mean and maximum similarity, in float64 where a threshold is close."""
    low, high = float(s.min()), float(s.max())
    if min(abs(low - THETA_CONS), abs(low - THETA_MATCH), abs(high - THETA_MATCH)) <= MARGIN:
        s64 = refs.astype(np.float64) @ v.astype(np.float64)
        return float(s64.min()), float(s64.mean()), float(s64.max())
    return low, float(s.mean(dtype=np.float64)), high


def over_entities(data: Recording) -> NDArray[np.int64]:
    """Equation 3 with a loop over all entities for each observation."""
    apart, in_place = _by_later(data.separated), _by_later(data.anchors)
    references: list[NDArray[np.float32]] = []
    rows: list[list[int]] = []
    answer = np.empty(len(data.vectors), np.int64)
    missing: NDArray[np.bool_] = np.any(np.isnan(data.vectors), axis=1)
    dim = data.vectors.shape[1]
    nothing: set[int] = set()
    for i, v in enumerate(data.vectors):
        best, best_mean = -1, -np.inf
        if not missing[i]:
            for k, held in enumerate(references):
                if not rows[k]:
                    continue
                refs = held[: len(rows[k])]
                s = refs @ v
                anchored = bool(in_place.get(i)) and not in_place[i].isdisjoint(rows[k])
                if not anchored and s.max() < THETA_MATCH - MARGIN:
                    continue
                low, mean, high = _judge(s, refs, v)
                if low < THETA_CONS - ROUNDING or not (anchored or high >= THETA_MATCH - ROUNDING):
                    continue
                if not apart.get(i, nothing).isdisjoint(rows[k]):
                    continue
                if mean > best_mean + ROUNDING:
                    best, best_mean = k, mean
        if best < 0:
            best = len(references)
            references.append(np.empty((REFERENCES, dim), np.float32))
            rows.append([])
        if not missing[i]:
            if len(rows[best]) == REFERENCES:
                references[best][:-1] = references[best][1:].copy()
                rows[best].pop(0)
            references[best][len(rows[best])] = v
            rows[best].append(i)
        answer[i] = best
    return answer


def by_matvec(data: Recording) -> NDArray[np.int64]:
    """Equation 3 with one float32 product of all active references and each observation."""
    apart, in_place = _by_later(data.separated), _by_later(data.anchors)
    n, dim = data.vectors.shape
    references = np.empty((n, dim), np.float32)
    row_of = np.empty(n, np.int64)
    owner = np.empty(n, np.int64)
    slots: list[list[int]] = []
    slot_of: dict[int, int] = {}
    size = 0
    answer = np.empty(n, np.int64)
    missing: NDArray[np.bool_] = np.any(np.isnan(data.vectors), axis=1)
    nothing: set[int] = set()
    for i, v in enumerate(data.vectors):
        best, best_mean = -1, -np.inf
        if not missing[i]:
            similar = references[:size] @ v
            anchored = {int(owner[slot_of[j]]) for j in in_place.get(i, nothing) if j in slot_of}
            parted = {int(owner[slot_of[j]]) for j in apart.get(i, nothing) if j in slot_of}
            found = set(owner[np.flatnonzero(similar >= THETA_MATCH - MARGIN)].tolist())
            for k in sorted(found | anchored):
                low, mean, high = _judge(similar[slots[k]], references[slots[k]], v)
                if low < THETA_CONS - ROUNDING or k in parted:
                    continue
                if (
                    high >= THETA_MATCH - ROUNDING or k in anchored
                ) and mean > best_mean + ROUNDING:
                    best, best_mean = k, mean
        if best < 0:
            best = len(slots)
            slots.append([])
        if not missing[i]:
            if len(slots[best]) == REFERENCES:
                slot = slots[best].pop(0)
                del slot_of[int(row_of[slot])]
            else:
                slot = size
                size += 1
            references[slot] = v
            row_of[slot], owner[slot], slot_of[i] = i, best, slot
            slots[best].append(slot)
        answer[i] = best
    return answer


def ours(data: Recording) -> NDArray[np.int64]:
    """`associate`, as the assets call it."""
    return associate(
        data.vectors,
        clip=data.clip,
        separated=data.separated,
        anchors=data.anchors,
        theta_cons=THETA_CONS,
        theta_match=THETA_MATCH,
        references=REFERENCES,
    )


def _timed(
    name: str,
    run: Callable[[Recording], NDArray[np.int64]],
    data: Recording,
    *,
    repeats: int = 1,
) -> tuple[NDArray[np.int64], float]:
    """The answer, and the median seconds of some repeats."""
    print(f"{name}: {len(data.vectors)} observations ...", file=sys.stderr, flush=True)
    seconds: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        answer = run(data)
        seconds.append(time.perf_counter() - start)
    print(f"{name}: {np.median(seconds):.2f} s", file=sys.stderr, flush=True)
    return answer, float(np.median(seconds))


def measure(observations: int, dim: int, limit: int, seed: int) -> dict[str, object]:
    """All three on the same recording; the loop over entities on its first `limit` observations.

    `ratio` is of those first observations, `ratio_matvec` of all. The loops run once; `associate`,
    which is over soon, runs three times and its median counts.
    """
    data = synthetic(observations, dim, seed=seed)
    # Threads and caches of the linear algebra warm up outside the clock.
    ours(data.first(2 * PER_CLIP))
    entity, seconds = _timed("associate", ours, data, repeats=3)
    matvec, seconds_matvec = _timed("matvec", by_matvec, data)
    limit = min(limit, observations)
    part = data.first(limit)
    _, seconds_part = _timed("associate", ours, part, repeats=3)
    looped, seconds_entities = _timed("entities", over_entities, part)
    sizes = np.bincount(entity)
    return {
        "ratio": seconds_entities / seconds_part,
        "ratio_matvec": seconds_matvec / seconds,
        "identical": bool(
            np.array_equal(entity, matvec) and np.array_equal(entity[:limit], looped)
        ),
        "seconds": seconds,
        "seconds_matvec": seconds_matvec,
        "seconds_entities": seconds_entities,
        "seconds_at_entities_limit": seconds_part,
        "observations": observations,
        "entities_limit": limit,
        "dim": dim,
        "seed": seed,
        "entities": len(sizes),
        "largest_entity": int(sizes.max()),
        "active_references": int(np.minimum(sizes, REFERENCES).sum()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Speed of association against two plain loops.")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--observations", type=int, default=20_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--limit",
        type=int,
        default=8_000,
        help="observations for the loop over entities; `ratio` is then of this size",
    )
    arguments = parser.parse_args()
    result = measure(arguments.observations, arguments.dim, arguments.limit, arguments.seed)
    if arguments.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name:26} {value:.3f}" if isinstance(value, float) else f"{name:26} {value}")


if __name__ == "__main__":
    main()
