"""Clothing profiles of one day, and which of their features tell one person from the others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_WORD = re.compile(r"[a-z0-9]+")
_PLAIN = frozenset(
    [
        "a",
        "an",
        "the",
        "and",
        "or",
        "of",
        "with",
        "in",
        "on",
        "at",
        "to",
        "is",
        "are",
        "was",
        "has",
        "have",
        "her",
        "his",
        "their",
        "its",
        "wearing",
        "wears",
        "worn",
        "dressed",
        "color",
        "colored",
        "colour",
        "coloured",
        "person",
        "man",
        "woman",
    ]
)

Feature = frozenset[str]
"""The telling words of a stable feature, such as {green, apron}."""


def feature(text: str) -> Feature:
    """The telling words of a phrase, plural or not."""
    words = (word for word in _WORD.findall(text.lower()) if word not in _PLAIN)
    return frozenset(word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words)


def telling(profiles: Mapping[str, Sequence[str]]) -> dict[str, list[Feature]]:
    """Person to those features of the day that nobody else of the cast has on that day.

    A feature is shared where another's profile holds all of its words in one phrase, or where its
    words hold all of another's: "apron" tells nobody from "green apron".
    """
    own = {
        name: [one for text in texts if (one := feature(text))] for name, texts in profiles.items()
    }
    return {
        name: [
            one
            for one in features
            if not any(
                one <= other or other <= one
                for rival, others in own.items()
                if rival != name
                for other in others
            )
        ]
        for name, features in own.items()
    }


def match(
    descriptions: Sequence[str], profiles: Mapping[str, Sequence[str]], share: float
) -> tuple[str, tuple[str, ...]] | None:
    """The one person of a day whose telling features an entity shows, and which they are.

    ``descriptions``: what is said of the looks of its encounters that day. A feature is shown where
    its words stand in at least ``share`` of them. Abstains (None) where no telling feature is
    shown, or telling features of two people are.
    """
    if not descriptions:
        return None
    said = [feature(text) for text in descriptions]
    shown = {
        name: tuple(
            " ".join(sorted(one))
            for one in features
            if sum(one <= text for text in said) >= share * len(said)
        )
        for name, features in telling(profiles).items()
    }
    people = [name for name, features in shown.items() if features]
    return (people[0], shown[people[0]]) if len(people) == 1 else None
