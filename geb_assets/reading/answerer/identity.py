"""Questions that identity alone decides: whether two things are one, and how many there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from geb_assets.reading.answerer.passages import Passage, support
from geb_assets.reading.biography import Excerpt
from geb_assets.reading.evidence import Evidence
from geb_assets.reading.notes import LONGEST, cliques, handle
from geb_assets.reading.question import Question
from geb_assets.reading.words import content_words

Verdict = Literal["same", "different", "unresolved"]

_PIVOT = re.compile(
    r"\bthe (?:very )?same\b(?:\s+\w+)??\s+(?:one\s+)?(?:as|that|which|who|I|we|he|she|they)\b"
    r"|\b(?:also|later|identical to|the one (?:that|which))\b",
    re.IGNORECASE,
)
_ASKS_SAME = re.compile(r"\b(?:same|identical|different|another)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Sameness:
    """The entities that the two halves of a question point to, and whether they are one."""

    first: Excerpt
    second: Excerpt
    verdict: Verdict
    why: str
    strength: float
    """How well the halves fit their sightings, 0 to 1."""


def sameness(
    question: Question,
    evidence: Evidence,
    found: Sequence[Passage],
    weight: Callable[[str], float],
) -> Sameness | None:
    """Answers "is the A that ... the same A that ...?"; None where that is not asked.

    Each half of the question is given to the sighting that tells most of its words. One entity for
    both halves is the same thing; two entities of which two sightings stood apart in one frame
    are different ones; anything else is unresolved: a different id alone proves nothing.
    """
    if question.asks != "whether" and not _ASKS_SAME.search(question.text):
        return None
    halves = _halves(question.text, evidence)
    if halves is None:
        return None
    excerpts = {excerpt.entity: excerpt for excerpt in evidence.excerpts}
    sightings = [passage for passage in found if passage.entity in excerpts]
    chosen: list[tuple[Passage, float]] = []
    for half, other in (halves, halves[::-1]):
        # What only this half says tells the two sightings apart; the shared name does not.
        wanted = [term for term in half if term not in other] or half
        scored = [
            (support(wanted, p, weight) + 0.2 * support(half, p, weight), p) for p in sightings
        ]
        best = max(scored, key=lambda one: (one[0], -one[1].start_s), default=None)
        if best is None or best[0] <= 0.0:
            return None
        chosen.append((best[1], min(1.0, best[0])))
    (first, near), (second, far) = chosen
    one, two = excerpts[first.entity], excerpts[second.entity]
    show = question.clock.show
    at = f"{show(first.start_s)} and {show(second.start_s)}"
    verdict: Verdict
    if first is second:
        verdict = "unresolved"
        why = f"one sighting of {_called(one)}, at {show(first.start_s)}, answers to both names"
    elif one.entity == two.entity:
        verdict = "same"
        why = f"{_called(one)} was seen at both {at}: one biography"
    elif _proven_different(one, two, evidence):
        verdict = "different"
        why = f"{_called(one)} and {_called(two)}, seen at {at}, stood apart in one picture"
    else:
        verdict = "unresolved"
        why = f"nothing tells whether {_called(one)} and {_called(two)}, seen at {at}, are one"
    return Sameness(one, two, verdict, why, min(near, far))


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
    asked = set(content_words(question.text))
    of_name: dict[str, list[Excerpt]] = {}
    for excerpt in evidence.excerpts:
        head = content_words(excerpt.name)[-1:]
        if head and head[0] in asked and set(content_words(excerpt.name)) & asked:
            of_name.setdefault(head[0], []).append(excerpt)
    if not of_name:
        return None
    name, excerpts = max(of_name.items(), key=lambda item: len(item[1]))
    shown = [excerpt.entity for excerpt in excerpts][:LONGEST]
    apart = {
        one: {other for other in shown if frozenset((one, other)) in evidence.separated}
        for one in shown
    }
    least = max([1, *(len(clique) for clique in cliques(shown, apart))])
    called = ", ".join(handle(entity) for entity in shown)
    why = f"{len(excerpts)} biographies ({called}), at least {least} of them proven different"
    return Count(name, least, len(excerpts), why, tuple(shown))


def _halves(text: str, evidence: Evidence) -> tuple[list[str], list[str]] | None:
    """The words of the two descriptions that a question compares."""
    pivot = _PIVOT.search(text)
    if pivot is not None and pivot.start() > 3:
        return _told(text[: pivot.start()], text[pivot.end() :])
    heads = {head for excerpt in evidence.excerpts for head in content_words(excerpt.name)[-1:]}
    places = [
        match.start()
        for match in re.finditer(r"\bthe\s+(?:\w+\s+){0,3}?\w+", text, re.IGNORECASE)
        if heads & set(content_words(match.group()))
    ]
    return _told(text[: places[1]], text[places[1] :]) if len(places) > 1 else None


def _told(left: str, right: str) -> tuple[list[str], list[str]] | None:
    halves = content_words(left), content_words(right)
    return halves if all(halves) else None


def _proven_different(one: Excerpt, two: Excerpt, evidence: Evidence) -> bool:
    return frozenset((one.entity, two.entity)) in evidence.separated


def _called(excerpt: Excerpt) -> str:
    return f"{excerpt.name} · {handle(excerpt.entity)}"
