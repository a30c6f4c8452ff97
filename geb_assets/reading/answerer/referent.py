"""Which biography a description points to: `the cup that I put away in the cupboard`.

The moment is found first, in the captions, then the thing that was in view then. A description of a
sighting quotes lines told up to 40 s away from it and may so tell what happened to another thing;
a caption tells what went on in its own time, and wins where both tell it (spec 9.40).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from geb_assets.clock import day_of
from geb_assets.reading.answerer.passages import coverage, sentences, terms
from geb_assets.reading.biography import Excerpt, Span
from geb_assets.reading.description import Description
from geb_assets.reading.evidence import Evidence
from geb_assets.reading.notes import handle
from geb_assets.reading.words import content_words, stem, words

Weight = Callable[[str], float]

_TELLS = 0.5
"""Share of a description's words, by weight, from which a sentence tells its moment."""
_NOUN_SHARE = 0.25
"""What the thing's own name counts beside what is told of it."""
_QUOTED = 80
"""Characters of a moment that a reason quotes."""


@dataclass(frozen=True)
class Told:
    """One sentence of a caption, or what is told of one sighting."""

    text: str
    terms: frozenset[str]
    start_s: float
    end_s: float
    """The caption's span: what the sentence tells happened within it."""
    about: Span
    """Where the sentence stands in it, give or take a sentence: captions follow time."""
    source: str
    entity: str = ""
    """Of a sighting."""

    @property
    def middle_s(self) -> float:
        return (self.about[0] + self.about[1]) / 2


@dataclass(frozen=True)
class Referent:
    """The entity that a description means, and the moment that shows it."""

    excerpt: Excerpt
    moment: Told
    seen: Span
    """Its sighting at that moment, s."""
    strength: float
    """How well the moment fits the description, 0 to 1."""


