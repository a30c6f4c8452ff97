"""Which of the choices came first, or last: `which came first, that I fed the horse or ...?`"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from geb_assets.reading.answerer import Answer
from geb_assets.reading.answerer.passages import Passage, coverage, terms
from geb_assets.reading.question import Question

_TOLD = 0.7
"""Least share of a choice's words, by weight, that one sentence has to tell."""


def in_sequence(
    question: Question, found: Sequence[Passage], weight: Callable[[str], float]
) -> Answer | None:
    """None where the question does not compare its choices, or does not find each of them told.

    What is told more than once counts with its first time, or with its last where that is asked.
    """
    asked = terms(question.text)
    wanted = [terms(choice) for choice in question.choices]
    if question.order not in ("first", "last") or not all(w and w <= asked for w in wanted):
        return None
    edge = min if question.order == "first" else max
    said = [terms(passage.text) for passage in found]
    moments: list[tuple[float, int]] = []
    sure = 1.0
    for words in wanted:
        told = [coverage(words, one, weight) for one in said]
        best = max(told, default=0.0)
        if best < _TOLD:
            return None
        sure = min(sure, best)
        moments.append(edge((found[n].start_s, n) for n, share in enumerate(told) if share >= best))
    chosen = moments.index(edge(moments))
    leader, show = found[moments[chosen][1]], question.clock.show
    if any(found[n].source != leader.source for s, n in moments if s == leader.start_s):
        return None  # at the same time: only within a text does the order tell
    shown = "; ".join(f'{show(start)} "{found[n].text}"' for start, n in sorted(moments))
    return Answer(
        question.choices[chosen],
        question.letters[chosen],
        confidence=sure,
        why=f"in order of time: {shown}",
        supports=tuple(dict.fromkeys([leader.source, *(found[n].source for _, n in moments)])),
    )
