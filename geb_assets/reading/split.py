"""PageRank of a graph most of whose nodes are leaves: solved for the others alone.

Leaves have no edges among each other, as observations have none. With x = (x_R, x_L) the rest and
the leaves, W the weights between them, D degrees and p the seeds, the leaves follow from the rest,
x_L = p_L + d W_LR D_R^-1 x_R, and the rest solves a system of its own,
(D_R - d W_RR - d^2 W_RL D_L^-1 W_LR) z = p_R + d W_RL D_L^-1 p_L with x_R = D_R z. It is symmetric
and better conditioned than the whole, so that conjugate gradients need half the steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from geb_assets.reading.pagerank import first_rows, residual_of, restart_of

Real = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SplitGraph:
    """Symmetric weights in blocks; nodes lie in the order in which they become visible."""

    rest: Places
    """Node of each row of the rest, ascending."""
    leaves: Places
    """Node of each row of the leaves, ascending."""
    rest_rest: sparse.csr_array
    rest_leaves: sparse.csr_array
    leaves_rest: sparse.csr_array


def split_pagerank(
    graph: SplitGraph,
    seeds: Real,
    *,
    visible: int,
    damping: float = 0.85,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> Real:
    """:func:`pagerank.personalized_pagerank` of the first ``visible`` nodes of a split graph.

    ``seeds``: float64 [N] >= 0. Returns float64 [N], to the same tolerance.
    """
    result = np.zeros(len(seeds))
    if not visible:
        return result
    rest, leaves = (
        places[: np.searchsorted(places, visible)] for places in (graph.rest, graph.leaves)
    )
    # Columns of what is not visible meet zeros, so that no block is cut.
    rest_in, leaves_in = np.zeros(len(graph.rest)), np.zeros(len(graph.leaves))
    inner, outer, inward = (
        first_rows(graph.rest_rest, len(rest)),
        first_rows(graph.rest_leaves, len(rest)),
        first_rows(graph.leaves_rest, len(leaves)),
    )
    rest_in[: len(rest)] = 1.0
    leaves_in[: len(leaves)] = 1.0
    degree = inner @ rest_in + outer @ leaves_in
    leaf_degree = inward @ rest_in
    inverse, leaf_inverse = _inverse(degree), _inverse(leaf_degree)

    start = restart_of(seeds[:visible], np.ones(visible))
    linked = np.zeros(visible, bool)
    linked[rest] = degree > 0
    linked[leaves] = leaf_degree > 0
    wanted = np.where(linked, start, 0.0)
    enough = residual_of(wanted, tol, damping)

    leaf_wanted = wanted[leaves]
    leaves_in[: len(leaves)] = leaf_wanted * leaf_inverse
    right = wanted[rest] + damping * (outer @ leaves_in)
    solution = np.zeros(len(rest))
    residual = right
    direction = step = residual * inverse
    weight = float((residual * step).sum())
    for _ in range(max_iter):
        if float(np.abs(residual).sum()) <= enough:
            break
        rest_in[: len(rest)] = direction
        np.multiply(inward @ rest_in, leaf_inverse, out=leaves_in[: len(leaves)])
        image = degree * direction
        image -= damping * (inner @ rest_in)
        image -= damping * damping * (outer @ leaves_in)
        length = weight / float((direction * image).sum())
        solution = solution + length * direction
        residual = residual - length * image
        step = residual * inverse
        weight, before = float((residual * step).sum()), weight
        direction = step + (weight / before) * direction

    rest_in[: len(rest)] = solution
    # Nodes without edges stand alone: what they hold is their seed.
    result[:visible] = start - wanted
    result[rest] += degree * solution
    result[leaves] += leaf_wanted + damping * (inward @ rest_in)
    np.maximum(result, 0.0, out=result)
    return np.asarray(result / result.sum())


def _inverse(degree: Real) -> Real:
    return np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)
