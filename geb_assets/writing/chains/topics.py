"""What a recording's captions come back to: noun candidates, and the captions that name each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from geb_assets.clock import day_of

_WORD = re.compile(r"[a-z][a-z'-]+")
_PEOPLE = frozenset(
    [
        "i",
        "me",
        "my",
        "we",
        "us",
        "our",
        "you",
        "he",
        "him",
        "his",
        "she",
        "her",
        "they",
        "them",
        "their",
        "it",
        "its",
        "this",
        "that",
        "these",
        "those",
        "who",
        "man",
        "woman",
        "person",
        "people",
        "someone",
        "everyone",
        "others",
        "group",
        "hand",
        "hands",
    ]
)
_COMMON = frozenset(
    [
        "a",
        "an",
        "the",
        "and",
        "or",
        "but",
        "of",
        "in",
        "on",
        "at",
        "to",
        "from",
        "with",
        "for",
        "by",
        "as",
        "into",
        "onto",
        "out",
        "up",
        "down",
        "over",
        "under",
        "then",
        "while",
        "when",
        "before",
        "after",
        "again",
        "also",
        "still",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "has",
        "have",
        "had",
        "do",
        "does",
        "did",
        "not",
        "no",
        "so",
        "if",
        "there",
        "here",
        "what",
        "which",
        "some",
        "any",
        "all",
        "both",
        "each",
        "few",
        "more",
        "most",
        "other",
        "one",
        "two",
        "three",
        "start",
        "starts",
        "began",
        "begin",
        "begins",
        "continue",
        "continues",
        "side",
        "left",
        "right",
        "top",
        "front",
        "back",
        "way",
        "thing",
        "things",
        "time",
        "moment",
        "put",
        "puts",
        "take",
        "takes",
        "took",
        "pick",
        "picks",
        "picked",
        "look",
        "looks",
        "looked",
        "go",
        "goes",
        "went",
        "come",
        "comes",
        "came",
        "get",
        "gets",
        "got",
        "move",
        "moves",
        "moved",
        "hold",
        "holds",
        "held",
        "place",
        "places",
        "placed",
        "turn",
        "turns",
        "turned",
        "walk",
        "walks",
        "walked",
        "say",
        "says",
        "said",
        "talk",
        "talks",
        "talked",
    ]
)


@dataclass(frozen=True)
class Caption:
    """A 30-second caption."""

    start_s: float
    end_s: float
    visible_from: float
    text: str


@dataclass(frozen=True)
class Topic:
    """A candidate and the captions that name it, in time order."""

    label: str
    captions: tuple[Caption, ...]

    @property
    def known_from(self) -> float:
        """From when it is a topic: its second caption, s."""
        return sorted(one.visible_from for one in self.captions)[1]


def topics(captions: Sequence[Caption], names: Collection[str], most: int) -> list[Topic]:
    """At most ``most`` topics, those of the most captions first, then by label.

    Candidates are words of the captions and the entities' ``names`` (MAGIC takes them from its
    triples, which are not built here), no people and nothing said of everything, in two captions
    at least (spec 3.1).
    """
    texts = [one.text.lower() for one in captions]
    words = [set(_WORD.findall(text)) for text in texts]
    count = Counter(word for own in words for word in own)
    single = {
        word for word, seen in count.items()
        if seen >= 2 and len(word) > 2 and word not in _COMMON | _PEOPLE
    }  # fmt: skip
    phrases = {" ".join(name.lower().split()) for name in names}
    candidates = single | {one for one in phrases if len(one) > 2 and one not in _PEOPLE}
    naming: dict[str, list[int]] = {}
    for place, own in enumerate(words):
        for word in own:
            naming.setdefault(word, []).append(place)
    found = []
    for label in sorted(candidates):
        places = naming.get(label.split()[0], [])
        own_places = [place for place in places if " " not in label or label in texts[place]]
        if len(own_places) >= 2:
            found.append(Topic(label, tuple(captions[place] for place in own_places)))
    return sorted(found, key=lambda one: (-len(one.captions), one.label))[:most]


def chunks(topic: Topic, most: int) -> Iterator[tuple[Caption, ...]]:
    """The topic's captions day by day, at most ``most`` in one call."""
    days: dict[int, list[Caption]] = {}
    for caption in topic.captions:
        days.setdefault(day_of(caption.start_s), []).append(caption)
    for own in days.values():
        for begin in range(0, len(own), most):
            yield tuple(own[begin : begin + most])
