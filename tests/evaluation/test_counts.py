"""Counts of a memory against a plain reference."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.counts import counts
from tests.reading.synthetic import random_tables, table


@settings(max_examples=10)
@given(seed=st.integers(0, 10_000))
def test_counts_equal_a_plain_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = random_tables(rng)
    members: dict[str, list[str]] = {}
    for observation, entity in rows["memberships"].select("observation", "entity").iter_rows():
        members.setdefault(entity, []).append(observation)
    person = {entity: bool(rng.random() < 0.3) for entity in members}
    clip_of = dict(rows["observations"].select("observation", "clip").iter_rows())
    entities = table(
        "entities", entity=list(members), is_person=[person[e] for e in members],
        observations=[len(own) for own in members.values()],
    )  # fmt: skip
    separations = rows["separations"].with_columns(
        clip=pl.Series([clip_of[one] for one in rows["separations"]["earlier"]], dtype=pl.String)
    )
    found = counts(rows["graph_nodes"], rows["graph_edges"], rows["descriptions"],
                   rows["memberships"], separations, entities)  # fmt: skip
    name = {
        row["observation"]: row["object_name"].lower()
        for row in rows["descriptions"].iter_rows(named=True)
        if row["status"] == "ok"
    }
    pairs = [
        (one, other) for one, other in separations.select("earlier", "later").iter_rows()
        if one in name and name.get(one) == name.get(other)
    ]  # fmt: skip
    recurring = [e for e, own in members.items() if len(own) >= 2 and not person[e]]
    renamed = [
        e for e in recurring
        if any(name[a] != name[b] for a, b in combinations([o for o in members[e] if o in name], 2))
    ]  # fmt: skip
    assert found.colliding_pairs == len(pairs)
    assert found.colliding_clips == len({clip_of[one] for one, _ in pairs})
    assert (found.recurring_objects, found.renamed_objects) == (len(recurring), len(renamed))
    assert found.entities_seen_once == sum(len(own) == 1 for own in members.values())
    both = sum(found.edges.get(kind, 0) for kind in ("temporal", "clip_episode"))
    assert found.edge_records == sum(found.edges.values()) + both
    assert sum(found.nodes.values()) == rows["graph_nodes"].height
