"""Association: which observations are encounters with one physical instance.

Source: paper section 3.3, Equation 3, and Appendix A "Association"; spec 9.13 to 9.17.

Observations are taken in temporal order. An observation joins an existing entity k only if, over
the entity's references M_k (its most recently assigned observations),

    min s >= theta_cons,  max s >= theta_match (or an anchored reference),  D = 0 for every one;

of several such entities it joins the one with the highest mean similarity; if there is none, it
starts an entity.

Similarities come from float32 matrix products, which only screen: whatever lies within `MARGIN` of
a threshold or of a tie is computed again in float64, so that no decision depends on how a product
was blocked.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Reason: TypeAlias = Literal["", "lower mean", "below theta_cons", "no match", "separated"]

REASONS: tuple[Reason, ...] = (
    "",
    "lower mean",
    "below theta_cons",
    "no match",
    "separated",
)
_LOWER_MEAN, _BELOW_CONS, _NO_MATCH, _SEPARATED = 1, 2, 3, 4

MARGIN = 1e-5
"""Float32 similarities this close to a threshold or to a tie are computed again in float64."""

ROUNDING = 1e-12
"""Float64 values this close are equal: the order of a float64 sum may change as much."""


@dataclass(frozen=True)
class Rule:
    """The constants of Equation 3: two cosine thresholds and the size limit of M_k."""

    theta_cons: float
    theta_match: float
    references: int = 10

    def __post_init__(self) -> None:
        if self.references < 1:
            raise ValueError(f"an entity keeps at least 1 reference, not {self.references}")


@dataclass(frozen=True)
class AssociationState:
    """What association knows after some observations: all that later decisions depend on.

    vectors float32 [M, D], unit rows, one for each active reference; rows int64 [M], the
    observation behind each; slots int32 [K, references], the places in `vectors` of each entity's
    references (-1: unfilled); counts int64 [K], observations with an embedding that each entity
    has been assigned; observations, how many have been seen. An entity without references (its
    only observation has no embedding) stays as it is.
    """

    rule: Rule
    observations: int
    vectors: NDArray[np.float32]
    rows: NDArray[np.int64]
    slots: NDArray[np.int32]
    counts: NDArray[np.int64]

    @property
    def entities(self) -> int:
        """Number of entities so far, K."""
        return len(self.counts)

    @classmethod
    def start(cls, rule: Rule) -> Self:
        """The state before the first observation."""
        return cls(
            rule=rule,
            observations=0,
            vectors=np.empty((0, 0), np.float32),
            rows=np.empty(0, np.int64),
            slots=np.empty((0, rule.references), np.int32),
            counts=np.empty(0, np.int64),
        )

    @classmethod
    def rebuilt(
        cls,
        rule: Rule,
        entity: ArrayLike,
        embedded: ArrayLike,
        read: Callable[[NDArray[np.int64]], NDArray[np.float32]],
    ) -> Self:
        """The state after observations whose entities are known, without deciding anything again.

        Args:
            rule: the rule they were decided by.
            entity: entity of each observation, int [N], in temporal order.
            embedded: whether each observation has an embedding, bool [N].
            read: gives the unit vectors, float32 [n, D], of the observations asked for; only active
                references are asked for.
        """
        members = np.asarray(entity, dtype=np.int64)
        usable = np.flatnonzero(np.asarray(embedded, dtype=bool))
        total = int(members.max()) + 1 if len(members) else 0
        counts = np.bincount(members[usable], minlength=total).astype(np.int64)
        order = usable[np.argsort(members[usable], kind="stable")]
        owner = members[order]
        place = np.arange(len(order)) - (np.cumsum(counts) - counts)[owner]
        active = place >= counts[owner] - rule.references
        owner, place, rows = owner[active], place[active], order[active]
        slots = np.full((total, rule.references), -1, np.int32)
        slots[owner, place % rule.references] = np.arange(len(rows), dtype=np.int32)
        vectors = np.asarray(read(rows), dtype=np.float32)
        return cls(rule, len(members), vectors, rows, slots, counts)

    def to_bytes(self) -> bytes:
        """The state as the bytes of an npz archive, for a checkpoint."""
        arrays = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "rule"}
        rule = {f.name: getattr(self.rule, f.name) for f in fields(self.rule)}
        return _npz_bytes({**arrays, **rule})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The state that `to_bytes` wrote."""
        stored = _npz_arrays(data)
        rule = Rule(
            theta_cons=float(stored.pop("theta_cons")),
            theta_match=float(stored.pop("theta_match")),
            references=int(stored.pop("references")),
        )
        return cls(rule=rule, observations=int(stored.pop("observations")), **stored)