class Scene:
    """The evidence as moments, and who was in view at each."""

    def __init__(self, evidence: Evidence, weight: Weight) -> None:
        self.excerpts = {excerpt.entity: excerpt for excerpt in evidence.excerpts}
        self._evidence = evidence
        self._weight = weight

    @cached_property
    def told(self) -> list[Told]:
        """The sentences of the 30-second captions, in time order."""
        found: list[Told] = []
        for unit in self._evidence.units:
            if unit.scale != "30sec":
                continue
            said = sentences(unit.text)
            step = (unit.end_s - unit.start_s) / max(len(said), 1)
            found += [
                Told(
                    text, terms(text), unit.start_s, unit.end_s,
                    (unit.start_s + (place - 1) * step, unit.start_s + (place + 2) * step), unit.id,
                )
                for place, text in enumerate(said)
            ]  # fmt: skip
        return sorted(found, key=lambda one: one.middle_s)

    @cached_property
    def sighted(self) -> list[Told]:
        """What is told of each described sighting."""
        return [
            Told(
                block.text, terms(block.text), block.start_s, block.end_s,
                (block.start_s, block.end_s), block.observation, excerpt.entity,
            )
            for excerpt in self.excerpts.values()
            for block in excerpt.blocks
        ]  # fmt: skip

    def sightings(self, entity: str) -> list[Span]:
        """All known times of an entity, described or not, in time order."""
        excerpt = self.excerpts[entity]
        listed = excerpt.also.times if excerpt.also is not None else ()
        return sorted([*((b.start_s, b.end_s) for b in excerpt.blocks), *listed])

    def _bearing(self, noun: str) -> list[str]:
        return bearing(noun, list(self.excerpts.values()))

    def resolve(self, described: Description) -> Referent | None:
        """The entity that is meant; None where the evidence does not single one out."""
        if not described.name:
            return None
        if not described.told:
            return self._by_name(described)
        among = self._bearing(described.name[-1])
        fit, moment = self._best(self.told, described)
        own_fit, sighting = self._best(
            [one for one in self.sighted if one.entity in among], described
        )
        if moment is not None and fit >= own_fit - 1e-9:
            return self._referent(self.owner(moment, described), moment, fit)
        return None if sighting is None else self._referent(sighting.entity, sighting, own_fit)

    def owner(self, moment: Told, described: Description) -> str | None:
        """The thing of that name that a moment is about.

        The only one in view; of several the one whose own description tells it; else the one that
        goes by the words that stand before the noun (`the red cup`); else the one in view about
        where the sentence stands in its caption.
        """
        noun = described.name[-1]
        here = self._in_view(self._bearing(noun), moment.start_s, moment.end_s)
        if len(here) < 2:
            return here[0] if here else None
        wanted = described.told or tuple(moment.terms)
        telling = [
            entity
            for entity in here
            if any(
                one.entity == entity
                and one.start_s < moment.end_s
                and one.end_s > moment.start_s
                and coverage(wanted, one.terms, self._weight) >= _TELLS
                for one in self.sighted
            )
        ]
        if len(telling) == 1:
            return telling[0]
        modifiers = [*described.name[:-1], *_modifiers(moment.text, noun)]
        going = self._going_by(modifiers, noun, here)
        if len(going) == 1:
            return going[0]
        now = self._in_view(here, *moment.about)
        return now[0] if len(now) == 1 else None

    def _by_name(self, described: Description) -> Referent | None:
        """A description by name alone: `the red cup of day 1`."""
        *modifiers, noun = described.name
        among = self._bearing(noun)
        going = self._going_by(modifiers, noun, among) if modifiers else among
        if len(going) != 1:
            return None
        for one in sorted([*self.told, *self.sighted], key=lambda told: told.middle_s):
            named = one.entity in ("", going[0]) and set(described.name) <= one.terms
            if named and self._on_day(one, described) and self._seen(going[0], one) is not None:
                return self._referent(going[0], one, 1.0)
        return None

    def _going_by(self, modifiers: Sequence[str], noun: str, among: Sequence[str]) -> list[str]:
        """Those that go by the words before the noun: by name, else by what captions call the one
        that alone is in view."""
        if not modifiers:
            return []
        wanted = set(modifiers)
        named = [e for e in among if wanted & set(content_words(self.excerpts[e].name))]
        if named:
            return named
        votes: Counter[str] = Counter()
        for one in self.told:
            if wanted & set(_modifiers(one.text, noun)):
                here = self._in_view(self._bearing(noun), one.start_s, one.end_s)
                votes.update(here if len(here) == 1 else ())
        most = max((votes[entity] for entity in among), default=0)
        return [entity for entity in among if votes[entity] == most] if most else []

    def _best(self, among: Sequence[Told], described: Description) -> tuple[float, Told | None]:
        """How much of the description the best sentence tells, and it; of equal ones the
        earliest."""
        most, best = 0.0, None
        for one in among:
            clause = coverage(described.told, one.terms, self._weight)
            if clause < _TELLS or not self._on_day(one, described):
                continue
            name = coverage(described.name, one.terms, self._weight)
            score = (1 - _NOUN_SHARE) * clause + _NOUN_SHARE * name
            if score > most + 1e-9:
                most, best = score, one
        return most, best

    @staticmethod
    def _on_day(one: Told, described: Description) -> bool:
        return described.day is None or day_of(one.middle_s) == described.day

    def _in_view(self, entities: Sequence[str], start_s: float, end_s: float) -> list[str]:
        return [
            entity
            for entity in entities
            if any(start <= end_s and end >= start_s for start, end in self.sightings(entity))
        ]

    def _seen(self, entity: str, moment: Told) -> Span | None:
        """The sighting at a moment, the one nearest to where its sentence stands."""
        there = [
            (start, end)
            for start, end in self.sightings(entity)
            if start <= moment.end_s and end >= moment.start_s
        ]
        middle = moment.middle_s
        return min(there, key=lambda s: max(s[0] - middle, middle - s[1], 0.0), default=None)

    def _referent(self, entity: str | None, moment: Told, strength: float) -> Referent | None:
        seen = None if entity is None else self._seen(entity, moment)
        if entity is None or seen is None:
            return None
        return Referent(self.excerpts[entity], moment, seen, min(1.0, strength))


def bearing(noun: str, excerpts: Sequence[Excerpt]) -> list[str]:
    """Entities that bear this name (a stem); where none does, those most told of under it."""
    named = [one.entity for one in excerpts if noun in content_words(one.name)]
    return named or [
        one.entity
        for one in excerpts
        if (told := [content_words(block.text) for block in one.blocks if block.text])
        and 2 * sum(noun in words for words in told) >= len(told)
    ]


def called(excerpt: Excerpt) -> str:
    """Name and id as the page shows them."""
    return f"{excerpt.name} · {handle(excerpt.entity)}"


def moment_shown(referent: Referent, show: Callable[[float], str]) -> str:
    """When the thing was seen, and the words that tell the moment."""
    return f'{show(referent.seen[0])} ("{" ".join(referent.moment.text.split())[:_QUOTED]}")'


def _modifiers(text: str, noun: str) -> list[str]:
    """Stems of the words that stand right before a noun and say which one is meant."""
    said = words(text)
    return [
        stem(before)
        for before, word in pairwise(said)
        if stem(word) == noun and content_words(before)
    ]
