"""How a question describes a thing without naming it: `the cup that I drank from on day 1`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from geb_assets.reading.words import content_words

_RELATIVE = re.compile(r"\b(?:that|which|who|whom|I|we|he|she|they|you)\b", re.IGNORECASE)
_DAY = re.compile(r"\b(?:on |of )?day\s*(\d+)\b", re.IGNORECASE)
_ORDER = re.compile(r"\b(?:later|earlier|afterwards?|previously|again|originally)\b", re.IGNORECASE)
"""Words that place a moment among others and tell nothing of it."""
_DESCRIBED = re.compile(
    r"\bthe (?:[\w'-]+ ){0,3}?[\w'-]+ (?:that|which|who|whom) [^?.!]+", re.IGNORECASE
)
_NAMED = re.compile(
    r"\bthe ((?:[\w'-]+ ){0,3}?[\w'-]+)(?= (?:last|first|seen|before)\b|\?|$)", re.IGNORECASE
)
_PIVOT = re.compile(
    r"\bthe (?:very )?same\b(?:\s+\w+)??\s+(?:one\s+)?"
    r"(?:as|(?P<relative>that|which|who|I|we|he|she|they))\b"
    r"|\b(?:also|later|identical to|the one (?:that|which))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Description:
    """What a thing is called and what is told of it, as stems."""

    name: tuple[str, ...]
    told: tuple[str, ...] = ()
    day: int | None = None
    """The day that it speaks of, from 1."""

    @classmethod
    def of(cls, text: str) -> Description:
        """Reads a text that begins with the thing; its relative clause is what is told."""
        bare = _ORDER.sub(" ", _DAY.sub(" ", text))
        clause = _RELATIVE.search(bare)
        name = bare if clause is None else bare[: clause.start()]
        told = "" if clause is None else bare[clause.end() :]
        return cls(tuple(content_words(name)), tuple(content_words(told)), day_named(text))

    def called(self, other: Description) -> Description:
        """With the other's noun, where it has no name of its own (`the same one that ...`)."""
        return self if self.name else replace(self, name=other.name[-1:])


def day_named(text: str) -> int | None:
    """The day of `on day 2`."""
    found = _DAY.search(text)
    return int(found[1]) if found else None


def described(text: str) -> str | None:
    """The part of a question that describes a thing by what is told of it, to the end."""
    found = _DESCRIBED.search(text)
    return found.group() if found else None


def named(text: str) -> str | None:
    """The thing that a question names and tells nothing of: `when was the red cup last seen?`"""
    found = _NAMED.search(text)
    return found[1] if found else None


def compared(text: str) -> tuple[str, str] | None:
    """The two descriptions of a question whether one thing is another, as it words them."""
    pivot = _PIVOT.search(text)
    if pivot is None or pivot.start() <= 3:
        return None
    second = f"{pivot['relative'] or ''} {text[pivot.end() :]}"
    return text[: pivot.start()].strip(), " ".join(second.split())
