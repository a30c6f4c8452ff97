"""Views of one memory that leave something out, or show it earlier (spec 9.10, 9.43; paper 4.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeVar

import polars as pl
from pydantic import BaseModel

from geb_assets.errors import GebError
from geb_assets.parameters import Graph
from geb_assets.reading.dense import VectorRows
from geb_assets.reading.rows import Frames

Read = TypeVar("Read", bound=BaseModel)

_TIMELINE = ("episode_context", "visual_provenance")


@dataclass(frozen=True)
class Variant:
    """What differs from the full system."""

    name: str = "full"
    identity: Literal["associated", "none", "name"] = "associated"
    """What makes observations one entity: association, nothing, or the described name."""
    same_instance_edges: bool = True
    timeline_edges: bool = True
    """Edges from observations to episodes and clips."""
    lenient_context: bool = False
    """Whether a description is visible with its encounter, whatever lines it quotes."""

    reading: Mapping[str, Any] = field(default_factory=dict)
    """Reading parameters that it sets."""

    @property
    def view(self) -> dict[str, Any]:
        """What tells this variant's rows from another's, as plain JSON values."""
        return {k: v for k, v in asdict(self).items() if k not in ("name", "reading")}

    def settings(self, settings: Read) -> Read:
        """Reading parameters as this variant has them."""
        known = {k: v for k, v in self.reading.items() if k in type(settings).model_fields}
        return settings.model_copy(update=known)

    def apply(self, frames: Frames) -> dict[str, pl.DataFrame]:
        """The rows as this variant sees them; memberships may say from when each holds."""
        view = dict(frames)
        if self.lenient_context:
            view = lenient_context(view)
        if self.identity == "none":
            view = no_association(view)
        elif self.identity == "name":
            view = name_keyed(view)
        if not self.same_instance_edges:
            view = without_edges(view, ("membership",))
        if not self.timeline_edges:
            view = without_edges(view, _TIMELINE)
        return view

    def vectors(self, rows: VectorRows) -> VectorRows:
        """Text vectors as this variant sees them: never visible before their node in any case."""
        if not self.lenient_context:
            return rows
        soon = pl.lit(float("-inf")).alias("visible_from")
        return VectorRows([part.with_columns(soon) for part in rows.parts])


FULL = Variant()
VARIANTS: Mapping[str, Variant] = {
    variant.name: variant
    for variant in (
        FULL,
        Variant("no_association", identity="none"),
        Variant("name_keyed", identity="name"),
        Variant("no_same_instance_edges", same_instance_edges=False),
        Variant("no_timeline_edges", timeline_edges=False),
        Variant("no_observation_edges", same_instance_edges=False, timeline_edges=False),
        Variant("lenient_context", lenient_context=True),
    )
}


def variant_of(variant: str | Variant | None) -> Variant:
    """Raises GebError for a variant that does not exist."""
    if variant is None:
        return FULL
    if isinstance(variant, Variant):
        return variant
    if variant not in VARIANTS:
        raise GebError(f"no variant '{variant}'; there are {', '.join(VARIANTS)}")
    return VARIANTS[variant]


def without_edges(frames: Frames, types: tuple[str, ...]) -> dict[str, pl.DataFrame]:
    """The graph without edges of these types; who belongs to whom stays."""
    kept = frames["graph_edges"].filter(~pl.col("type").is_in(types))
    return {**frames, "graph_edges": kept}


def lenient_context(frames: Frames) -> dict[str, pl.DataFrame]:
    """Descriptions visible from the end of their encounter, as in the paper (spec 9.10)."""
    return {
        **frames,
        "descriptions": frames["descriptions"].with_columns(visible_from=pl.lit(float("-inf"))),
    }


def no_association(frames: Frames) -> dict[str, pl.DataFrame]:
    """Every observation its own entity, and no entity nodes."""
    memberships = frames["memberships"].with_columns(entity="observation")
    return {**_without_entities(frames), "memberships": memberships}


def name_keyed(frames: Frames) -> dict[str, pl.DataFrame]:
    """Observations grouped by their described name, case and spaces aside (spec 9.43).

    A name holds from the moment its description is visible; an observation without one stays alone.
    """
    nodes = frames["graph_nodes"]
    observations = nodes.filter(pl.col("type") == "observation")
    name = pl.col("object_name").str.replace_all(r"\s+", " ").str.strip_chars().str.to_lowercase()
    named = (
        frames["descriptions"]
        .filter(pl.col("status") == "ok")
        .select("observation", name=name, told="visible_from")
        .join(observations, left_on="observation", right_on="id")
        .with_columns(
            entity=pl.concat_str(pl.lit("name/"), "name"),
            visible_from=pl.max_horizontal("told", "visible_from"),
        )
    )
    entities = (
        named.group_by("entity")
        .agg(
            pl.col("start_s").min(),
            pl.col("end_s").max(),
            pl.col("visible_from").bottom_k(2).max(),
            seen=pl.len(),
        )
        .filter(pl.col("seen") >= 2)
        .sort("start_s", "entity")
    )
    first = int(nodes.select(pl.col("node").max() + 1).item() or 0)
    added = entities.select(
        id="entity",
        node=pl.int_range(pl.len(), dtype=pl.Int64) + first,
        type=pl.lit("entity"),
        start_s="start_s",
        end_s="end_s",
        visible_from="visible_from",
    )
    weights = frames["graph_edges"].filter(pl.col("type") == "membership")["weight"]
    joined = named.join(
        added.select("id", entity_node="node", entity_from="visible_from"),
        left_on="entity",
        right_on="id",
    ).select(
        a="node",
        b="entity_node",
        type=pl.lit("membership"),
        weight=pl.lit(float(weights[0]) if len(weights) else Graph().same_instance),
        visible_from=pl.max_horizontal("visible_from", "entity_from"),
    )
    bare = _without_entities(frames)
    return {
        **bare,
        "graph_nodes": pl.concat([bare["graph_nodes"], added], how="diagonal"),
        "graph_edges": pl.concat([bare["graph_edges"], joined], how="diagonal"),
        "memberships": named.select("observation", "entity", "visible_from"),
    }


def _without_entities(frames: Frames) -> dict[str, pl.DataFrame]:
    bare = without_edges(frames, ("membership",))
    return {**bare, "graph_nodes": frames["graph_nodes"].filter(pl.col("type") != "entity")}
