"""Asset ``graph``: entities, observations, episodes and clips, and how they are joined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import polars as pl

from geb_assets.parameters import Graph
from geb_assets.stage import Finding, Result, Stage, Work
from geb_assets.writing.graph.build import build_graph


def run(work: Work) -> Result:
    nodes, edges = build_graph(
        work.name,
        clips=work.read("clips"),
        observations=work.read(
            "observations", ["clip", "observation", "start_s", "end_s", "visible_from"]
        ),
        memberships=work.read("memberships"),
        episodes=work.read("episodes"),
        weights=cast(Graph, work.section),
    )
    counted = {
        f"{noun} {kind}": count
        for noun, frame in (("nodes", nodes), ("edges", edges))
        for kind, count in frame.group_by("type").len().sort("type").iter_rows()
    }
    return Result({"graph_nodes": nodes, "graph_edges": edges}, figures=counted)


def verify(work: Work, result: Result) -> Iterator[Finding]:
    nodes, edges = result.tables["graph_nodes"], result.tables["graph_edges"]
    unique = nodes["id"].is_unique().all() and nodes["node"].is_unique().all()
    yield Finding("unique_ids", bool(unique), "two nodes share an id or number")
    single = edges.select("a", "b").is_unique().all()
    yield Finding("one_edge_a_pair", single, "two edges join one pair of nodes")
    ends = edges.select(pl.concat_list("a", "b").explode().alias("node"))
    known = ends.join(nodes, on="node", how="anti").is_empty()
    yield Finding("ends_exist", known, "an edge ends at a node that does not exist")


STAGE = Stage(
    asset="graph",
    partition="recording",
    implementation="1",
    run=run,
    group="biographies",
    kinds=("polars", "deltalake"),
    description=(
        "Joins entities, observations, episodes and source clips, each with the time from which "
        "it is visible (paper 3.2; appendix A, graph and retrieval)."
    ),
    reads=("clips", "observations", "memberships", "episodes"),
    checks={
        "unique_ids": "Node ids and numbers are unique.",
        "one_edge_a_pair": "One edge joins a pair of nodes.",
        "ends_exist": "Both ends of every edge exist.",
    },
    verify=verify,
)
