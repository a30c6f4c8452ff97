"""An answerer without a chat model: it weighs each choice, or picks a sentence, by rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from geb_assets.reading.answerer import Answer
from geb_assets.reading.answerer.following import follow, is_lost
from geb_assets.reading.answerer.identity import Count, Sameness, count_things, sameness
from geb_assets.reading.answerer.intervals import rested_on
from geb_assets.reading.answerer.passages import (
    Passage,
    passages,
    rarity,
    relevances,
    support,
    terms,
)
from geb_assets.reading.answerer.sequence import in_sequence
from geb_assets.reading.evidence import Evidence
from geb_assets.reading.notes import handle
from geb_assets.reading.question import Question
from geb_assets.reading.times import When, parse_when

DECIDES = 0.04
"""Lead of the best choice over the next, as a share of all support, from which it is decided."""
SPEAKS = 0.34
"""Relevance of the best passage from which an open question is taken as answered."""
_NEAR_BEST = 0.7
_ORDER_DECAY = 0.25
_YES = re.compile(r"^\W*(?:yes|yeah|same|true|the same|it is(?! not)|they are(?! not))\b", re.I)
_NO = re.compile(r"^\W*(?:no|not|different|another|false|a different|two different)\b", re.I)
_NUMBERS = {
    word: value
    for value, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
}


class EmbeddedAnswerer:
    """Deterministic. Reads texts, biographies and identity notes, never frames.

    A choice is supported by the passages that tell its words, each as far as it has to do with
    the question; a time by the times of those passages; sameness and counts by biographies alone.
    What a caption says of choices or answers has no standing beyond its words.
    """

    name = "embedded answerer"
    reads_frames = False

    def answer(self, question: Question, evidence: Evidence) -> Answer:
        """See :meth:`geb_assets.reading.answerer.Answerer.answer`."""
        answer = self._answer(question, evidence)
        if question.evidence_in is None:
            return answer
        rests = rested_on(answer.supports, evidence, question.evidence_in)
        return replace(answer, intervals=rests)

    def _answer(self, question: Question, evidence: Evidence) -> Answer:
        found = passages(evidence)
        weight = rarity(found)
        same = sameness(question, evidence, weight)
        count = count_things(question, evidence)
        if question.choices:
            chosen = (
                _chosen_by_sameness(question, same)
                or _chosen_by_count(question, count)
                or in_sequence(question, found, weight)
            )
            if chosen is not None:
                return chosen
        elif same is not None:
            return _told_sameness(same)
        elif count is not None:
            return _told_count(count)
        followed = None if same is not None else follow(question, evidence, weight)
        if followed is not None:
            return followed
        told = _weighed if question.choices else _sentence
        answer = told(question, found, weight)
        if same is not None:
            return _guessed(answer, same.why)
        if is_lost(question, evidence, weight):
            return _guessed(answer, "the evidence does not single out the thing that is meant")
        return answer


def _guessed(answer: Answer, why: str) -> Answer:
    """The nearest answer to a question about a thing that was not found."""
    return replace(answer, decided=False, why=f"{why}; nearest: {answer.why}")


def _weighed(
    question: Question, found: Sequence[Passage], weight: Callable[[str], float]
) -> Answer:
    """The choice with the most support; without any, the one nearest to the question's words."""
    relevance = _ordered(question, found, relevances(question, found, weight))
    whens = _whens(question)
    wanted = [terms(choice) for choice in question.choices]
    shared = frozenset.intersection(*wanted)
    scores = [0.0] * len(question.choices)
    best: list[tuple[float, Passage] | None] = [None] * len(question.choices)
    for passage, relevant in zip(found, relevance, strict=True):
        for number, words in enumerate(wanted):
            if whens is not None:
                middle = (passage.start_s + passage.end_s) / 2
                when = whens[number]
                fit = when.fits(middle) if when is not None else 0.0
            else:
                fit = support(words - shared or words, passage, weight)
            gain = relevant * fit
            scores[number] += gain
            leader = best[number]
            if gain > 0 and (leader is None or gain > leader[0]):
                best[number] = (gain, passage)
    total = sum(scores)
    if total <= 0:
        nearest = [len(words & terms(question.text)) / (len(words) or 1) for words in wanted]
        number = max(range(len(wanted)), key=lambda n: (nearest[n], -n))
        return _choice(
            question, number, 1 / len(wanted), False, "nothing retrieved bears on any choice", ()
        )
    ranked = sorted(range(len(scores)), key=lambda n: (-scores[n], n))
    first, second = ranked[0], ranked[1]
    share = scores[first] / total
    decided = (scores[first] - scores[second]) / total >= DECIDES
    leader = best[first]
    assert leader is not None
    why = _because(question, leader[1])
    if not decided:
        why = f"the evidence hardly tells ({question.letters[first]}) from the rest; {why}"
    return _choice(question, first, share, decided, why, _sources(leader[1]))


