from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from geb_assets.reading.pagerank import personalized_pagerank
from geb_assets.reading.split import SplitGraph, split_pagerank


@settings(deadline=None, max_examples=80)
@given(seed=st.integers(0, 2**32 - 1), damping=st.sampled_from([0.0, 0.5, 0.85, 0.95]))
def test_a_split_graph_has_the_pagerank_of_the_whole(seed: int, damping: float) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 90))
    leaf = rng.random(count) < rng.random()
    upper = np.triu(rng.random((count, count)) < 3.0 / count, 1) * rng.choice([0.5, 0.8, 1.0])
    upper[np.ix_(leaf, leaf)] = 0.0
    whole = sparse.csr_array(upper + upper.T)
    rest, leaves = np.flatnonzero(~leaf), np.flatnonzero(leaf)
    graph = SplitGraph(
        rest,
        leaves,
        *(sparse.csr_array(whole[one][:, two]) for one, two in
          ((rest, rest), (rest, leaves), (leaves, rest))),
    )  # fmt: skip
    seeds = np.where(rng.random(count) < 0.2, rng.random(count), 0.0)
    visible = int(rng.integers(0, count + 1))
    mask = np.arange(count) < visible
    expected = personalized_pagerank(whole, seeds, visible=mask, damping=damping, tol=1e-9)
    found = split_pagerank(graph, seeds, visible=visible, damping=damping)
    assert np.abs(found - expected).sum() < 3e-6
    assert (found >= 0).all() and not found[visible:].any()
