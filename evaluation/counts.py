"""How large a memory is, and how often a name stands for several things (paper, appendix B).

python -m evaluation.counts RECORDING --json
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, dataclass

import polars as pl

from geb_assets.errors import GebError
from geb_assets.home import Home

_BOTH_WAYS = ("temporal", "clip_episode")
"""Edges that the paper's Table 6 counts once in each direction."""


@dataclass(frozen=True)
class Counts:
    """One recording's memory in numbers."""

    nodes: dict[str, int]
    edges: dict[str, int]
    """Undirected edges by type."""
    edge_records: int
    """As Table 6 counts them: temporal and clip-to-episode edges in both directions."""
    observations: int
    entities: int
    entities_seen_once: int
    separated_pairs: int
    """Observations of one clip proven different."""
    colliding_pairs: int
    """Those that have the same name."""
    colliding_clips: int
    """Clips with such a pair."""
    recurring_objects: int
    """Entities that are no persons and were seen twice or more."""
    renamed_objects: int
    """Those that were described by two names or more."""

    @property
    def renamed_share(self) -> float | None:
        return self.renamed_objects / self.recurring_objects if self.recurring_objects else None


def counts(
    nodes: pl.DataFrame,
    edges: pl.DataFrame,
    descriptions: pl.DataFrame,
    memberships: pl.DataFrame,
    separations: pl.DataFrame,
    entities: pl.DataFrame,
) -> Counts:
    """Counts over rows of the tables named, of one recording. Names are compared without case and
    doubled spaces; an observation without a description has none."""
    named = descriptions.filter(pl.col("status") == "ok").select(
        "observation",
        name=pl.col("object_name")
        .str.replace_all(r"\s+", " ")
        .str.strip_chars()
        .str.to_lowercase(),
    )
    pairs = (
        separations.select("clip", "earlier", "later")
        .join(named.rename({"observation": "earlier", "name": "one"}), on="earlier")
        .join(named.rename({"observation": "later", "name": "other"}), on="later")
        .filter(pl.col("one") == pl.col("other"))
    )
    objects = entities.filter(~pl.col("is_person") & (pl.col("observations") >= 2))
    names = (
        memberships.join(objects.select("entity"), on="entity", how="semi")
        .join(named, on="observation")
        .group_by("entity")
        .agg(pl.col("name").n_unique())
    )
    by_type = dict(edges.group_by("type").len().sort("type").iter_rows())
    return Counts(
        nodes=dict(nodes.group_by("type").len().sort("type").iter_rows()),
        edges=by_type,
        edge_records=sum(n * (2 if kind in _BOTH_WAYS else 1) for kind, n in by_type.items()),
        observations=memberships.height,
        entities=entities.height,
        entities_seen_once=entities.filter(pl.col("observations") == 1).height,
        separated_pairs=separations.height,
        colliding_pairs=pairs.height,
        colliding_clips=pairs["clip"].n_unique(),
        recurring_objects=objects.height,
        renamed_objects=names.filter(pl.col("name") >= 2).height,
    )


def of_home(home: Home, recording: str) -> Counts:
    """A recording's counts. Raises GebError where there is none, or its memory is not built."""
    home.registry().recording(recording)
    if ("graph", recording) not in home.ledger.entries():
        raise GebError(f"the memory of {recording} is not built; run: geb build {recording}")
    names = ("graph_nodes", "graph_edges", "descriptions", "memberships", "separations", "entities")
    return counts(*(home.store.read(name, recording=recording) for name in names))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("recording")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        found = of_home(Home.of_environment(), options.recording)
    except GebError as error:
        sys.exit(f"evaluation.counts: {error}")
    values = {**asdict(found), "renamed_share": found.renamed_share}
    if options.json:
        print(json.dumps(values))
        return
    for name, value in values.items():
        print(f"{name.replace('_', ' '):<20} {value}")


if __name__ == "__main__":
    main()