@dataclass(frozen=True)
class Explanation:
    """Why each of n observations went where it did; every field is an array [n].

    row int64, the observation (its place in the recording's order); entity int64; then the
    similarities to the entity's references when it joined (float32, NaN where it started the
    entity): min_similarity, mean_similarity, max_similarity; closest and farthest int64, the
    observations behind max and min (-1: none); anchored bool, the entity held an anchored
    reference. runner_up int64, the other candidate with the highest mean similarity, or, if there
    was no other candidate, the entity of the closest other reference from theta_cons on (-1:
    none); runner_up_* as above; reason int8, why it lost: an index into REASONS, the first that
    holds of "below theta_cons", "separated", "lower mean" ("no match": it was no candidate).
    vetoes int32, candidates refused by separation alone.
    """

    row: NDArray[np.int64]
    entity: NDArray[np.int64]
    min_similarity: NDArray[np.float32]
    mean_similarity: NDArray[np.float32]
    max_similarity: NDArray[np.float32]
    closest: NDArray[np.int64]
    farthest: NDArray[np.int64]
    anchored: NDArray[np.bool_]
    runner_up: NDArray[np.int64]
    runner_up_min: NDArray[np.float32]
    runner_up_mean: NDArray[np.float32]
    runner_up_max: NDArray[np.float32]
    runner_up_closest: NDArray[np.int64]
    runner_up_farthest: NDArray[np.int64]
    reason: NDArray[np.int8]
    vetoes: NDArray[np.int32]

    @classmethod
    def empty(cls, first: int, count: int) -> Self:
        """Room for `count` observations from row `first` on, nothing known of them yet."""

        def none() -> NDArray[np.int64]:
            return np.full(count, -1, np.int64)

        def unknown() -> NDArray[np.float32]:
            return np.full(count, np.nan, np.float32)

        return cls(
            row=np.arange(first, first + count, dtype=np.int64),
            entity=none(),
            min_similarity=unknown(),
            mean_similarity=unknown(),
            max_similarity=unknown(),
            closest=none(),
            farthest=none(),
            anchored=np.zeros(count, np.bool_),
            runner_up=none(),
            runner_up_min=unknown(),
            runner_up_mean=unknown(),
            runner_up_max=unknown(),
            runner_up_closest=none(),
            runner_up_farthest=none(),
            reason=np.zeros(count, np.int8),
            vetoes=np.zeros(count, np.int32),
        )

    @classmethod
    def concatenated(cls, parts: Iterable[Explanation]) -> Self:
        """The explanations of successive blocks as one."""
        blocks = [*parts] or [cls.empty(0, 0)]
        return cls(
            **{f.name: np.concatenate([getattr(b, f.name) for b in blocks]) for f in fields(cls)}
        )

    @property
    def why(self) -> list[Reason]:
        """The reason of each observation in words ("": there was no runner-up)."""
        return [REASONS[code] for code in self.reason.tolist()]

    def to_bytes(self) -> bytes:
        """The explanation as the bytes of an npz archive, for a checkpoint."""
        return _npz_bytes({f.name: getattr(self, f.name) for f in fields(self)})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The explanation that `to_bytes` wrote."""
        return cls(**_npz_arrays(data))


@dataclass(frozen=True)
class CloseCall:
    """One decision near a threshold: the pair of observations whose similarity settled it."""

    threshold: Literal["theta_match", "theta_cons"]
    observation: int
    reference: int
    similarity: float
    accepted: bool


def close_calls(explanation: Explanation, rule: Rule, *, limit: int = 32) -> list[CloseCall]:
    """The decisions nearest each threshold: up to `limit` accepted and `limit` refused of each.

    At theta_match the pair is the observation and its closest reference, at theta_cons its
    farthest one, in the entity that it joined or in a runner-up that this very threshold refused.
    """
    e = explanation
    # An anchored observation may join below theta_match: no similarity settled that.
    joined = ~np.isnan(e.max_similarity)
    matched = joined & ~(e.anchored & (e.max_similarity < rule.theta_match))
    no_match = e.reason == _NO_MATCH
    below = e.reason == _BELOW_CONS
    match, cons = rule.theta_match, rule.theta_cons
    groups: list[
        tuple[
            Literal["theta_match", "theta_cons"],
            float,
            bool,
            NDArray[np.bool_],
            NDArray[np.int64],
            NDArray[np.float32],
        ]
    ] = [
        ("theta_match", match, True, matched, e.closest, e.max_similarity),
        ("theta_match", match, False, no_match, e.runner_up_closest, e.runner_up_max),
        ("theta_cons", cons, True, joined, e.farthest, e.min_similarity),
        ("theta_cons", cons, False, below, e.runner_up_farthest, e.runner_up_min),
    ]
    calls: list[CloseCall] = []
    for threshold, theta, accepted, concerned, reference, similarity in groups:
        at = np.flatnonzero(concerned)
        nearest = at[np.argsort(np.abs(similarity[at] - theta), kind="stable")[:limit]]
        calls += [
            CloseCall(
                threshold,
                int(e.row[i]),
                int(reference[i]),
                float(similarity[i]),
                accepted,
            )
            for i in nearest
        ]
    return calls


def associate(
    vectors: NDArray[np.float32],
    *,
    clip: ArrayLike,
    separated: ArrayLike,
    anchors: ArrayLike,
    theta_cons: float,
    theta_match: float,
    references: int = 10,
) -> NDArray[np.int64]:
    """Entity of each observation by Equation 3: int64 [N], ids 0..K-1 by first appearance.

    Args:
        vectors: float32 [N, D], unit rows in temporal order; a row of NaN has no embedding: it
            starts an entity and is never a reference.
        clip: clip of each observation, int [N].
        separated: pairs of rows with D_ij = 1, int [P, 2].
        anchors: pairs of rows (earlier, later) whose boxes stay in place across a cut, int [P, 2].
        theta_cons, theta_match: the two thresholds, cosine similarities.
        references: size limit of M_k.

    Raises:
        ValueError: see `extend`.
    """
    state = AssociationState.start(Rule(theta_cons, theta_match, references))
    _, explanation = extend(state, vectors, clip=clip, separated=separated, anchors=anchors)
    return explanation.entity


def extend(
    state: AssociationState,
    vectors: NDArray[np.float32],
    *,
    clip: ArrayLike,
    separated: ArrayLike,
    anchors: ArrayLike,
    block_rows: int = 256,
) -> tuple[AssociationState, Explanation]:
    """Associate the next observations: the new state, and why each went where it did.

    Decisions are those of one pass over everything, however the observations are cut into calls.
    The state given is left as it is.

    Args:
        state: what is known of the observations before these.
        vectors, clip: of the new observations, as in `associate`.
        separated, anchors: pairs of rows as in `associate`, counted from the first observation of
            the recording (the first of `vectors` is row `state.observations`); pairs whose later
            row was decided before are passed over.
        block_rows: observations a matrix product takes at once (whole clips where they fit).
            Decides speed and memory only.

    Raises:
        ValueError: shapes that do not fit each other or the state, rows that are not unit vectors,
            or a pair that names a row which does not exist.
    """
    incoming = np.asarray(vectors, dtype=np.float32)
    clips = np.asarray(clip)
    if incoming.ndim != 2 or clips.shape != (len(incoming),):
        raise ValueError(f"vectors {incoming.shape} and clip {clips.shape} must be [N, D] and [N]")
    if len(state.vectors) and len(incoming) and state.vectors.shape[1] != incoming.shape[1]:
        raise ValueError(
            f"vectors have {incoming.shape[1]} dimensions, "
            f"those before them {state.vectors.shape[1]}"
        )
    if len(incoming) == 0:
        return state, Explanation.empty(state.observations, 0)
    end = state.observations + len(incoming)
    memory = _Memory(
        state,
        incoming=len(incoming),
        dim=incoming.shape[1],
        apart=_partners(separated, first=state.observations, end=end),
        in_place=_partners(anchors, first=state.observations, end=end),
    )
    explanation = Explanation.empty(state.observations, len(incoming))
    for start, stop in _blocks(clips, block_rows):
        memory.take(incoming[start:stop], explanation, start)
    return memory.state(), explanation


class _Memory:
    """The growing arrays behind one call of `extend`.

    Active references lie in one pool without holes: an entity's new reference takes the place of
    the one it pushes out, so a pool row is only ever added or replaced.
    """

    def __init__(
        self,
        state: AssociationState,
        *,
        incoming: int,
        dim: int,
        apart: dict[int, list[int]],
        in_place: dict[int, list[int]],
    ) -> None:
        rule = state.rule
        self.rule = rule
        self.apart = apart
        self.in_place = in_place
        self.first = state.observations
        self.observations = state.observations + incoming
        self.size = size = len(state.rows)
        self.entities = entities = state.entities
        # Room for every newcomer; pages that stay unused are never touched.
        self.pool = np.empty((size + incoming, dim), np.float32)
        if size:
            self.pool[:size] = state.vectors
        self.rows = np.empty(size + incoming, np.int64)
        self.rows[:size] = state.rows
        self.slots = np.full((entities + incoming, rule.references), -1, np.int32)
        self.slots[:entities] = state.slots
        self.counts = np.zeros(entities + incoming, np.int64)
        self.counts[:entities] = state.counts
        self.owner = np.empty(size + incoming, np.int64)
        holder, place = np.nonzero(state.slots >= 0)
        self.owner[state.slots[holder, place]] = holder
        self.slot_of: dict[int, int] = dict(zip(state.rows.tolist(), range(size), strict=True))
        self.buffer = np.empty(0, np.float32)

    def state(self) -> AssociationState:
        return AssociationState(
            rule=self.rule,
            observations=self.observations,
            vectors=self.pool[: self.size],
            rows=self.rows[: self.size],
            slots=self.slots[: self.entities],
            counts=self.counts[: self.entities],
        )

    def take(self, block: NDArray[np.float32], out: Explanation, start: int) -> None:
        """Decide the observations of `block`, the first of which is place `start` of `out`."""
        missing: NDArray[np.bool_] = np.any(np.isnan(block), axis=1)
        if missing.any():
            block = np.where(missing[:, None], np.float32(0.0), block)
        norms = np.sqrt(np.einsum("nd,nd->n", block, block))
        if not np.all(missing | (np.abs(norms - 1.0) < 1e-2)):
            wrong = self.first + start + int(np.argmax(~missing & ~(np.abs(norms - 1.0) < 1e-2)))
            raise ValueError(f"the vector of observation {wrong} is not a unit vector")
        # Similarities to the pool as it is now, with room for the references that the block itself
        # adds; those are copied from `within` as they come.
        n, width = len(block), self.size + len(block)
        if self.buffer.size < n * width:
            self.buffer = np.empty(n * width * 5 // 4, np.float32)
        similar = self.buffer[: n * width].reshape(n, width)
        np.matmul(block, self.pool[: self.size].T, out=similar[:, : self.size])
        within = block @ block.T
        for i in range(n):
            at = start + i
            if missing[i]:
                out.entity[at] = self.entities
                self.entities += 1
                continue
            joined = self._decide(self.first + at, similar[i, : self.size], block[i], out, at)
            slot = self._assign(joined, self.first + at, block[i])
            similar[i + 1 :, slot] = within[i, i + 1 :]

    def _assign(self, joined: int, row: int, vector: NDArray[np.float32]) -> int:
        """Make an observation the newest reference of `joined` (-1: a new entity); its slot."""
        entity = joined
        if entity < 0:
            entity = self.entities
            self.entities += 1
        count = int(self.counts[entity])
        place = count % self.rule.references
        slot = int(self.slots[entity, place])
        if slot < 0:
            slot = self.size
            self.size += 1
            self.slots[entity, place] = slot
            self.owner[slot] = entity
        else:
            del self.slot_of[int(self.rows[slot])]
        self.pool[slot] = vector
        self.rows[slot] = row
        self.slot_of[row] = slot
        self.counts[entity] = count + 1
        return slot

    def _decide(
        self,
        row: int,
        similar: NDArray[np.float32],
        vector: NDArray[np.float32],
        out: Explanation,
        at: int,
    ) -> int:
        """Equation 3 for one observation: writes why, returns the entity it joins (-1: none)."""
        match, cons = self.rule.theta_match, self.rule.theta_cons
        v = vector.astype(np.float64)
        anchored = self._holders(self.in_place.get(row))
        found = anchored.union(self.owner[np.flatnonzero(similar >= match - MARGIN)].tolist())
        joined = runner_up = -1
        reason = 0
        if found:
            order = sorted(found)
            ids = np.array(order)
            slots = self.slots[ids]
            filled = slots >= 0
            s = similar[slots].astype(np.float64)
            near = filled & ((np.abs(s - match) <= MARGIN) | (np.abs(s - cons) <= MARGIN))
            if near.any():
                s[near] = self._similarities(slots[near], v)
            mean = s.sum(axis=1, where=filled) / filled.sum(axis=1)
            candidate = s.max(axis=1, where=filled, initial=-np.inf) >= match - ROUNDING
            consistent = s.min(axis=1, where=filled, initial=np.inf) >= cons - ROUNDING
            if anchored:
                candidate |= np.array([k in anchored for k in order])
            accepted = candidate & consistent
            parted = self._holders(self.apart.get(row))
            if parted:
                vetoed = accepted & np.array([k in parted for k in order])
                out.vetoes[at] = np.count_nonzero(vetoed)
                accepted ^= vetoed
            joined = self._best(ids[accepted], mean[accepted], v)
            others = candidate & (ids != joined)
            runner_up = self._best(ids[others], mean[others], v)
            if runner_up >= 0:
                if not consistent[order.index(runner_up)]:
                    reason = _BELOW_CONS
                else:
                    reason = _SEPARATED if runner_up in parted else _LOWER_MEAN
        if runner_up < 0:
            runner_up = self._closest(similar, v, besides=joined)
            reason = _NO_MATCH if runner_up >= 0 else 0

        out.entity[at] = joined if joined >= 0 else self.entities
        if joined >= 0:
            out.anchored[at] = joined in anchored
            evidence = self._evidence(joined, v)
            out.min_similarity[at] = evidence.min
            out.mean_similarity[at] = evidence.mean
            out.max_similarity[at] = evidence.max
            out.closest[at] = evidence.closest
            out.farthest[at] = evidence.farthest
        if runner_up >= 0:
            evidence = self._evidence(runner_up, v)
            out.runner_up[at] = runner_up
            out.runner_up_min[at] = evidence.min
            out.runner_up_mean[at] = evidence.mean
            out.runner_up_max[at] = evidence.max
            out.runner_up_closest[at] = evidence.closest
            out.runner_up_farthest[at] = evidence.farthest
            out.reason[at] = reason
        return joined

    def _holders(self, rows: list[int] | None) -> set[int]:
        """Entities that hold one of these observations among their active references."""
        slots = [self.slot_of[row] for row in rows or () if row in self.slot_of]
        return set(self.owner[slots].tolist()) if slots else set()

    def _similarities(
        self, slots: NDArray[np.integer], v: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Float64 similarities to some references, each by itself: no blocking to depend on."""
        similar: NDArray[np.float64] = np.einsum("rd,d->r", self.pool[slots].astype(float), v)
        return similar

    def _references(self, entity: int) -> NDArray[np.int32]:
        """The slots of M_k."""
        return self.slots[entity, : min(int(self.counts[entity]), self.rule.references)]

    def _best(
        self, ids: NDArray[np.int64], mean: NDArray[np.float64], v: NDArray[np.float64]
    ) -> int:
        """The entity of the highest mean similarity, of equals the smallest (-1: no ids)."""
        if ids.size == 0:
            return -1
        close = ids[mean >= mean.max() - 2 * MARGIN]
        if close.size == 1:
            return int(close[0])
        means = [float(self._similarities(self._references(k), v).mean()) for k in close.tolist()]
        top = max(means)
        return int(next(k for k, m in zip(close, means, strict=True) if m >= top - ROUNDING))

    def _closest(self, similar: NDArray[np.float32], v: NDArray[np.float64], besides: int) -> int:
        """The entity, not `besides`, of the closest reference from theta_cons on (-1: none)."""
        if besides >= 0:
            similar[self._references(besides)] = -np.inf
        if similar.size == 0:
            return -1
        top = float(similar.max())
        if top < self.rule.theta_cons - MARGIN:
            return -1
        near = np.flatnonzero(similar >= top - 2 * MARGIN)
        s = self._similarities(near, v)
        if s.max() < self.rule.theta_cons - ROUNDING:
            return -1
        return int(self.owner[near[s >= s.max() - ROUNDING]].min())

    def _evidence(self, entity: int, v: NDArray[np.float64]) -> _Evidence:
        slots = self._references(entity)
        s = self._similarities(slots, v)
        low, high = int(s.argmin()), int(s.argmax())
        return _Evidence(
            min=float(s[low]),
            mean=float(s.sum()) / len(s),
            max=float(s[high]),
            closest=int(self.rows[slots[high]]),
            farthest=int(self.rows[slots[low]]),
        )


