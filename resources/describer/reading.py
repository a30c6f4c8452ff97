"""Which lines concern a subject, and which of them state a step taken with it.

Words only: a line never says what a thing looks like, and what a line asks for is no step.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from resources.describer import Line
from resources.describer.colours import COLOUR_WORDS
from resources.describer.vocabulary import (
    BESIDE,
    CLAUSE_WORDS,
    COMPOUND_HEADS,
    DETERMINERS,
    HANDLING,
    NOUN_OR_VERB,
    NOUNS,
    OTHER_THINGS,
    PERSON,
    UNREAL,
    USED_UPON,
    base_verb,
    nouns,
    words,
)

_TOKEN = re.compile(r"#?[A-Za-z](?:[A-Za-z'-]*[A-Za-z])?|\d+|[^\w\s]")
_HARD_STOPS = frozenset(".;!?")
_STOPS = _HARD_STOPS | frozenset(',:"()')
_PRONOUNS = words("i we you he she they it someone somebody who")
_AUXILIARIES = words(
    "am is are was were be been being have has had get gets got i'm he's she's it's they're"
)
_NO_VERB_AFTER = words("with of in by from at on into for left right hot cold")
_BY_ITSELF = words("fall drop break spill roll move tilt shake boil slide")
_PARTICLE_VERBS = words("turn switch flip knock")
_BEFORE_A_HEAD = words(
    "and or in on to from with is was are were into at for by of as then up down off out"
)
_OTHER = words("another other")
_ABSENT = 0.08
"""A colour with less than this share of a subject is not the subject's."""


@dataclass(frozen=True)
class Mention:
    """One line that names the subject's kind.

    ``certain``: nothing in words or sight says that it may mean another one. ``handled``: it
    states a step taken with the subject; of a person, something they do.
    """

    line: int
    certain: bool
    handled: bool


def mentions(
    lines: Sequence[Line],
    label: str,
    *,
    colours: Mapping[str, float],
    least_share: float,
    rivals: bool,
    during: Sequence[bool],
) -> list[Mention]:
    """The lines that concern a subject of a shown ``label``, at most one mention a line.

    ``colours``: share of each colour name in the subject, empty where unseen. A line that names a
    colour is about the subject with that colour (share >= ``least_share``) and not about one
    without it; a line that names none may be about any of several (``rivals``: another of this
    label was seen at the same time). ``during``: whether each line overlaps the encounter.
    """
    found = []
    for place, line in enumerate(lines):
        ranked = [
            (certain, handled)
            for certain, handled in _in_text(line, label, colours, least_share, rivals)
        ]
        if not ranked and label == PERSON and _pronoun_alone(line, rivals, during[place]):
            ranked = [(False, False)]
        if ranked:
            certain, handled = max(ranked)
            found.append(Mention(place, certain, certain and handled))
    return found


