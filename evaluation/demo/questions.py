"""Questions about the demonstration recording, made by templates from its story and its truth.

The memory never sees any of this: a gold answer comes from who was where, an answer from tables.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
import polars as pl

from evaluation.benchmarks.own import SLACK_S, OwnQuestion
from evaluation.demo.story import ROOMS, SUBJECTS, VISITS, Subject
from geb_assets.clock import Clock, day_of

Span = tuple[float, float]
Seen = dict[tuple[int, str], Span]
"""Visit (its place in the story) and subject to the time in view, s on the recording clock."""

_CLOCK = Clock.parse("egolife")
_AWAY_S = 3.0
"""A subject out of view for this long has been left behind: its next time is another visit's."""
_CAPTION_S = 30.0
"""A told moment may be named by the start of the caption that tells it, s before."""
_SUBJECT = {subject.identity: subject for subject in SUBJECTS}


@dataclass(frozen=True)
class Deed:
    """One told moment, and how a question speaks of the thing in it without naming its colour."""

    line: str
    """The narration's line, which one visit of the story has for one subject."""
    clause: str
    told: str = ""
    """Words that an answer which tells this moment has."""


DEEDS = {
    "drank": Deed("I drink from the red cup.", "that I drank from on day 1"),
    "put": Deed("I put a cup away in the cupboard.", "that I put away in the cupboard"),
    "found": Deed(
        "I find the red cup where I left it last night.",
        "that I found where I had left it",
        "find the red cup",
    ),
    "took": Deed(
        "I take a cup out of the cupboard.",
        "that I took out of the cupboard",
        "out of the cupboard",
    ),
    "tea": Deed("I drink tea from the blue cup.", "that I drank tea from", "drink tea"),
    "polished": Deed("I polish the red motorbike in the garage.", "that I polished"),
    "driver": Deed(
        "A driver comes to take the red motorbike away.", "that a driver came to take away"
    ),
    "back": Deed(
        "The red motorbike is back in the garage.",
        "that was back in the garage",
        "back in the garage",
    ),
    "parked": Deed(
        "I park the red motorbike in the garden.",
        "that I parked in the garden",
        "park the red motorbike",
    ),
    "watched": Deed("The cat watches me in the kitchen.", "that watched me in the kitchen"),
    "slept": Deed("The cat sleeps in the living room.", "that slept in the living room", "sleeps"),
    "filmed": Deed("The cameraman films in the garage.", "who filmed in the garage"),
    "waved": Deed("The astronaut waves to me in the garden.", "who waved to me in the garden"),
    "helmet": Deed(
        "The astronaut looks for a helmet in the garage.",
        "who looked for a helmet",
        "looks for a helmet",
    ),
    "fed": Deed("I feed the black horse in the garden.", "that I fed in the garden"),
}

_TOGETHER = (
    ("drank", "put"), ("put", "took"), ("drank", "found"), ("drank", "tea"), ("driver", "back"),
    ("polished", "parked"), ("watched", "slept"), ("waved", "helmet"), ("filmed", "waved"),
)  # fmt: skip
"""Is the thing of the first deed the thing of the second?"""
_COLOURED = ("drank", "put", "took", "tea")
"""What colour does it have? The lines alone tell it for some."""
_FOLLOWED = ("drank", "put", "driver", "waved")
"""When, and in which room, was it seen last, as of each day's end?"""
_LATER = (
    ("drank", ("found",)), ("put", ("took", "tea")), ("driver", ("back", "parked")),
    ("watched", ("slept",)), ("waved", ("helmet",)),
)  # fmt: skip
"""What became of it on day 2? Any of these moments answers it."""
_TOLD = ("drank", "tea", "slept", "helmet", "fed", "polished")
"""When did it happen? No identity is needed."""
_COUNTED = ("cup", "motorbike", "cat")

SHOWN = ("same/drank-put", "colour/put", "same/driver-back", "last-time/drank", "later/put")
"""The ones that `geb demo` asks: each needs identity."""


@dataclass(frozen=True)
class DemoQuestion(OwnQuestion):
    """One question of the demonstration.

    ``type`` is the template's name; ``evidence`` the true times of the things asked about.
    """

    @property
    def kind(self) -> Literal["choice", "open"]:
        return "choice" if self.choices else "open"

    @property
    def gold(self) -> str:
        """The right answer in words."""
        return self.choices[self.answer] if self.choices else self.answer


def questions(truth: pl.DataFrame, seed: int) -> list[DemoQuestion]:
    """All questions of a seed's recording, with the seed's order of choices.

    ``truth`` is what the renderer wrote (render.TRUTH_SCHEMA). About half of them need identity
    and about half have choices; those of ``SHOWN`` are among them.
    """
    rng = np.random.default_rng(seed)
    seen = sightings(truth)
    return [
        *_same(seen, rng), *_colours(seen, rng), *_counts(seen, rng), *_last(seen, rng),
        *_later(seen), *_times(seen),
    ]  # fmt: skip


def shown(truth: pl.DataFrame, seed: int) -> list[DemoQuestion]:
    """The questions that `geb demo` asks, in their order."""
    by_id = {question.id: question for question in questions(truth, seed)}
    return [by_id[name] for name in SHOWN]


