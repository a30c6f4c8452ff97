"""A controller without a chat model: it reads the evidence by rule and searches on from there."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from geb_assets.reading.biography import Excerpt, Span
from geb_assets.reading.controller import Decision, Progress
from geb_assets.reading.description import compared, described
from geb_assets.reading.question import Question
from geb_assets.reading.units import Unit
from geb_assets.reading.words import STOP_WORDS, content_words, stem, words

NAMED = 6
"""Words taken over from what was found."""
_READ_FROM = 6
"""Units that they are taken from."""
_MARGIN_S = 240.0
"""How far before or after a moment the neighbouring time is read out."""
_NEIGHBOURS = 8
_ALONE = 12
"""Units taken from the search for the question without its choices."""
_OF_CHOICES = 4
"""Units taken from the search for two choices."""
_READOUT_S = 1800.0
_DESCRIBES = "what the question describes"


class EmbeddedController:
    """Deterministic. Each round comes from another side, in this order:

    the question with its choices; each thing that it describes, where there are biographies; the
    times at which a thing that the question concerns was also seen, read out; the question alone;
    what came before or after the best moment, where the question asks for that; the question with
    two choices at a time, so that each has its say; the question with what the best units name. It
    stops when a round adds nothing, but for one that looks for what is described, or when no side
    is left.
    """

    name = "embedded controller"

    def decide(self, progress: Progress) -> Decision:
        """See :meth:`geb_assets.reading.controller.Controller.decide`."""
        last = progress.rounds[-1] if progress.rounds else None
        # What is described may have come with the question; its other times are still to be read.
        if last is not None and not last.units and last.why != _DESCRIBES:
            return Decision("answer", why="the last round added nothing")
        asked = {round_.query for round_ in progress.rounds}
        for decision in _sides(progress):
            if decision.query not in asked:
                return decision
        return Decision("answer", why="no other side to search from")


def _sides(progress: Progress) -> Iterator[Decision]:
    question = progress.question
    units = [unit for round_ in progress.rounds for unit in round_.units]
    yield Decision("search", question.with_choices, "the question and its choices")
    if progress.excerpts:
        thing = described(question.text)
        for half in compared(question.text) or ((thing,) if thing else ()):
            yield Decision("search", half, _DESCRIBES)
    for excerpt in _concerned(question, progress.excerpts):
        times = _unread(excerpt, progress)
        if times:
            start, end = times[-1] if question.order == "last" else times[0]
            yield _read_out(question, start, end, f"{excerpt.name} was also seen then")
    yield Decision("search", question.text, "the question alone", _ALONE)
    moment = _best_moment(question, units)
    if moment is not None and question.order == "before":
        yield _read_out(
            question, moment.start_s - _MARGIN_S, moment.start_s, "what came before", _NEIGHBOURS
        )
    if moment is not None and question.order == "after":
        yield _read_out(
            question, moment.end_s, moment.end_s + _MARGIN_S, "what came after", _NEIGHBOURS
        )
    for place in range(0, len(question.choices), 2):
        query = " ".join((question.text, *question.choices[place : place + 2]))
        yield Decision("search", query, "two choices", _OF_CHOICES)
    named = _named(question, units)
    if named:
        yield Decision("search", f"{question.text} {' '.join(named)}", "what the best units name")


def _read_out(
    question: Question, start: float, end: float, why: str, limit: int | None = None
) -> Decision:
    """A query that names a time; the clock writes whole seconds, so the end is rounded up."""
    show = question.clock.show
    end = min(math.ceil(end), start + _READOUT_S)
    query = f"What happened between {show(max(start, 0.0))} and {show(max(end, 0.0))}?"
    return Decision("search", query, why, limit)


def _concerned(question: Question, excerpts: Sequence[Excerpt]) -> list[Excerpt]:
    """Biographies that the question names, those that share most of its words first."""
    wanted = set(content_words(question.with_choices))

    def shared(excerpt: Excerpt) -> tuple[int, int]:
        told = " ".join(block.text for block in excerpt.blocks)
        return len(wanted & set(content_words(excerpt.name))), len(
            wanted & set(content_words(told))
        )

    named = [excerpt for excerpt in excerpts if shared(excerpt)[0]]
    return sorted(named, key=lambda one: (*(-count for count in shared(one)), one.entity))


def _unread(excerpt: Excerpt, progress: Progress) -> list[Span]:
    """Listed times of an entity that no round has read out."""
    if excerpt.also is None:
        return []
    read = [round_.read_out for round_ in progress.rounds if round_.read_out is not None]
    return [
        (start, end)
        for start, end in excerpt.also.times
        if not any(start < until and since < end for since, until in read)
    ]


def _best_moment(question: Question, units: Sequence[Unit]) -> Unit | None:
    """The short caption that tells most of the question's words; of equal ones the first found."""
    wanted = set(content_words(question.text))
    short = [unit for unit in units if unit.scale == "30sec"]
    return max(short, key=lambda unit: len(wanted & set(content_words(unit.text))), default=None)


def _named(question: Question, units: Sequence[Unit]) -> list[str]:
    """Words that the best units share and the question does not have, the most telling first."""
    known = set(content_words(question.with_choices))
    best = [unit for unit in units if unit.text][:_READ_FROM]
    told = [
        list(dict.fromkeys(w for w in words(unit.text) if w not in STOP_WORDS and len(w) > 2))
        for unit in best
    ]
    everywhere = Counter(word for unit in units for word in set(words(unit.text)))
    scores: dict[str, float] = {}
    for place, found in enumerate(told):
        for word in found:
            if stem(word) not in known:
                gain = 1 / ((1 + place) * math.sqrt(everywhere[word]))
                scores[word] = scores.get(word, 0.0) + gain
    ranked = sorted(scores, key=lambda word: (-scores[word], word))
    return [word for word in ranked if everywhere[word] > 1][:NAMED]
