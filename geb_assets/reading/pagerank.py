"""Personalized PageRank over what is visible (paper 3.4; spec 1.5, 9.29, 9.30).

With W the visible weights, D their row sums and p the seeds, the stationary vector is, up to its
sum, the solution of (I - d W D^-1) x = p: mass that reaches a node without edges goes back to the
seeds, which only rescales p. The matrix is similar to a symmetric one whose eigenvalues lie in
[1 - d, 1 + d], so Chebyshev's iteration solves it with one product and no inner product a step, in
well under half the steps of the power iteration (d = 0.85: a factor 0.56 a step against 0.85).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Real = NDArray[np.float64]


def personalized_pagerank(
    adjacency: sparse.csr_array,
    seeds: Real,
    *,
    visible: NDArray[np.bool_] | None = None,
    damping: float = 0.85,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> Real:
    """PageRank of the subgraph of the visible nodes, restarting at the seeds.

    ``adjacency``: symmetric CSR [N, N] of weights >= 0. ``seeds``: float64 [N] >= 0, any sum; seeds
    on nodes that are not visible count for nothing, and where no seed is left every visible node is
    one. ``visible``: bool [N], all by default. Degrees are those of the subgraph; its nodes without
    edges send their mass to the seeds. ``tol`` bounds the L1 residual, and twice that the L1 error.

    Returns float64 [N] that sums to 1 and is 0 on what is not visible (zeros where nothing is).
    Raises ValueError for seeds that are negative, not finite, or of another length.
    """
    return _pagerank(adjacency, seeds, visible, damping, tol, max_iter, dimensions=1)


def personalized_pagerank_batch(
    adjacency: sparse.csr_array,
    seeds: Real,
    *,
    visible: NDArray[np.bool_] | None = None,
    damping: float = 0.85,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> Real:
    """:func:`personalized_pagerank` of Q questions at once.

    ``seeds``: float64 [N, Q]; ``visible``: bool [N] for all, or [N, Q] for each its own.
    Returns float64 [N, Q], each column as the single call gives it, to ``tol``.
    """
    return _pagerank(adjacency, seeds, visible, damping, tol, max_iter, dimensions=2)


def _pagerank(
    adjacency: sparse.csr_array,
    seeds: Real,
    visible: NDArray[np.bool_] | None,
    damping: float,
    tol: float,
    max_iter: int,
    *,
    dimensions: int,
) -> Real:
    seeds = np.asarray(seeds, np.float64)
    if seeds.ndim != dimensions or seeds.shape[0] != adjacency.shape[0]:
        raise ValueError(f"seeds of shape {seeds.shape} for {adjacency.shape[0]} nodes")
    if not np.isfinite(seeds).all() or (seeds < 0).any():
        raise ValueError("seeds have to be finite and not negative")
    result = np.zeros(seeds.shape)
    mask = np.ones(seeds.shape[0], bool) if visible is None else np.asarray(visible, bool)
    if dimensions == 2 and mask.ndim == 1:
        mask = mask[:, None]
    seen = np.flatnonzero(mask if mask.ndim == 1 else mask.any(axis=1))
    if not len(seen):
        return result
    # Rows after the last visible node are never needed; leaving them out copies nothing.
    count = int(seen[-1]) + 1
    rows = first_rows(adjacency, count)
    shown = mask[:count].astype(np.float64)
    padded = np.zeros((seeds.shape[0], *seeds.shape[1:]))
    padded[:count] = shown
    degree = (rows @ padded) * shown
    linked = degree > 0
    inverse = np.divide(1.0, degree, out=np.zeros_like(degree), where=linked)

    restart = restart_of(seeds[:count], shown)
    # Nodes without edges stand alone: what they hold is their seed.
    wanted = np.where(linked, restart, 0.0)
    enough = residual_of(wanted, tol, damping)
    solution = _chebyshev(
        rows, padded, inverse, linked * damping, wanted, damping, enough, max_iter
    )
    solution += restart - wanted
    # Rounding may leave a hair below zero.
    np.maximum(solution, 0.0, out=solution)
    total = solution.sum(axis=0)
    result[:count] = np.divide(solution, total, out=solution, where=total > 0)
    return result


def first_rows(adjacency: sparse.csr_array, count: int) -> sparse.csr_array:
    """The first rows of a CSR matrix, sharing its memory."""
    if count == adjacency.shape[0]:
        return adjacency
    stop = int(adjacency.indptr[count])
    parts = adjacency.data[:stop], adjacency.indices[:stop], adjacency.indptr[: count + 1]
    return sparse.csr_array(parts, shape=(count, adjacency.shape[1]), copy=False)


def restart_of(seeds: Real, shown: Real) -> Real:
    """Seeds on visible nodes, at sum 1; every visible node alike where none is left."""
    kept = seeds * shown
    total = kept.sum(axis=0)
    if not (total > 0).all():
        kept = np.asarray(np.where(total > 0, kept, np.broadcast_to(shown, kept.shape)))
        total = kept.sum(axis=0)
    return np.asarray(np.divide(kept, total, out=np.zeros_like(kept), where=total > 0))


def residual_of(wanted: Real, tol: float, damping: float) -> float:
    """The L1 residual that leaves a relative L1 error of ``tol`` in the solution.

    ``wanted``: the seeds on nodes with edges. Of s among these s / (1 - d) comes to stay, of seeds
    elsewhere they themselves; a residual leaves at most 1 / (1 - d) of itself.
    """
    share = float(np.min(wanted.sum(axis=0), initial=1.0))
    return tol * (share + (1.0 - share) * (1.0 - damping))


def _chebyshev(
    rows: sparse.csr_array,
    padded: Real,
    inverse: Real,
    damped: Real,
    wanted: Real,
    damping: float,
    enough: float,
    max_iter: int,
) -> Real:
    """x with x = damped * (W D^-1 x) + wanted, to an L1 residual of ``enough``.

    ``padded`` is scratch of all nodes; only its first rows are written, the rest stays zero.
    """
    count = wanted.shape[0]
    padded[:] = 0.0
    quarter = damping * damping / 4.0
    before: Any = np.zeros_like(wanted)
    now = wanted.copy()
    omega = 1.0 / (1.0 - 2.0 * quarter)
    rate = damping / (1.0 + math.sqrt(1.0 - damping * damping))
    look = 1
    for step in range(1, max_iter + 1):
        np.multiply(now, inverse, out=padded[:count])
        after = rows @ padded
        after *= damped
        after += wanted
        if step == look:
            residual = _largest_l1(after, now)
            if residual <= enough:
                return np.asarray(after)
            # Looking costs a fifth of a step: not before most of what is missing can be gained.
            missing = math.log(enough / residual) / math.log(rate) if rate > 0 else 1.0
            look = step + max(1, int(0.7 * missing))
        after -= before
        after *= omega
        after += before
        before, now = now, after
        omega = 1.0 / (1.0 - omega * quarter)
    return np.asarray(now)


def _largest_l1(one: Real, other: Real) -> float:
    difference = one - other
    np.abs(difference, out=difference)
    return float(np.max(difference.sum(axis=0), initial=0.0))
