"""Questions about one thing that its description singles out, answered from its biography:
`when was the cup that I drank from last seen?`, `which colour has it?`, `what became of it?`"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from geb_assets.clock import day_of
from geb_assets.reading.answerer import Answer
from geb_assets.reading.answerer.passages import coverage, terms
from geb_assets.reading.answerer.referent import (
    Referent,
    Scene,
    Told,
    Weight,
    bearing,
    called,
    moment_shown,
)
from geb_assets.reading.description import Description, day_named, described, named
from geb_assets.reading.evidence import Evidence
from geb_assets.reading.question import Question
from geb_assets.reading.times import parse_when

_SEEN = re.compile(r"\b(?:see|saw|seen|spotted)\b", re.IGNORECASE)
_BECAME = re.compile(r"\b(?:happen\w*|becomes?|became|do|did|done|later)\b", re.IGNORECASE)
_LEAD = 0.04
"""Lead of the best choice, as a share of all support, from which it is decided."""
_HINT = 0.5
"""What a sighting's description counts beside a caption: it may quote another thing's lines."""
_NEAR_S = 10.0
"""A sentence this far from the last sighting counts half as much for where that was."""
_SHOWN = 4


@dataclass(frozen=True)
class _Followed:
    """The thing that a question follows."""

    question: Question
    scene: Scene
    referent: Referent
    weight: Weight
    noun: str
    day: int | None
    """The day that is asked about."""

    @property
    def entity(self) -> str:
        return self.referent.excerpt.entity

    @property
    def because(self) -> str:
        show = self.question.clock.show
        return f"{called(self.referent.excerpt)}, seen at {moment_shown(self.referent, show)}"

    def told(self) -> Iterator[Told]:
        """The sentences of captions that are about it, in time order."""
        bare = Description((self.noun,))
        for one in self.scene.told:
            if self.noun in one.terms and self.scene.owner(one, bare) == self.entity:
                yield one

    def answer(self, text: str, *, why: str, letter: str | None = None) -> Answer:
        return Answer(
            text,
            letter,
            confidence=0.5 + self.referent.strength / 2,
            why=f"{self.because}: {why}",
            supports=(self.entity, self.referent.moment.source),
        )


def follow(question: Question, evidence: Evidence, weight: Weight) -> Answer | None:
    """None where the question describes no one thing, or asks for what a biography cannot tell."""
    edges = _SEEN.search(question.text) is not None and question.order in ("first", "last")
    thing = described(question.text) or (named(question.text) if edges else None)
    if thing is None or not evidence.excerpts:
        return None
    description = Description.of(thing)
    scene = Scene(evidence, weight)
    referent = scene.resolve(description)
    if referent is None:
        return None
    rest = question.text.replace(thing, " ")
    followed = _Followed(
        question, scene, referent, weight, description.name[-1], day_named(rest)
    )  # fmt: skip
    if edges:
        return _seen_when(followed) if question.asks == "when" else _seen_where(followed)
    if question.choices:
        return _weighed(followed, _biography(followed))
    return _became(followed) if _BECAME.search(rest) else None


def is_lost(question: Question, evidence: Evidence, weight: Weight) -> bool:
    """Whether a question describes one of several things and the evidence does not say which."""
    thing = described(question.text)
    if thing is None:
        return False
    description, scene = Description.of(thing), Scene(evidence, weight)
    return bool(description.name) and (
        len(bearing(description.name[-1], evidence.excerpts)) > 1
        and scene.resolve(description) is None
    )


def _edge(followed: _Followed) -> float:
    """Its first or its last time, s."""
    excerpt = followed.referent.excerpt
    return excerpt.start_s if followed.question.order == "first" else excerpt.end_s


def _seen_when(followed: _Followed) -> Answer | None:
    question, time = followed.question, _edge(followed)
    often = len(followed.scene.sightings(followed.entity))
    why = f"the {question.order} of its {often} known times"
    if not question.choices:
        return followed.answer(f"{question.clock.show(time)}.", why=why)
    if question.at is None:
        return None
    whens = [parse_when(c, clock=question.clock, at=question.at) for c in question.choices]
    fits = [0.0 if when is None else when.fits(time) for when in whens]
    return _chosen(followed, fits, why)


def _seen_where(followed: _Followed) -> Answer | None:
    time = _edge(followed)
    there = [one for one in followed.scene.told if one.start_s <= time <= one.end_s]
    if not there:
        return None
    near = {one: 1 / (1 + abs(one.middle_s - time) / _NEAR_S) for one in there}
    if followed.question.choices:
        return _weighed(followed, near)
    best = max(there, key=lambda one: (followed.noun in one.terms, near[one]))
    show = followed.question.clock.show
    return followed.answer(
        f"{show(time)}: {best.text}", why=f"the {followed.question.order} time it was seen"
    )


def _biography(followed: _Followed) -> dict[Told, float]:
    own = [one for one in followed.scene.sighted if one.entity == followed.entity]
    return {one: 1.0 for one in followed.told()} | {one: _HINT for one in own}


def _became(followed: _Followed) -> Answer | None:
    show = followed.question.clock.show
    later = [
        one
        for one in followed.told()
        if one.middle_s > followed.referent.moment.middle_s
        and (followed.day is None or day_of(one.middle_s) == followed.day)
    ]
    if not later:
        return None
    text = "; ".join(f"{show(one.middle_s)} {one.text.rstrip('.')}" for one in later[:_SHOWN])
    return followed.answer(f"{text}.", why=f"{len(later)} later moments of it are told")


def _weighed(followed: _Followed, evidence: dict[Told, float]) -> Answer | None:
    """The choice that these sentences tell most of, each as far as it counts."""
    wanted = [terms(choice) for choice in followed.question.choices]
    shared = frozenset.intersection(*wanted)
    gains = [
        {
            one: counts * coverage(words - shared or words, one.terms, followed.weight)
            for one, counts in evidence.items()
        }
        for words in wanted
    ]
    scores = [sum(of.values()) for of in gains]
    if not sum(scores):
        return None
    leading = gains.pop(max(range(len(scores)), key=lambda n: (scores[n], -n)))
    best = max(leading, key=lambda one: leading[one] - max(of[one] for of in gains))
    show = followed.question.clock.show
    return _chosen(followed, scores, f'of it is told "{best.text}" ({show(best.middle_s)})')


def _chosen(followed: _Followed, scores: list[float], why: str) -> Answer | None:
    """The choice with the most; its confidence is its share."""
    total = sum(scores)
    if not total:
        return None
    first, second = sorted(range(len(scores)), key=lambda n: (-scores[n], n))[:2]
    decided = (scores[first] - scores[second]) / total >= _LEAD
    answer = followed.answer(
        followed.question.choices[first], why=why, letter=followed.question.letters[first]
    )
    return replace(answer, decided=decided, confidence=scores[first] / total)
