"""Views of one memory that leave something out, or show it earlier (spec 9.10, 9.43; paper 4.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BaseModel

from geb_assets.errors import GebError
from geb_assets.parameters import Graph
from geb_assets.reading.dense import VectorRows
from geb_assets.reading.entity_nodes import entity_nodes
from geb_assets.reading.rows import Frames
from geb_assets.reading.settings import Budget
from geb_assets.reading.text_entities import text_entities, with_triples, without_observations
from geb_assets.reading.triples import texts
from resources.store import encode_vectors

Read = TypeVar("Read", bound=BaseModel)
Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts to unit rows float32 [n, D]."""

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
    captions: Literal["beside", "alone", "naming", "stores", "appended"] = "beside"
    """What captions are: beside the biographies, all there is, joined by what they name, all there
    is with what they state as a store of its own, or with the descriptions appended to them."""
    lenient_names: bool = False
    """Whether a cast name is visible before anybody could know it."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """Reading parameters that it sets."""
    answering: Mapping[str, Any] = field(default_factory=dict)
    """Reading parameters that it sets for the answer alone: the searches are the full system's."""

    @property
    def view(self) -> dict[str, Any]:
        """What tells this variant's rows from another's, as plain JSON values."""
        return {k: v for k, v in asdict(self).items() if k not in ("name", "reading", "answering")}

    @property
    def reads_triples(self) -> bool:
        """Whether it reads what captions state, where a model told that."""
        return self.captions in ("naming", "stores")

    def settings(self, settings: Read) -> Read:
        """Reading parameters as this variant has them."""
        return _updated(settings, self.reading)

    def answers_with(self, settings: Read) -> Read:
        """The same as the answer has them."""
        return _updated(settings, {**self.reading, **self.answering})

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
        match self.captions:
            case "alone":
                view = without_observations(view)
            case "naming":
                view = text_entities(view)
            case "stores":
                view = with_triples(view)
            case "appended":
                view = without_observations(appended(view))
            case "beside":
                pass
        return view

    def namings(self, names: pl.DataFrame) -> pl.DataFrame:
        """Rows of table `names` as this variant sees them."""
        if not self.lenient_names:
            return names
        return names.with_columns(named_at=pl.lit(float("-inf")))

    def vectors(
        self,
        rows: VectorRows,
        frames: Frames,
        embed: Embed,
    ) -> VectorRows:
        """Text vectors as this variant sees them: never visible before their node in any case.

        ``frames`` are the rows as they are written; ``embed`` is the memory's own text model, which
        texts that only this variant has are embedded by.
        """
        if self.captions == "appended":
            return _embedded_again(rows, frames, embed)
        if self.reads_triples:
            said = texts(frames)
            return VectorRows([*rows.parts, _embedded(said["triple"], said["text"], embed)])
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
        Variant("appended", captions="appended"),
        Variant("no_biographies", reading={"biographies": False}),
        Variant("no_biographies_answer", answering={"biographies": False}),
        Variant("no_references", reading={"also_seen": False}),
        Variant("no_identity_notes", reading={"identity_notes": False}),
        Variant("no_frames", reading={"frames": 0}),
        Variant("per_store", captions="stores"),
        Variant("frames_alone", captions="alone", reading={"rounds": 1, "frames_per_clip": 1}),
        Variant(
            "frames_and_captions", captions="alone", reading={"rounds": 1, "frames_per_clip": 1}
        ),
        Variant("captions_only", captions="alone"),
        Variant("name_graph", captions="naming"),
        Variant("name_graph_6", captions="naming", reading={"budget": Budget(units=6)}),
        Variant("lenient_names", lenient_names=True),
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


def _updated(settings: Read, values: Mapping[str, Any]) -> Read:
    known = {k: v for k, v in values.items() if k in type(settings).model_fields}
    return settings.model_copy(update=known)


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


def appended(frames: Frames) -> dict[str, pl.DataFrame]:
    """Captions with the descriptions of their 30 seconds behind them, in time order (spec 9.43).

    Such a caption is visible once all that it says is.
    """
    nodes, edges = frames["graph_nodes"], frames["graph_edges"]
    numbered = nodes.select("node", "id", "start_s")
    context = edges.filter(pl.col("type") == "episode_context")
    episode = nodes.filter(pl.col("type") == "episode").select(episode="node")
    told = pl.concat(
        [context.select(episode=one, observation=other) for one, other in (("a", "b"), ("b", "a"))]
    ).join(episode, on="episode", how="semi")
    described = frames["descriptions"].filter(pl.col("status") == "ok")
    said = (
        told.join(numbered, left_on="observation", right_on="node")
        .join(described.select("observation", "summary", known="visible_from"),
              left_on="id", right_on="observation")
        .sort("start_s", "id")
        .group_by("episode", maintain_order=True)
        .agg(more=pl.col("summary").str.join(" "), known=pl.col("known").max())
        .join(numbered.select("node", episode_id="id"), left_on="episode", right_on="node")
        .select("episode_id", "more", "known")
    )  # fmt: skip
    episodes = frames["episodes"].join(said, left_on="episode", right_on="episode_id", how="left")
    later = nodes.join(said, left_on="id", right_on="episode_id", how="left")
    return {
        **frames,
        "episodes": episodes.with_columns(
            text=pl.concat_str("text", "more", separator=" ", ignore_nulls=True)
        ).select(frames["episodes"].columns),
        "graph_nodes": later.with_columns(
            visible_from=pl.max_horizontal("visible_from", "known")
        ).select(nodes.columns),
    }


def _embedded_again(rows: VectorRows, frames: Frames, embed: Embed) -> VectorRows:
    """The vectors of captions that did not change, and new ones of those that did."""
    before = frames["episodes"].select("episode", before="text")
    changed = appended(frames)["episodes"].join(before, on="episode")
    changed = changed.filter(pl.col("text") != pl.col("before"))
    if changed.is_empty():
        return rows
    kept = [part.filter(~pl.col("id").is_in(changed["episode"].implode())) for part in rows.parts]
    return VectorRows([*kept, _embedded(changed["episode"], changed["text"], embed)])


def _embedded(ids: pl.Series, said: pl.Series, embed: Embed) -> pl.LazyFrame:
    """Vectors of texts that only a variant has, each visible with its node."""
    vectors = encode_vectors(embed(said.to_list())) if len(said) else []
    columns = {"id": ids, "vector": pl.Series(vectors, dtype=pl.Binary)}
    soon = pl.lit(float("-inf")).alias("visible_from")
    return pl.DataFrame(columns).select(soon, "vector", "id").lazy()


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
    added = entity_nodes(named, nodes)
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
