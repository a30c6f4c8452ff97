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
_ROOMS = tuple(room.name for room in ROOMS)


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
_COUNTED = ("cup", "motorbike", "cat")
"""How many different ones were there?"""

_TOLD_ROOM = ("drank", "put", "driver", "tea", "filmed", "fed")
"""In which room did it happen? A line of the same visit names it."""
_MOMENTS = ("watched", "polished", "waved", "back", "slept")
"""What happened at that time?"""
_MOMENTS_APART_S = 60.0
"""How far from the time asked about what else is offered was, s."""
_ORDERED = (("driver", "drank"), ("filmed", "put"), ("fed", "found"), ("helmet", "tea"))
"""Which of the two came first?"""
_TOLD_EARLY = ("polished", "waved")
"""When did it happen, as of the end of day 1 too?"""

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

    ``truth`` is what the renderer wrote (render.TRUTH_SCHEMA). Half of them need identity, give or
    take one in twenty; the other half is told by the lines alone. Those of ``SHOWN`` are among
    them.
    """
    rng = np.random.default_rng(seed)
    seen = sightings(truth)
    return [
        *_same(seen, rng), *_colours(seen, rng), *_counts(seen, rng), *_last(seen, rng),
        *_later(seen), *_times(seen), *_rooms(seen, rng), *_moments(seen, rng), *_orders(seen, rng),
    ]  # fmt: skip


def shown(truth: pl.DataFrame, seed: int) -> list[DemoQuestion]:
    """The questions that `geb demo` asks, in their order."""
    by_id = {question.id: question for question in questions(truth, seed)}
    return [by_id[name] for name in SHOWN]


def sightings(truth: pl.DataFrame) -> Seen:
    """When each subject of each visit is in view."""
    found: Seen = {}
    real = truth.filter(~pl.col("overlay")).sort("identity", "time_s")
    for (identity,), rows in real.group_by("identity", maintain_order=True):
        times = rows["time_s"].to_numpy()
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


def _choice(
    name: str,
    question: str,
    right: str,
    among: Sequence[str],
    rng: np.random.Generator,
    evidence: Sequence[Span],
    *,
    identity: bool = False,
    at: float | None = None,
) -> DemoQuestion:
    """A question with choices in an order drawn from ``rng``; its id begins with its type."""
    texts = [among[place] for place in rng.permutation(len(among))]
    return DemoQuestion(
        id=name,
        question=question,
        choices=dict(zip(string.ascii_uppercase, texts, strict=False)),
        answer=string.ascii_uppercase[texts.index(right)],
        at=at,
        type=name.split("/")[0].replace("-", " "),
        evidence=tuple(evidence),
        identity=identity,
    )


def _same(seen: Seen, rng: np.random.Generator) -> Iterator[DemoQuestion]:
    yes, no = "Yes, the same one", "No, a different one"
    for one, other in _TOGETHER:
        first, second = _place(one), _place(other)
        yield _choice(
            f"same/{one}-{other}",
            f"Is {_phrase(one)} the same one {DEEDS[other].clause}?",
            yes if first[1] == second[1] else no,
            (yes, no),
            rng,
            (seen[first], seen[second]),
            identity=True,
        )


def _colours(seen: Seen, rng: np.random.Generator) -> Iterator[DemoQuestion]:
    for deed in _COLOURED:
        colour = _place(deed)[1].split()[0]
        yield _choice(
            f"colour/{deed}",
            f"Which colour has {_phrase(deed)}?",
            colour,
            ("red", "blue", "green"),
            rng,
            [seen[_place(deed)]],
            identity=colour not in DEEDS[deed].line,
        )


def _counts(seen: Seen, rng: np.random.Generator) -> Iterator[DemoQuestion]:
    for label in _COUNTED:
        things = [subject.identity for subject in SUBJECTS if subject.label == label]
        yield _choice(
            f"how-many/{label}",
            f"How many different {label}s were there?",
            str(len(things)),
            ("1", "2", "3", "4"),
            rng,
            [span for (_, identity), span in seen.items() if identity in things],
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
        yield _choice(
            f"last-room/{deed}{suffix}",
            f"In which room was {_phrase(deed)} last seen?",
            VISITS[last].room,
            _ROOMS,
            rng,
            evidence,
            identity=True,
            at=at,
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
    early = _end_of_day(seen, 1)
    for deed, at in (*((deed, None) for deed in DEEDS), *((deed, early) for deed in _TOLD_EARLY)):
        span = seen[_place(deed)]
        yield DemoQuestion(
            id=f"told-time/{deed}" + ("" if at is None else "/day1"),
            question=f"When did this happen: {DEEDS[deed].line}",
            choices={},
            answer=_CLOCK.show(span[0]),
            at=at,
            type="told time",
            evidence=(span,),
            time=(span[0] - _CAPTION_S, span[1]),
        )


def _rooms(seen: Seen, rng: np.random.Generator) -> Iterator[DemoQuestion]:
    for deed in _TOLD_ROOM:
        place = _place(deed)
        room = VISITS[place[0]].room
        yield _choice(
            f"told-room/{deed}",
            f"In which room did this happen: {DEEDS[deed].line.replace(f' in the {room}', '')}",
            room,
            _ROOMS,
            rng,
            [seen[place]],
        )


def _moments(seen: Seen, rng: np.random.Generator) -> Iterator[DemoQuestion]:
    middle = {deed: sum(seen[_place(deed)]) / 2 for deed in DEEDS}
    for deed in _MOMENTS:
        when = middle[deed]
        others = [one for one in DEEDS if abs(middle[one] - when) >= _MOMENTS_APART_S]
        offered = [deed, *rng.choice(others, 3, replace=False)]
        yield _choice(
            f"moment/{deed}",
            f"What happened at {_CLOCK.show(when)}?",
            DEEDS[deed].line,
            [DEEDS[one].line for one in offered],
            rng,
            [seen[_place(deed)]],
        )


def _orders(seen: Seen, rng: np.random.Generator) -> Iterator[DemoQuestion]:
    for one, other in _ORDERED:
        spans = seen[_place(one)], seen[_place(other)]
        lines = DEEDS[one].line, DEEDS[other].line
        yield _choice(
            f"order/{one}-{other}",
            f'Which of these came first: "{lines[0]}" or "{lines[1]}"',
            lines[0] if spans[0] < spans[1] else lines[1],
            lines,
            rng,
            spans,
        )


def _end_of_day(seen: Seen, day: int) -> float:
    """When a day's last thing went out of view, on the whole second before."""
    return float(int(max(end for _, end in seen.values() if day_of(end) == day)))