class _Evidence(NamedTuple):
    """Similarities of one observation to M_k, and the observations behind max and min."""

    min: float
    mean: float
    max: float
    closest: int
    farthest: int


def _blocks(clip: NDArray[Any], rows: int) -> Iterator[tuple[int, int]]:
    """Spans of up to `rows` observations that end with a clip where they can."""
    ends = [*(np.flatnonzero(clip[1:] != clip[:-1]) + 1).tolist(), len(clip)]
    start = 0
    for end, after in zip(ends, [*ends[1:], None], strict=True):
        if after is not None and after - start <= rows:
            continue
        while start < end:
            stop = min(start + rows, end)
            yield start, stop
            start = stop


def _partners(pairs: ArrayLike, *, first: int, end: int) -> dict[int, list[int]]:
    """Earlier rows by later row, for the pairs whose later row lies in [first, end)."""
    rows = np.sort(np.asarray(pairs, dtype=np.int64).reshape(-1, 2), axis=1)
    if rows.size and (rows.min() < 0 or rows.max() >= end or np.any(rows[:, 0] == rows[:, 1])):
        raise ValueError(f"pairs must name two different observations from 0 to {end - 1}")
    partners: dict[int, list[int]] = {}
    for earlier, later in rows[rows[:, 1] >= first].tolist():
        partners.setdefault(later, []).append(earlier)
    return partners


def _npz_bytes(arrays: dict[str, Any]) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def _npz_arrays(data: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}
