from __future__ import annotations

import time
from typing import Any

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from geb_assets.parameters import Graph
from geb_assets.tables import TABLES
from geb_assets.writing.graph.build import build_graph
from geb_assets.writing.graph.containment import contained_pairs
from geb_assets.writing.graph.temporal import temporal_edges

Span = tuple[float, float]
SPANS = st.lists(
    st.tuples(st.integers(0, 120), st.integers(0, 40)).map(
        lambda span: (span[0] / 2, (span[0] + span[1]) / 2)
    ),
    max_size=15,
)


def columns(spans: list[Span]) -> tuple[np.ndarray, np.ndarray]:
    pair = np.array(spans, dtype=np.float64).reshape(-1, 2)
    return pair[:, 0], pair[:, 1]


@settings(deadline=None)
@given(outer=SPANS, inner=SPANS)
def test_containment_is_inclusion_of_both_ends(outer: list[Span], inner: list[Span]) -> None:
    expected = {
        (o, i)
        for o, (outer_start, outer_end) in enumerate(outer)
        for i, (start, end) in enumerate(inner)
        if start >= outer_start and end <= outer_end
    }
    pairs = contained_pairs(*columns(outer), *columns(inner))
    assert len(pairs) == len(expected)
    assert {(int(o), int(i)) for o, i in pairs} == expected


@settings(deadline=None)
@given(spans=SPANS, max_gap=st.integers(0, 30))
def test_temporal_edges_by_whole_seconds(spans: list[Span], max_gap: int) -> None:
    spans = sorted(spans)
    expected = []
    for place in range(len(spans) - 1):
        gap = int(spans[place + 1][0]) - int(spans[place][1])
        if 0 <= gap <= max_gap:
            expected.append((place, 1 / (gap + 1)))
    earlier, weight = temporal_edges(*columns(spans), max_gap)
    assert list(zip(earlier.tolist(), weight.tolist(), strict=True)) == expected


