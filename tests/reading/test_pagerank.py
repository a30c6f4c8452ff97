from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from geb_assets.reading.pagerank import personalized_pagerank, personalized_pagerank_batch

igraph = pytest.importorskip("igraph", reason="python-igraph is in the dev extra")


def random_graph(rng: np.random.Generator, nodes: int, edges: int) -> sparse.csr_array:
    """Symmetric weights without loops; some nodes stay without an edge."""
    reach = max(1, int(nodes * rng.uniform(0.5, 1.0)))
    pairs = rng.integers(0, reach, (edges, 2))
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    pairs = np.unique(np.stack([low, high], axis=1)[low < high], axis=0)
    weights = rng.choice([0.3, 0.5, 0.8, 1.0], len(pairs))
    both = np.concatenate([pairs, pairs[:, ::-1]])
    return sparse.csr_array(
        (np.tile(weights, 2), (both[:, 0], both[:, 1])), shape=(nodes, nodes), dtype=np.float64
    )


def by_prpack(
    adjacency: sparse.csr_array, seeds: np.ndarray, visible: np.ndarray, damping: float = 0.85
) -> np.ndarray:
    kept = np.flatnonzero(visible)
    upper = sparse.coo_array(sparse.triu(adjacency[kept][:, kept]))
    graph = igraph.Graph(n=len(kept), edges=np.stack([upper.row, upper.col], axis=1).tolist())
    found = np.zeros(len(seeds))
    found[kept] = graph.personalized_pagerank(
        directed=False,
        damping=damping,
        weights=upper.data.tolist(),
        reset=seeds[kept].tolist(),
        implementation="prpack",
    )
    return found


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), damping=st.sampled_from([0.5, 0.85, 0.95]))
def test_it_agrees_with_prpack(seed: int, damping: float) -> None:
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(2, 120))
    graph = random_graph(rng, nodes, int(rng.integers(0, 4 * nodes)))
    visible = rng.random(nodes) < rng.uniform(0.3, 1.0)
    seeds = np.where(rng.random(nodes) < 0.2, rng.random(nodes), 0.0)
    visible[rng.integers(nodes)] = True
    if not (seeds * visible).any():
        seeds[np.flatnonzero(visible)[0]] = 1.0
    found = personalized_pagerank(graph, seeds, visible=visible, damping=damping)
    assert abs(found.sum() - 1.0) < 1e-12
    assert (found[~visible] == 0).all() and (found >= 0).all()
    assert np.abs(found - by_prpack(graph, seeds, visible, damping)).sum() < 1e-5


def test_an_isolated_seed_keeps_its_share() -> None:
    graph = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]], np.float64))
    seeds = np.array([1.0, 0.0, 3.0])
    found = personalized_pagerank(graph, seeds)
    assert np.abs(found - by_prpack(graph, seeds, np.ones(3, bool))).sum() < 1e-5
    alone = personalized_pagerank(graph, np.array([0.0, 0.0, 1.0]))
    assert alone.tolist() == [0.0, 0.0, 1.0]


def test_a_masked_graph_is_the_extracted_graph() -> None:
    rng = np.random.default_rng(5)
    graph = random_graph(rng, 300, 900)
    seeds = np.where(rng.random(300) < 0.05, 1.0, 0.0)
    visible = rng.random(300) < 0.6
    kept = np.flatnonzero(visible)
    masked = personalized_pagerank(graph, seeds, visible=visible)
    extracted = personalized_pagerank(graph[kept][:, kept], seeds[kept])
    assert np.abs(masked[kept] - extracted).max() < 1e-15
    assert np.array_equal(masked > 0, np.isin(np.arange(300), kept[extracted > 0]))


@pytest.mark.parametrize("own_masks", [False, True])
def test_a_batch_gives_each_question_its_own_answer(own_masks: bool) -> None:
    rng = np.random.default_rng(11)
    graph = random_graph(rng, 200, 700)
    seeds = np.where(rng.random((200, 5)) < 0.05, rng.random((200, 5)), 0.0)
    masks = rng.random((200, 5) if own_masks else 200) < 0.7
    together = personalized_pagerank_batch(graph, seeds, visible=masks)
    for question in range(5):
        visible = masks[:, question] if own_masks else masks
        alone = personalized_pagerank(graph, seeds[:, question], visible=visible)
        assert np.abs(together[:, question] - alone).sum() < 4e-6


def test_no_seed_left_means_every_visible_node() -> None:
    rng = np.random.default_rng(3)
    graph = random_graph(rng, 50, 120)
    visible = rng.random(50) < 0.5
    unseen = np.where(visible, 0.0, 1.0)
    assert np.array_equal(
        personalized_pagerank(graph, unseen, visible=visible),
        personalized_pagerank(graph, visible.astype(np.float64), visible=visible),
    )
    assert not personalized_pagerank(graph, unseen, visible=np.zeros(50, bool)).any()


def test_bad_seeds_are_refused() -> None:
    graph = sparse.csr_array(np.zeros((3, 3)))
    for seeds in (np.array([1.0, -1.0, 0.0]), np.array([np.nan, 1.0, 0.0]), np.ones(2)):
        with pytest.raises(ValueError):
            personalized_pagerank(graph, seeds)


def test_iterations_are_limited() -> None:
    rng = np.random.default_rng(1)
    graph = random_graph(rng, 100, 300)
    seeds = np.eye(1, 100)[0]
    rough = personalized_pagerank(graph, seeds, max_iter=2)
    assert abs(rough.sum() - 1.0) < 1e-12
    assert np.abs(rough - personalized_pagerank(graph, seeds)).sum() > 1e-3