def _in_text(
    line: Line, label: str, colours: Mapping[str, float], least_share: float, rivals: bool
) -> list[tuple[bool, bool]]:
    tokens = _TOKEN.findall(line.text.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    lower = [word.lower() for word in tokens]
    spans = _spans(lower, label)
    if not spans or (label == PERSON and line.kind == "transcript"):
        return []  # people talk of people who are elsewhere
    verbs = [_verb(lower, place) for place in range(len(lower))]
    clauses = _clauses(lower, verbs)
    found = []
    for start, end in spans:
        said, other = _adjectives(lower, start)
        certain = not rivals and not other
        if said and colours:
            shares = [colours.get(name, 0.0) for name in said]
            if max(shares) < _ABSENT:
                continue
            certain = max(shares) >= least_share and not other
        clause = next(c for c in clauses if c[0] <= start < c[1])
        asked = "?" in lower[end : _sentence_end(lower, end) + 1]
        handled = line.kind == "caption" and not asked
        if handled:
            states = _does if label == PERSON else _is_handled
            handled = states(lower, verbs, clause, start, end)
        found.append((certain, handled))
    return found


@lru_cache(maxsize=256)
def _phrases(label: str) -> Mapping[str, tuple[tuple[tuple[str, ...], bool], ...]]:
    """Phrases to look for by their first word, longest first, and whether each names the label."""
    own = {tuple(noun.split()): True for noun in nouns(label)}
    foreign = [*OTHER_THINGS, *(noun for known in NOUNS for noun in nouns(known) if " " in noun)]
    every = {tuple(phrase.split()): False for phrase in foreign} | own
    ordered = sorted(every.items(), key=lambda item: (-len(item[0]), item[0]))
    return {
        first: tuple(item for item in ordered if item[0][0] == first)
        for first in {phrase[0] for phrase in every}
    }


def _spans(lower: Sequence[str], label: str) -> list[tuple[int, int]]:
    """Token ranges that name the label."""
    phrases = _phrases(label)
    found = []
    place = 0
    while place < len(lower):
        step = 1
        for phrase, own in phrases.get(lower[place], ()):
            if tuple(lower[place : place + len(phrase)]) == phrase:
                step = len(phrase)
                if own and _is_noun(lower, place, place + step):
                    found.append((place, place + step))
                break
        place += step
    return found


def _is_noun(lower: Sequence[str], start: int, end: int) -> bool:
    before = lower[start - 1] if start else ""
    after = lower[end] if end < len(lower) else ""
    if after in COMPOUND_HEADS:
        return False
    word = lower[start]
    if word == "orange" and after.isalpha() and after not in _BEFORE_A_HEAD:
        return False
    if word in NOUN_OR_VERB:
        two_before = lower[start - 2] if start > 1 else ""
        infinitive = before == "to" and two_before not in {"next", "close", "back", "over", "up"}
        return not (infinitive or before in _PRONOUNS)
    return True


def _adjectives(lower: Sequence[str], start: int) -> tuple[set[str], bool]:
    """Colours named right before a noun, and whether it is called another one."""
    colours, other = set(), False
    for word in reversed(lower[max(0, start - 4) : start]):
        if word in COLOUR_WORDS:
            colours.add(COLOUR_WORDS[word])
        other |= word in _OTHER
        if not word.isalpha() or word in DETERMINERS or base_verb(word):
            break
    return colours, other


def _verb(lower: Sequence[str], place: int) -> str | None:
    """The verb that a token is, judged by its form and the token before it."""
    word = lower[place]
    base = base_verb(word)
    if base is None or place == 0:
        return base
    before = lower[place - 1]
    if before in DETERMINERS or before in _NO_VERB_AFTER:
        return None
    plain = word == base or word.endswith("s")
    if plain and base_verb(before) and before not in _AUXILIARIES:
        return None  # "puts water", "turn left"
    return base


def _clauses(lower: Sequence[str], verbs: Sequence[str | None]) -> list[tuple[int, int]]:
    """Token ranges of the clauses; a stretch without a verb belongs to the clause before it."""
    edges = [0]
    for place, word in enumerate(lower):
        following = lower[place + 1] if place + 1 < len(lower) else ""
        starts = word in {"and", "or"} and (
            following in _PRONOUNS
            or following == "then"
            or (place + 1 < len(lower) and verbs[place + 1] is not None)
        )
        if word in _STOPS or word in CLAUSE_WORDS or starts:
            edges.append(place + 1)
    edges.append(len(lower))
    clauses: list[tuple[int, int]] = []
    for start, end in pairwise(edges):
        if start == end:
            continue
        opener = lower[start - 1] if start else "."
        hard = opener in _HARD_STOPS or (opener in CLAUSE_WORDS and opener != "then")
        speaks = any(verbs[start:end]) or any(word in _AUXILIARIES for word in lower[start:end])
        if clauses and not hard and not speaks:
            clauses[-1] = (clauses[-1][0], end)
        else:
            clauses.append((start, end))
    return clauses


def _sentence_end(lower: Sequence[str], start: int) -> int:
    """Place of the mark that ends the sentence."""
    return next((p for p in range(start, len(lower)) if lower[p] in _HARD_STOPS), len(lower))


def _is_handled(
    lower: Sequence[str],
    verbs: Sequence[str | None],
    clause: tuple[int, int],
    start: int,
    end: int,
) -> bool:
    """Whether the clause states a step taken with the thing at tokens ``start`` to ``end``."""
    first, last = clause
    if any(word in UNREAL for word in lower[first:start]):
        return False
    governing = next((p for p in range(start - 1, first - 1, -1) if verbs[p]), None)
    if governing is None:
        return _undergoes(lower, verbs, end, last)
    verb = verbs[governing]
    between = list(lower[governing + 1 : start])
    if between[:1] in (["on"], ["over"]) and verb in USED_UPON | _PARTICLE_VERBS:
        between = between[1:]
    return verb in HANDLING and not any(word in BESIDE for word in between)


def _undergoes(lower: Sequence[str], verbs: Sequence[str | None], end: int, last: int) -> bool:
    """A thing that heads its clause: `the cup is washed`, `the cup falls`."""
    after = [p for p in range(end, min(end + 3, last))]
    if any(lower[p] in UNREAL for p in after):
        return False
    verb = next((p for p in after if verbs[p]), None)
    if verb is None:
        return False
    passive = any(lower[p] in _AUXILIARIES for p in range(end, verb))
    participle = lower[verb] != verbs[verb] and not lower[verb].endswith(("s", "ing"))
    return verbs[verb] in _BY_ITSELF or (
        passive
        and (participle or lower[verb] in {"put", "cut", "shut", "set"})
        and verbs[verb] in HANDLING
    )


def _does(
    lower: Sequence[str],
    verbs: Sequence[str | None],
    clause: tuple[int, int],
    start: int,
    end: int,
) -> bool:
    """Whether the person at tokens ``start`` to ``end`` heads a clause that says what they do."""
    first, last = clause
    if any(verbs[first:start]) or any(word in BESIDE for word in lower[first:start]):
        return False
    after = range(end, min(end + 4, last))
    if any(lower[p] in UNREAL for p in after):
        return False
    return any(verbs[p] for p in after)


def _pronoun_alone(line: Line, rivals: bool, during: bool) -> bool:
    """Whether a narrated `he` or `she` may be the one person in view."""
    spoken = set(re.findall(r"[a-z]+", line.text.lower()))
    return line.kind == "caption" and during and not rivals and bool(spoken & {"he", "she"})