def _ordered(
    question: Question, found: Sequence[Passage], relevance: Sequence[float]
) -> list[float]:
    """Relevance with first or last occurrences preferred, where the question asks for them."""
    if question.order not in ("first", "last") or not found:
        return list(relevance)
    floor = _NEAR_BEST * max(relevance)
    times = sorted(
        {p.start_s for p, r in zip(found, relevance, strict=True) if r >= floor},
        reverse=question.order == "last",
    )
    place = {time: number for number, time in enumerate(times)}
    return [
        relevant / (1 + _ORDER_DECAY * place.get(passage.start_s, len(times)))
        for passage, relevant in zip(found, relevance, strict=True)
    ]


def _whens(question: Question) -> list[When | None] | None:
    """The times that the choices name, where all but at most one of them are times."""
    if question.at is None:
        return None
    whens = [parse_when(c, clock=question.clock, at=question.at) for c in question.choices]
    return whens if sum(when is None for when in whens) <= 1 and len(whens) > 1 else None


def _chosen_by_sameness(question: Question, same: Sameness | None) -> Answer | None:
    if same is None or same.verdict == "unresolved":
        return None
    yes = same.verdict == "same"
    fits = [
        number
        for number, choice in enumerate(question.choices)
        if (_YES if yes else _NO).match(choice) and not (_NO if yes else _YES).match(choice)
    ]
    if len(fits) != 1:
        return None
    return _choice(question, fits[0], 0.5 + same.strength / 2, True, same.why, same.entities)


def _chosen_by_count(question: Question, count: Count | None) -> Answer | None:
    if count is None:
        return None
    numbers = [_number(choice) for choice in question.choices]
    within = [
        (value, number)
        for number, value in enumerate(numbers)
        if value is not None and count.least <= value <= count.most
    ]
    if None in numbers or not within:
        return None
    decided = len(within) == 1
    share = 1 / len(within) if decided else 1 / (1 + len(within))
    return _choice(question, min(within)[1], share, decided, count.why, count.entities)


def _told_sameness(same: Sameness) -> Answer:
    said = {
        "same": "Yes, it is the same one",
        "different": "No, they are different ones",
        "unresolved": "The evidence does not decide it",
    }[same.verdict]
    decided = same.verdict != "unresolved"
    return Answer(
        f"{said}: {same.why}.",
        confidence=0.5 + same.strength / 2 if decided else 0.5,
        decided=decided,
        why=same.why,
        supports=same.entities,
    )


def _told_count(count: Count) -> Answer:
    decided = count.least == count.most
    text = str(count.least) if decided else f"Between {count.least} and {count.most}"
    return Answer(
        f"{text}: {count.why}.",
        confidence=1 / (1 + count.most - count.least),
        decided=decided,
        why=count.why,
        supports=count.entities,
    )


def _sentence(
    question: Question, found: Sequence[Passage], weight: Callable[[str], float]
) -> Answer:
    """The sentence that has most to do with the question, with its time."""
    relevance = relevances(question, found, weight)
    ordered = _ordered(question, found, relevance)
    if not found or max(relevance) <= 0:
        return Answer(
            "The evidence does not say.",
            confidence=0.0,
            decided=False,
            why="nothing retrieved bears on the question",
        )
    number = max(range(len(found)), key=lambda n: (ordered[n], -found[n].start_s))
    passage, strength = found[number], min(1.0, relevance[number])
    show = question.clock.show
    when = f"{show(passage.start_s)} - {show(passage.end_s)}"
    text = f"{when}: {passage.text}" if question.asks == "when" else f"{passage.text} ({when})"
    decided = strength >= SPEAKS
    return Answer(
        text if decided else f"The evidence does not decide it; nearest to it is: {text}",
        confidence=strength,
        decided=decided,
        why=_because(question, passage),
        supports=_sources(passage),
    )


def _choice(
    question: Question,
    number: int,
    confidence: float,
    decided: bool,
    why: str,
    supports: Sequence[str],
) -> Answer:
    return Answer(
        question.choices[number],
        question.letters[number],
        confidence=confidence,
        decided=decided,
        why=why,
        supports=tuple(dict.fromkeys(supports)),
    )


def _because(question: Question, passage: Passage) -> str:
    whose = f"{handle(passage.entity)}, " if passage.entity else ""
    flat = " ".join(passage.text.split())[:160]
    return f"{whose}{question.clock.show(passage.start_s)}: {flat}"


def _sources(passage: Passage) -> tuple[str, ...]:
    return (passage.entity, passage.source) if passage.entity else (passage.source,)


def _number(choice: str, names: Mapping[str, int] = _NUMBERS) -> int | None:
    digits = re.search(r"\d+", choice)
    if digits:
        return int(digits.group())
    return next((names[w] for w in re.findall(r"[a-z]+", choice.lower()) if w in names), None)
