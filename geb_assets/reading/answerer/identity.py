"""Questions that identity alone decides: whether two things are one, and how many there are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from geb_assets.reading.answerer.referent import Scene, Weight, bearing, called, moment_shown
from geb_assets.reading.description import Description, compared
from geb_assets.reading.evidence import Evidence
from geb_assets.reading.notes import LONGEST, cliques, handle
from geb_assets.reading.question import Question
from geb_assets.reading.words import content_words

Verdict = Literal["same", "different", "unresolved"]

_DEFINITE = re.compile(r"\bthe\s+(?=(?P<following>(?:(?!the\b)\w+\s*){1,3}))", re.IGNORECASE)
_ASKS_SAME = re.compile(r"\b(?:same|identical|different|another)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Sameness:
    """Whether the two halves of a question point to one thing."""

    verdict: Verdict
    why: str
    strength: float = 0.0
    """How well the halves fit their moments, 0 to 1."""
    entities: tuple[str, ...] = ()
    """What the halves point to."""


def sameness(question: Question, evidence: Evidence, weight: Weight) -> Sameness | None:
    """Answers "is the A that ... the same A that ...?"; None where that is not asked.

    One entity for both halves is the same thing; two entities of which two sightings stood apart
    in one frame are different ones; anything else is unresolved: a different id alone proves
    nothing.
    """
    if question.asks != "whether" and not _ASKS_SAME.search(question.text):
        return None
    halves = _halves(question.text, evidence) if evidence.excerpts else None
    if halves is None:
        return None
    scene = Scene(evidence, weight)
    left, right = (Description.of(half) for half in halves)
    first, second = scene.resolve(left.called(right)), scene.resolve(right.called(left))
    if first is None or second is None:
        return Sameness("unresolved", "the evidence does not single out both things that are meant")
    show = question.clock.show
    one, other = first.excerpt, second.excerpt
    entities = tuple(dict.fromkeys((one.entity, other.entity)))
    strength = min(first.strength, second.strength)
    told = f"{moment_shown(first, show)} and {moment_shown(second, show)}"
    if first.moment == second.moment:
        why = f"one moment answers to both names: {moment_shown(first, show)}"
        return Sameness("unresolved", why, strength, entities)
    if one.entity == other.entity:
        why = f"one biography, {called(one)}, holds both {told}"
        return Sameness("same", why, strength, entities)
    which = " and ".join(f"{called(r.excerpt)} at {moment_shown(r, show)}" for r in (first, second))
    if frozenset(entities) in evidence.separated:
        why = f"two biographies that stood apart in one picture: {which}"
        return Sameness("different", why, strength, entities)
    return Sameness(
        "unresolved", f"nothing tells whether these are one: {which}", strength, entities
    )


@dataclass(frozen=True)
class Count:
    """How many things bear a name: at least, and at most."""

    name: str
    least: int
    most: int
    why: str
    entities: tuple[str, ...]


def count_things(question: Question, evidence: Evidence) -> Count | None:
    """Answers "how many (different) A ...?" from biographies; None where that is not asked.

    At least as many as the largest set of ids proven to be several; at most as many as ids.
    """
    if question.asks != "how many" or re.search(r"\b(?:times|often|much)\b", question.text, re.I):
        return None
    heads = {head for one in evidence.excerpts for head in content_words(one.name)[-1:]}
    asked = content_words(question.text)
    found = [
        (noun, bearing(noun, evidence.excerpts))
        for noun in [noun for noun in asked if noun in heads] or asked
    ]
    name, entities = max(found, key=lambda one: len(one[1]), default=("", []))
    if not entities:
        return None
    shown = entities[:LONGEST]
    apart = {
        one: {other for other in shown if frozenset((one, other)) in evidence.separated}
        for one in shown
    }
    least = max([1, *(len(clique) for clique in cliques(shown, apart))])
    listed = ", ".join(handle(entity) for entity in shown)
    proof = f", at least {least} of them proven different" if len(shown) > 1 else ""
    noun = "biography" if len(entities) == 1 else "biographies"
    why = f"{len(entities)} {noun} ({listed}){proof}"
    return Count(name, least, len(entities), why, tuple(shown))


def _halves(text: str, evidence: Evidence) -> tuple[str, str] | None:
    """The two descriptions that a question compares."""
    halves = compared(text)
    if halves is not None:
        return halves
    heads = {head for excerpt in evidence.excerpts for head in content_words(excerpt.name)[-1:]}
    places = [
        match.start()
        for match in _DEFINITE.finditer(text)
        if heads & set(content_words(match["following"]))
    ]
    return (text[: places[1]], text[places[1] :]) if len(places) > 1 else None
