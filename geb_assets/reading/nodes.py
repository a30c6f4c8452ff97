"""The nodes in the order in which they become visible, and the texts they have at t."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from geb_assets.reading.packed import PackedStrings
from geb_assets.reading.rows import Frames
from geb_assets.reading.selection import CATEGORIES

Places = NDArray[np.int64]
Real = NDArray[np.float64]


def place_nodes(graph_nodes: pl.DataFrame) -> pl.DataFrame:
    """The rows of table graph_nodes with their place: the rank by (visible_from, node)."""
    return graph_nodes.sort("visible_from", "node").with_columns(
        place=pl.int_range(pl.len(), dtype=pl.Int64)
    )


def build_nodes(
    placed: pl.DataFrame, docs: pl.DataFrame, text_places: Places, frames: Frames
) -> dict[str, NDArray[Any]]:
    """Arrays of a :class:`NodeIndex`.

    ``placed``: :func:`place_nodes`; ``docs``: :func:`documents.documents`; ``text_places``: the
    place of each text vector's node.
    """
    count = placed.height
    category = (
        placed.join(
            frames["episodes"].select("episode", "scale"),
            left_on="id",
            right_on="episode",
            how="left",
            maintain_order="left",
        )
        .select(
            pl.when(pl.col("type") == "episode")
            .then("scale")
            .otherwise("type")
            .replace_strict(
                list(CATEGORIES), list(range(len(CATEGORIES))), default=-1, return_dtype=pl.Int8
            )
        )
        .to_series()
    )
    ids = PackedStrings.of(placed["id"])
    text_row = np.full(count, -1, np.int64)
    text_row[text_places] = np.arange(len(text_places))
    told, labelled = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    where = docs["place"].to_numpy()
    lasting = np.isinf(docs["until_s"].to_numpy())
    # A text that ends is a label; one that does not is the caption, description or only label.
    told[where[lasting]] = np.flatnonzero(lasting)
    labelled[where[~lasting]] = np.flatnonzero(~lasting)
    labels = (
        placed.select("id")
        .join(
            frames["observations"],
            left_on="id",
            right_on="observation",
            how="left",
            maintain_order="left",
        )
        .select(pl.col("label").fill_null(""))
        .to_series()
    )
    distinct = labels.unique().sort()
    return {
        **ids.arrays("ids"),
        "by_id": placed["id"].arg_sort().to_numpy().astype(np.int64),
        "from_s": placed["visible_from"].to_numpy(),
        "start_s": placed["start_s"].to_numpy(),
        "end_s": placed["end_s"].to_numpy(),
        "order": placed["node"].to_numpy(),
        "category": category.to_numpy(),
        "caption": _captions(placed, frames["graph_edges"]),
        "text_row": text_row,
        "told": told,
        "labelled": labelled,
        "label": distinct.search_sorted(labels).to_numpy().astype(np.int64),
        **PackedStrings.of(distinct).arrays("labels"),
        "doc_place": where,
        "doc_from_s": docs["from_s"].to_numpy(),
        **PackedStrings.of(docs["name"]).arrays("names"),
        **PackedStrings.of(docs["text"]).arrays("texts"),
        "described": _described(placed, frames["descriptions"]),
    }


def _captions(placed: pl.DataFrame, edges: pl.DataFrame) -> Places:
    """Place of each clip's first 30-second episode, else -1."""
    clips = placed.filter(pl.col("type") == "clip").select("node", "place")
    others = placed.filter(pl.col("type") == "episode").select("node", "place")
    pairs = edges.filter(pl.col("type") == "clip_episode").select("a", "b")
    both = pl.concat([pairs, pairs.select(a="b", b="a")])
    found = (
        both.join(clips, left_on="a", right_on="node")
        .join(others, left_on="b", right_on="node", suffix="_episode")
        .group_by("place")
        .agg(pl.col("place_episode").min())
    )
    captions = np.full(placed.height, -1, np.int64)
    captions[found["place"].to_numpy()] = found["place_episode"].to_numpy()
    return captions


def _described(placed: pl.DataFrame, descriptions: pl.DataFrame) -> NDArray[np.bool_]:
    """Whether a node is an observation with a description."""
    told = descriptions.filter(pl.col("status") == "ok")["observation"]
    return placed.select(pl.col("id").is_in(told.implode())).to_series().to_numpy()


@dataclass(frozen=True, eq=False)
class NodeIndex:
    """Arrays by place."""

    ids: PackedStrings
    by_id: Places
    """Places in order of id."""
    from_s: Real
    start_s: Real
    end_s: Real
    order: NDArray[np.int64]
    """The node's number in the tables: ties go by it."""
    category: NDArray[np.int8]
    """Place in :data:`selection.CATEGORIES`; -1 for an entity."""
    caption: Places
    """Of a clip: the place of its 30-second episode, or -1."""
    text_row: Places
    """Row of the text vector, or -1."""
    told: Places
    """The lasting text of a node (caption, description, or a label never replaced), or -1."""
    labelled: Places
    """The text that holds until the lasting one does: the label, or -1."""
    label: Places
    labels: PackedStrings
    doc_place: Places
    """Node of each text."""
    doc_from_s: Real
    names: PackedStrings
    """Name that belongs to each text."""
    texts: PackedStrings
    described: NDArray[np.bool_]

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> NodeIndex:
        values: dict[str, Any] = {name: PackedStrings.load(arrays, name) for name in _PACKED}
        values |= {name: array for name, array in arrays.items() if "." not in name}
        return cls(**values)

    def visible(self, at: float) -> int:
        """How many nodes are visible: the first so many."""
        return int(np.searchsorted(self.from_s, at, side="right"))

    def text_at(self, place: int, at: float) -> int | None:
        """Which text a visible node has at t, if any."""
        told, labelled = int(self.told[place]), int(self.labelled[place])
        if told >= 0 and self.doc_from_s[told] <= at:
            return told
        return labelled if labelled >= 0 else None


_PACKED = ("ids", "labels", "names", "texts")
