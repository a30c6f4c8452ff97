"""Triples of the captions as nodes of a view (spec 1.1, 1.2): not in the paper's own memory."""

from __future__ import annotations

import polars as pl

from geb_assets.reading.rows import Frames

SUBJECT, OBJECT = 1.0, 0.5
"""Edge weights: the subject's entity and the object's to the triple."""

_SELF = frozenset({"i", "me", "my", "mine", "myself"})


def entity_of(name: str) -> str:
    """What makes two mentions one entity: their words, the wearer's many names as one."""
    words = name.lower().replace("'", "").replace("’", "").replace("-", " ").split()
    key = " ".join(words)
    return "i" if key in _SELF else key


def texts(frames: Frames) -> pl.DataFrame:
    """(triple, text) of each triple; none where the view has none."""
    if "triples" not in frames:
        return pl.DataFrame(schema={"triple": pl.String, "text": pl.String})
    said = pl.concat_str("subject", "predicate", "object", separator=" ")
    return frames["triples"].select("triple", text=said)


def triple_nodes(triples: pl.DataFrame, nodes: pl.DataFrame) -> pl.DataFrame:
    """A node a triple, numbered on from ``nodes``, with the columns of table ``graph_nodes``."""
    first = int(nodes.select(pl.col("node").max() + 1).item() or 0)
    return triples.sort("start_s", "triple").select(
        node=pl.int_range(pl.len(), dtype=pl.Int64) + first,
        id="triple",
        type=pl.lit("triple"),
        start_s="start_s",
        end_s="end_s",
        visible_from="visible_from",
    )


def ends_of(triples: pl.DataFrame) -> pl.DataFrame:
    """(triple, episode, entity, weight): the entities of each triple's subject and object."""
    ends = [
        triples.select("triple", "episode", entity=end, weight=pl.lit(weight))
        for end, weight in (("subject", SUBJECT), ("object", OBJECT))
    ]
    named = pl.col("entity").map_elements(entity_of, return_dtype=pl.String)
    # Of two edges between the same nodes the first holds.
    return (
        pl.concat(ends)
        .with_columns(named)
        .unique(["triple", "entity"], keep="first", maintain_order=True)
    )
