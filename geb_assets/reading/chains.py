"""Facts of topic and event chains that go beside the units of a search (spec 3.3)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from geb_assets.reading.settings import ChainSettings
from geb_assets.reading.units import Unit
from geb_assets.reading.words import content_words

ChainKind = Literal["topic", "event"]

JOINED_CHARS = 2000
"""Characters of a chain's joined facts that are compared with the question."""


class Embeds(Protocol):
    """What compares a question with a chain: unit rows float32 ``[n, D]``."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


@dataclass(frozen=True)
class Fact:
    """One fact of a chain, beside the units and never one of them."""

    kind: ChainKind
    label: str
    text: str
    start_s: float
    end_s: float


def chain_facts(
    chains: pl.DataFrame,
    question: str,
    returned: Sequence[Unit],
    *,
    at: float | None = None,
    shown: Collection[Fact] = (),
    settings: ChainSettings | None = None,
    embedder: Embeds | None = None,
) -> list[Fact]:
    """Facts to show with the new units of a round, in time order.

    ``chains`` has the columns of :data:`geb_assets.reading.units.CHAINS`; facts visible only after
    ``at`` take no part. A topic comes in where returned 30-second captions name it, an event where
    a returned episode starts inside a step: first those that the question names too, then, for
    the free places, those whose facts are similar to the question (none without an embedder).
    Facts already ``shown``, or covered by a returned episode, are left out.
    """
    settings = settings or ChainSettings()
    visible = chains if at is None else chains.filter(pl.col("visible_from") <= at)
    episodes = [unit for unit in returned if unit.kind == "episode"]
    if visible.is_empty() or not episodes:
        return []
    of_chain: dict[tuple[ChainKind, str], list[Fact]] = {}
    for kind, label, text, start, end in (
        visible.sort("start_s", "end_s", "label", "text")
        .select("kind", "label", "text", "start_s", "end_s")
        .iter_rows()
    ):
        of_chain.setdefault((kind, label), []).append(Fact(kind, label, text, start, end))

    captions = [unit.text for unit in episodes if unit.scale == "30sec"]
    hits: dict[tuple[ChainKind, str], int] = {}
    for chain, facts in of_chain.items():
        if chain[0] == "topic":
            named = topic_pattern(chain[1])
            count = sum(named.search(text) is not None for text in captions)
            enough = count >= settings.min_hits
        else:
            count = sum(_starts_inside(unit, facts) for unit in episodes)
            enough = count > 0
        if enough:
            hits[chain] = count

    chosen = [
        chain
        for kind, places in (("topic", settings.topics), ("event", settings.events))
        for chain in _choose(
            [chain for chain in hits if chain[0] == kind],
            places,
            question,
            hits,
            of_chain,
            settings,
            embedder,
        )
    ]
    already = set(shown)
    facts = [
        fact
        for chain in chosen
        for fact in of_chain[chain]
        if fact not in already and not _covered(fact, episodes, settings.covered_s)
    ]
    return sorted(facts, key=lambda fact: (fact.start_s, fact.end_s, fact.label, fact.text))


def topic_pattern(label: str) -> re.Pattern[str]:
    """Finds a topic in a text: any case, an optional plural, its words spaced, hyphenated or
    joined."""
    words = [re.escape(word) for word in re.split(r"[\s_-]+", label.strip()) if word]
    return re.compile(r"(?<!\w)" + r"[\s-]?".join(words) + r"(?:e?s)?(?!\w)", re.IGNORECASE)


def _choose(
    chains: Sequence[tuple[ChainKind, str]],
    places: int,
    question: str,
    hits: dict[tuple[ChainKind, str], int],
    of_chain: dict[tuple[ChainKind, str], list[Fact]],
    settings: ChainSettings,
    embedder: Embeds | None,
) -> list[tuple[ChainKind, str]]:
    named = [chain for chain in chains if _named(chain, question)]
    first = sorted(named, key=lambda chain: (-hits[chain], chain))[:places]
    others = [chain for chain in chains if chain not in named]
    free = places - len(first)
    if not free or not others or embedder is None:
        return first
    joined = [" ".join(f.text for f in of_chain[chain])[:JOINED_CHARS] for chain in others]
    rows = embedder.embed([question, *joined])
    similar = rows[1:] @ rows[0]
    order = sorted(range(len(others)), key=lambda number: (-similar[number], others[number]))
    return first + [others[n] for n in order[:free] if similar[n] >= settings.similarity]


def _named(chain: tuple[ChainKind, str], question: str) -> bool:
    """Whether the question names a topic, or one of the telling words of an event's label."""
    kind, label = chain
    if kind == "topic":
        return topic_pattern(label).search(question) is not None
    return bool(set(content_words(label)) & set(content_words(question)))


def _starts_inside(unit: Unit, steps: Sequence[Fact]) -> bool:
    return unit.scale in ("30sec", "3min") and any(
        step.start_s <= unit.start_s <= step.end_s for step in steps
    )


def _covered(fact: Fact, episodes: Sequence[Unit], within_s: float) -> bool:
    return any(
        unit.start_s - within_s <= fact.start_s <= unit.end_s + within_s for unit in episodes
    )
