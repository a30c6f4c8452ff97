"""The evidence cut into short passages, and how much each has to do with the question."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from geb_assets.reading.evidence import Evidence
from geb_assets.reading.question import Question
from geb_assets.reading.words import STOP_WORDS, content_words, stem, words

SELF = "<self>"
"""The wearer of the camera, whatever word stands for them."""

_SELF_WORDS = frozenset({"i", "i'm", "i'll", "i've", "i'd", "me", "my", "mine", "myself"})
_SENTENCE = re.compile(r"(?<=[.!?。！？;\"])\s+")
_RANK_DECAY = 0.1
_FIRSTHAND = 0.6
"""What the episode around a sighting counts, beside what is told of the sighting itself."""


@dataclass(frozen=True)
class Passage:
    """A sentence with its neighbours, or what is told of one sighting."""

    text: str
    terms: frozenset[str]
    start_s: float
    end_s: float
    source: str
    """Id of its unit."""
    rank: int
    """Place of its unit among those received."""
    entity: str = ""
    around: frozenset[str] = field(default=frozenset(), repr=False)
    """Terms of the episodes at the time of a sighting."""


def terms(text: str) -> frozenset[str]:
    """Stems of a text's words, the wearer's many names as one."""
    found = {
        SELF if word in _SELF_WORDS else stem(word)
        for word in words(text)
        if word in _SELF_WORDS or word not in STOP_WORDS or word.isdigit()
    }
    return frozenset(found)


def sentences(text: str) -> list[str]:
    """The sentences of a caption, in their order."""
    return [sentence for sentence in _SENTENCE.split(text) if sentence]


def passages(evidence: Evidence) -> list[Passage]:
    """All passages of the evidence: three sentences each of a caption, a sighting as a whole.

    A sighting carries its entity's name, and knows the words of the episodes that overlap it.
    """
    ranks = {unit.id: number for number, unit in enumerate(evidence.units)}
    episodes = [unit for unit in evidence.units if unit.kind == "episode" and unit.text]
    found: list[Passage] = []
    for unit in episodes:
        told = sentences(unit.text)
        said = [terms(sentence) for sentence in told]
        for place in range(len(told)):
            near = slice(max(0, place - 1), place + 2)
            found.append(
                Passage(
                    told[place], frozenset().union(*said[near]), unit.start_s, unit.end_s,
                    unit.id, ranks[unit.id],
                )
            )  # fmt: skip
    short = [(unit, terms(unit.text)) for unit in episodes if unit.scale == "30sec"]
    for excerpt in evidence.excerpts:
        for block in excerpt.blocks:
            around = [
                said
                for unit, said in short
                if unit.start_s < block.end_s and unit.end_s > block.start_s
            ]
            found.append(
                Passage(
                    block.text or excerpt.name,
                    terms(f"{excerpt.name}. {block.text}"),
                    block.start_s,
                    block.end_s,
                    block.observation,
                    ranks.get(block.observation, 0),
                    excerpt.entity,
                    frozenset().union(*around),
                )
            )
    found += [
        Passage(fact.text, terms(f"{fact.label}. {fact.text}"), fact.start_s, fact.end_s,
                f"{fact.kind} {fact.label}", len(ranks))
        for fact in evidence.facts
    ]  # fmt: skip
    return found


def rarity(found: Sequence[Passage]) -> Callable[[str], float]:
    """How much a word tells: the rarer among the passages, the more."""
    counts = Counter(term for passage in found for term in passage.terms)
    total = len(found)

    def weight(term: str) -> float:
        if term == SELF:
            return 1.0
        return math.log(1 + (total - counts[term] + 0.5) / (counts[term] + 0.5))

    return weight


def coverage(wanted: Iterable[str], there: frozenset[str], weight: Callable[[str], float]) -> float:
    """Share of the wanted words, by weight, that are there; 0 where none is wanted."""
    weights = {term: weight(term) for term in wanted}
    total = sum(weights.values())
    return sum(w for term, w in weights.items() if term in there) / total if total else 0.0


def relevances(
    question: Question, found: Sequence[Passage], weight: Callable[[str], float]
) -> list[float]:
    """How much each passage has to do with the question, 0 to 1.

    Words and, where the question names times, nearness to them count half each. A sighting shares
    in what its entity's best sighting has: the biography was entered there, and the question may
    be about another of its times (paper 3.4).
    """
    wanted = content_words(question.text)
    whens = question.whens(now=max((passage.end_s for passage in found), default=0.0))

    def own_of(passage: Passage) -> float:
        told = support(wanted, passage, weight)
        if whens:
            middle = (passage.start_s + passage.end_s) / 2
            told = (told + max(when.fits(middle) for when in whens)) / 2
        return told / (1 + _RANK_DECAY * passage.rank)

    own = [own_of(passage) for passage in found]
    best: dict[str, float] = {}
    for passage, relevance in zip(found, own, strict=True):
        best[passage.entity] = max(best.get(passage.entity, 0.0), relevance)
    return [
        (relevance + best[passage.entity]) / 2 if passage.entity else relevance
        for passage, relevance in zip(found, own, strict=True)
    ]


def support(wanted: Iterable[str], passage: Passage, weight: Callable[[str], float]) -> float:
    """Share of a choice's words that a passage holds, at first hand or around it."""
    wanted = list(wanted)
    near = coverage(wanted, passage.terms, weight)
    if not passage.around:
        return near
    return max(near, _FIRSTHAND * coverage(wanted, passage.terms | passage.around, weight))