def sightings(truth: pl.DataFrame) -> Seen:
    """When each subject of each visit is in view."""
    found: Seen = {}
    for (identity,), rows in truth.filter(~pl.col("overlay")).group_by("identity"):
        times = rows["time_s"].sort().to_numpy()
        cuts = np.flatnonzero(np.diff(times) > _AWAY_S) + 1
        stretches = iter(np.split(times, cuts))
        for place, visit in enumerate(VISITS):
            if identity in visit.subjects:
                stretch = next(stretches)
                found[place, str(identity)] = (float(stretch[0]), float(stretch[-1]))
    return found


def _place(deed: str) -> tuple[int, str]:
    """The visit and the subject of a deed."""
    line = DEEDS[deed].line
    return next(
        (place, identity)
        for place, visit in enumerate(VISITS)
        for identity, said in visit.lines
        if said == line
    )


def _subject(deed: str) -> Subject:
    return _SUBJECT[_place(deed)[1]]


def _phrase(deed: str) -> str:
    """`the cup that I drank from on day 1`."""
    return f"the {_subject(deed).label} {DEEDS[deed].clause}"


def _lettered(
    texts: Sequence[str], right: str, rng: np.random.Generator
) -> tuple[dict[str, str], str]:
    order = [texts[place] for place in rng.permutation(len(texts))]
    choices = dict(zip(string.ascii_uppercase, order, strict=False))
    return choices, next(letter for letter, text in choices.items() if text == right)


def _same(seen: Seen, rng: np.random.Generator) -> Iterator[DemoQuestion]:
    for one, other in _TOGETHER:
        first, second = _place(one), _place(other)
        right = "Yes, the same one" if first[1] == second[1] else "No, a different one"
        choices, letter = _lettered(("Yes, the same one", "No, a different one"), right, rng)
        yield DemoQuestion(
            id=f"same/{one}-{other}",
            question=f"Is {_phrase(one)} the same one {DEEDS[other].clause}?",
            choices=choices,
            answer=letter,
            at=None,
            type="same",
            evidence=(seen[first], seen[second]),
            identity=True,
        )


def _colours(seen: Seen, rng: np.random.Generator) -> Iterator[DemoQuestion]:
    for deed in _COLOURED:
        identity = _place(deed)[1]
        colour = identity.split()[0]
        choices, letter = _lettered(("red", "blue", "green"), colour, rng)
        yield DemoQuestion(
            id=f"colour/{deed}",
            question=f"Which colour has {_phrase(deed)}?",
            choices=choices,
            answer=letter,
            at=None,
            type="colour",
            evidence=(seen[_place(deed)],),
            identity=colour not in DEEDS[deed].line,
        )


def _counts(seen: Seen, rng: np.random.Generator) -> Iterator[DemoQuestion]:
    for label in _COUNTED:
        things = [subject.identity for subject in SUBJECTS if subject.label == label]
        choices, letter = _lettered(("1", "2", "3", "4"), str(len(things)), rng)
        yield DemoQuestion(
            id=f"how-many/{label}",
            question=f"How many different {label}s were there?",
            choices=choices,
            answer=letter,
            at=None,
            type="how many",
            evidence=tuple(span for (_, identity), span in seen.items() if identity in things),
            identity=True,
        )


def _last(seen: Seen, rng: np.random.Generator) -> Iterator[DemoQuestion]:
    for deed, at in product(_FOLLOWED, (_end_of_day(seen, 1), None)):
        told, identity = _place(deed)
        if at is not None and seen[told, identity][1] + SLACK_S > at:
            continue  # nobody could know yet
        last = max(
            place
            for (place, other), (_, end) in seen.items()
            if other == identity and (at is None or end <= at)
        )
        suffix = "" if at is None else "/day1"
        evidence = (seen[told, identity], seen[last, identity])
        yield DemoQuestion(
            id=f"last-time/{deed}{suffix}",
            question=f"When was {_phrase(deed)} last seen?",
            choices={},
            answer=_CLOCK.show(evidence[1][0]),
            at=at,
            type="last time",
            evidence=evidence,
            identity=True,
            time=evidence[1],
        )
        choices, letter = _lettered([room.name for room in ROOMS], VISITS[last].room, rng)
        yield DemoQuestion(
            id=f"last-room/{deed}{suffix}",
            question=f"In which room was {_phrase(deed)} last seen?",
            choices=choices,
            answer=letter,
            at=at,
            type="last room",
            evidence=evidence,
            identity=True,
        )


def _later(seen: Seen) -> Iterator[DemoQuestion]:
    for deed, moments in _LATER:
        yield DemoQuestion(
            id=f"later/{deed}",
            question=f"What happened on day 2 to {_phrase(deed)}?",
            choices={},
            answer=" ".join(DEEDS[moment].line for moment in moments),
            at=None,
            type="later",
            evidence=tuple(seen[_place(moment)] for moment in (deed, *moments)),
            identity=True,
            accepts=tuple(DEEDS[moment].told for moment in moments),
        )


def _times(seen: Seen) -> Iterator[DemoQuestion]:
    for deed in _TOLD:
        span = seen[_place(deed)]
        yield DemoQuestion(
            id=f"told-time/{deed}",
            question=f"When did this happen: {DEEDS[deed].line}",
            choices={},
            answer=_CLOCK.show(span[0]),
            at=None,
            type="told time",
            evidence=(span,),
            time=(span[0] - _CAPTION_S, span[1]),
        )


def _end_of_day(seen: Seen, day: int) -> float:
    """When a day's last thing went out of view, on the whole second before."""
    return float(int(max(end for _, end in seen.values() if day_of(end) == day)))
