"""A graph over what the captions name: the identity that MAGIC-Video has (spec 1.1, 1.2).

Entities are the subjects and objects of the captions' triples, where a model told those; else noun
phrases of the 30-second captions, found by their form: what stands behind a determiner up to the
next word without content, and capitalised words inside a sentence. Two mentions are one entity
where their words are the same.
"""

from __future__ import annotations

import re

import polars as pl

from geb_assets.reading.entity_nodes import entity_nodes
from geb_assets.reading.rows import Frames
from geb_assets.reading.triples import ends_of, triple_nodes
from geb_assets.reading.words import STOP_WORDS, WORD, stem

MENTIONED, APPEARED = 1.0, 0.8
"""Edge weights: entity to caption, entity to the caption's clip (spec 1.2)."""
LONGEST = 3
"""Most words of a phrase."""

_THOSE = """
    the a an my his her their our your its this that these those some two three another
"""
_DETERMINERS = frozenset(_THOSE.split())
_WORDS = re.compile(rf"{WORD}|[.!?,;:]")


def phrases(text: str) -> set[str]:
    """The noun phrases of a text, in small letters, the last word reduced to its stem."""
    found: set[str] = set()
    words = _WORDS.findall(text)
    place = 0
    while place < len(words):
        word = words[place]
        first = place == 0 or words[place - 1] in ".!?"
        if word.lower() in _DETERMINERS:
            phrase = _run(words[place + 1 :])
        elif word[0].isupper() and not first and word.lower() not in STOP_WORDS:
            phrase = _run(words[place:])
        else:
            place += 1
            continue
        if phrase:
            found.add(" ".join([*phrase[:-1], stem(phrase[-1])]))
        place += 1 + len(phrase)
    return found


def _run(words: list[str]) -> list[str]:
    """The words up to the first mark or word without content, at most three."""
    run: list[str] = []
    for word in words[:LONGEST]:
        small = word.lower()
        if small in STOP_WORDS or small in _DETERMINERS or not word[0].isalnum():
            break
        run.append(small)
    return run


def without_observations(frames: Frames) -> dict[str, pl.DataFrame]:
    """The memory of captions and clips alone."""
    nodes = frames["graph_nodes"].filter(pl.col("type").is_in(["episode", "clip"]))
    kept = pl.col("a").is_in(nodes["node"].implode()) & pl.col("b").is_in(nodes["node"].implode())
    bare = {
        name: frames[name].clear()
        for name in ("observations", "descriptions", "memberships", "separations")
    }
    return {
        **frames,
        **bare,
        "graph_nodes": nodes,
        "graph_edges": frames["graph_edges"].filter(kept),
    }


def with_triples(frames: Frames) -> dict[str, pl.DataFrame]:
    """The memory of captions and clips, with what the captions state as nodes that no edge joins:
    a store beside the others."""
    bare = without_observations(frames)
    if "triples" not in bare:
        return bare
    added = triple_nodes(bare["triples"], bare["graph_nodes"])
    return {**bare, "graph_nodes": pl.concat([bare["graph_nodes"], added], how="diagonal")}


def text_entities(frames: Frames) -> dict[str, pl.DataFrame]:
    """Captions and clips joined through what the 30-second captions name.

    Where a model took the captions apart, an entity is what a triple has as subject or object, and
    the triples are nodes too; else it is a noun phrase that two captions name, visible from the
    second.
    """
    bare = without_observations(frames)
    nodes, edges = bare["graph_nodes"], bare["graph_edges"]
    captions = nodes.filter(pl.col("type") == "episode")
    if "triples" in bare:
        ends = ends_of(bare["triples"])
        named = ends.unique(["episode", "entity"], maintain_order=True).join(
            captions, left_on="episode", right_on="id"
        )
    else:
        ends = None
        named = _phrases(bare["episodes"]).join(captions, left_on="episode", right_on="id")
    named = named.with_columns(entity=pl.concat_str(pl.lit("text/"), "entity"))
    added = entity_nodes(named, nodes, times=2 if ends is None else 1)
    nodes = pl.concat([nodes, added], how="diagonal")
    known = added.select("id", entity="node", entity_from="visible_from")
    mentions = (
        named.select("node", id="entity", told="visible_from")
        .join(known, on="id")
        .with_columns(told=pl.max_horizontal("told", "entity_from"))
    )
    clips = edges.filter(pl.col("type") == "clip_episode")
    shown = pl.concat(
        [clips.select(node=one, clip=other) for one, other in (("a", "b"), ("b", "a"))]
    )
    joined = [
        mentions.select(a="node", b="entity", weight=pl.lit(MENTIONED), visible_from="told"),
        mentions.join(shown, on="node")
        .select(a="clip", b="entity", weight=pl.lit(APPEARED), visible_from="told")
        .unique(["a", "b"], keep="first", maintain_order=True),
    ]
    more = pl.concat(joined).with_columns(type=pl.lit("episode_context"))
    edges = pl.concat([edges, more.select(edges.columns)])
    if ends is not None:
        triples = triple_nodes(bare["triples"], nodes)
        nodes = pl.concat([nodes, triples], how="diagonal")
        stated = (
            ends.with_columns(entity=pl.concat_str(pl.lit("text/"), "entity"))
            .join(known.rename({"entity": "b"}), left_on="entity", right_on="id")
            .join(triples, left_on="triple", right_on="id")
            .select("b", "weight", "visible_from", a="node", type=pl.lit("has_property"))
        )
        edges = pl.concat([edges, stated.select(edges.columns)])
    return {**bare, "graph_nodes": nodes, "graph_edges": edges}


def _phrases(episodes: pl.DataFrame) -> pl.DataFrame:
    """(episode, entity): the noun phrases of each 30-second caption."""
    return (
        episodes.filter(pl.col("scale") == "30sec")
        .select(
            "episode",
            entity=pl.col("text").map_elements(
                lambda text: sorted(phrases(text)), return_dtype=pl.List(pl.String)
            ),
        )
        .explode("entity")
        .filter(pl.col("entity").is_not_null())
    )