def frame(name: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    schema = TABLES[name].schema
    return pl.DataFrame(rows, schema={key: schema[key] for key in rows[0]})


def clip_row(cell: int, status: str = "ok", length: int = 30) -> dict[str, Any]:
    return {
        "clip": f"c{cell}", "start_s": float(cell * length), "end_s": float((cell + 1) * length),
        "cell": cell, "grid_s": length, "status": status,
    }  # fmt: skip


def observation_row(name: str, cell: int, start: float, end: float) -> dict[str, Any]:
    return {
        "observation": name, "clip": f"c{cell}", "start_s": start, "end_s": end,
        "visible_from": end,
    }  # fmt: skip


def episode_row(name: str, scale: str, start: float, end: float, **given: float) -> dict[str, Any]:
    return {
        "episode": name, "scale": scale, "start_s": start, "end_s": end,
        "visible_from": given.get("visible_from", end),
    }  # fmt: skip


CLIPS = [clip_row(0), clip_row(1), clip_row(2)]
OBSERVATIONS = [
    observation_row("o0", 0, 2.0, 10.0),
    observation_row("o1", 0, 3.0, 5.0),
    observation_row("o2", 1, 31.0, 34.0),
    observation_row("o3", 2, 61.0, 64.0),
]
MEMBERSHIPS = [
    {"observation": name, "entity": entity}
    for name, entity in (("o0", "e0"), ("o1", "e1"), ("o2", "e0"), ("o3", "e0"))
]
EPISODE_ROWS = [
    episode_row("s0", "30sec", 1.0, 28.0, visible_from=33.0),
    episode_row("s1", "30sec", 30.0, 60.0),
    episode_row("m0", "3min", 1.0, 180.0),
    episode_row("t0", "10min", 1.0, 180.0),
    episode_row("h0", "1h", 1.0, 180.0),
]


def graph(
    clips: list[dict[str, Any]] = CLIPS,
    observations: list[dict[str, Any]] = OBSERVATIONS,
    memberships: list[dict[str, Any]] = MEMBERSHIPS,
    episodes: list[dict[str, Any]] = EPISODE_ROWS,
) -> tuple[pl.DataFrame, set[tuple[str, str, str, float, float]]]:
    def table(name: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
        return frame(name, rows) if rows else TABLES[name].empty()

    nodes, edges = build_graph(
        "ego",
        clips=table("clips", clips),
        observations=table("observations", observations),
        memberships=table("memberships", memberships),
        episodes=table("episodes", episodes),
        weights=Graph(),
    )
    assert nodes.schema == TABLES["graph_nodes"].schema
    assert edges.schema == TABLES["graph_edges"].schema
    assert nodes["node"].to_list() == list(range(nodes.height))
    assert (edges["a"] < edges["b"]).all()
    assert edges.select("a", "b").is_unique().all()
    assert edges.equals(edges.sort("a", "b"))
    names = nodes["id"]
    return nodes, {
        (*sorted((names[row["a"]], names[row["b"]])), row["type"], row["weight"],
         row["visible_from"])
        for row in edges.iter_rows(named=True)
    }  # fmt: skip


def test_every_edge_of_a_small_memory() -> None:
    nodes, edges = graph()
    assert edges == {
        ("s0", "s1", "temporal", 1 / 3, 60.0),
        ("m0", "s0", "containment", 1.0, 180.0),
        ("m0", "s1", "containment", 1.0, 180.0),
        ("m0", "t0", "containment", 1.0, 180.0),
        ("h0", "t0", "containment", 1.0, 180.0),
        ("h0", "s0", "containment", 0.5, 180.0),
        ("h0", "s1", "containment", 0.5, 180.0),
        ("c0", "s0", "clip_episode", 1.0, 33.0),
        ("c1", "s1", "clip_episode", 1.0, 60.0),
        ("o0", "s0", "episode_context", 1.0, 33.0),
        ("o1", "s0", "episode_context", 1.0, 33.0),
        ("o2", "s1", "episode_context", 1.0, 60.0),
        ("c0", "o0", "visual_provenance", 0.8, 30.0),
        ("c0", "o1", "visual_provenance", 0.8, 30.0),
        ("c1", "o2", "visual_provenance", 0.8, 60.0),
        ("e0", "o0", "membership", 0.5, 34.0),
        ("e0", "o2", "membership", 0.5, 34.0),
        ("e0", "o3", "membership", 0.5, 64.0),
    }
    assert nodes["id"].to_list() == [
        "c0", "h0", "m0", "s0", "t0", "o0", "e0", "o1", "s1", "c1", "o2", "o3",
    ]  # fmt: skip


def test_an_entity_appears_with_its_second_observation() -> None:
    nodes, _ = graph()
    (entity,) = nodes.filter(pl.col("type") == "entity").rows(named=True)
    assert (entity["start_s"], entity["end_s"], entity["visible_from"]) == (2.0, 64.0, 34.0)


def test_an_uncaptioned_clip_is_no_node_and_its_observations_stand_alone() -> None:
    nodes, edges = graph()
    assert "c2" not in nodes["id"]
    assert {edge[2] for edge in edges if "o3" in edge} == {"membership"}


def test_a_clip_that_could_not_be_decoded_is_no_node() -> None:
    nodes, _ = graph(clips=[clip_row(0, "failed"), clip_row(1)], observations=OBSERVATIONS[2:3])
    assert nodes.filter(pl.col("type") == "clip")["id"].to_list() == ["c1"]


def test_captions_alone_have_no_clip_nodes() -> None:
    nodes, edges = graph([], [], [])
    assert set(nodes["type"]) == {"episode"}
    assert {edge[2] for edge in edges} == {"temporal", "containment"}


def test_shorter_and_longer_clips_meet_the_episodes_of_their_units() -> None:
    short = [clip_row(0, length=10), clip_row(3, length=10)]
    _, edges = graph(short, [], [])
    assert {edge[:2] for edge in edges if edge[2] == "clip_episode"} == {("c0", "s0"), ("c3", "s1")}
    long_ = [clip_row(0, length=60)]
    inside = [observation_row("o0", 0, 2.0, 10.0), observation_row("o1", 0, 31.0, 50.0)]
    _, edges = graph(long_, inside, MEMBERSHIPS[:2])
    assert {edge[:2] for edge in edges if edge[2] == "clip_episode"} == {("c0", "s0"), ("c0", "s1")}
    assert {edge[:2] for edge in edges if edge[2] == "episode_context"} == {
        ("o0", "s0"),
        ("o1", "s1"),
    }


def test_the_order_of_the_rows_given_does_not_matter() -> None:
    nodes, edges = graph()
    other = graph(CLIPS[::-1], OBSERVATIONS[::-1], MEMBERSHIPS[::-1], EPISODE_ROWS[::-1])
    assert other[0].equals(nodes) and other[1] == edges


def test_the_cost_grows_with_the_memory_not_with_its_square() -> None:
    """Regression: the peer scans all edges for each node (spec 12.7)."""
    cells, per_clip = 1_000, 50
    rng = np.random.default_rng(0)
    count = cells * per_clip
    cell = np.repeat(np.arange(cells), per_clip)
    start = cell * 30.0 + rng.uniform(0, 20, count)
    observations = pl.DataFrame(
        {
            "observation": [f"o{place:06d}" for place in range(count)],
            "clip": [f"c{place}" for place in cell],
            "start_s": start,
            "end_s": start + 5,
            "visible_from": start + 5,
        }
    )
    memberships = observations.select(
        "observation", entity=pl.Series([f"e{value}" for value in rng.integers(0, 9_000, count)])
    )
    episodes = [
        episode_row(f"s{place}", "30sec", place * 30.0, place * 30.0 + 30) for place in range(cells)
    ]
    began = time.perf_counter()
    nodes, edges = build_graph(
        "ego",
        clips=frame("clips", [clip_row(place) for place in range(cells)]),
        observations=observations,
        memberships=memberships,
        episodes=frame("episodes", episodes),
        weights=Graph(),
    )
    assert time.perf_counter() - began < 5
    entities = memberships["entity"].value_counts().filter(pl.col("count") > 1)
    assert nodes.height == count + 2 * cells + entities.height
    assert edges.height == 2 * count + cells + (cells - 1) + entities["count"].sum()
