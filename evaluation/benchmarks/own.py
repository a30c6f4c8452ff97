"""Questions of one's own: a plain JSON list, for any recording; the demonstration's too.

[{"id": "cup/1", "question": "...", "choices": {"A": "...", "B": "..."}, "answer": "A",
  "at": "DAY1 10:20:00", "recording": "kitchen", "type": "...", "evidence": [["DAY1 10:01:00",
  "DAY1 10:01:12"]], "identity": true}]

Without choices, `answer` is the reference, and `accepts` (words of which a right answer has one) or
`time` (the stretch that it has to name a time of) say what counts as right. Times are written as
the recording's clock writes them, or as seconds on it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.benchmarks.question import Question, read_questions, text_of, type_masks
from geb_assets.clock import Clock
from geb_assets.errors import GebError

SLACK_S = 5.0
"""How far from the true stretch a time named in an answer may lie, s."""

Span = tuple[float, float]

_TIME = re.compile(r"(?:DAY\d+ )?\d{1,2}:\d{2}:\d{2}")
_FIELDS = {
    "id", "question", "choices", "answer", "at", "type", "recording", "evidence", "identity",
    "time", "accepts",
}  # fmt: skip


@dataclass(frozen=True)
class OwnQuestion(Question):
    """A question that knows whether it needs identity, and which answers are right."""

    identity: bool = False
    """Whether one thing has to be followed from one encounter to another."""
    time: Span | None = None
    """The true stretch, s, of an open question that asks when."""
    accepts: tuple[str, ...] = ()
    """Words of which one is in every right answer to another open question."""

    def is_right(self, text: str, choice: str | None) -> bool:
        """Whether an answer is right: its letter where there are choices, else its text.

        A text is right that holds one of the accepted wordings or, asked when, whose first named
        time lies in the true stretch, give or take 5 s.
        """
        if self.choices:
            return choice == self.answer
        if self.time is None:
            return any(words in text.casefold() for words in self.accepts)
        named = _TIME.search(text)
        start, end = self.time
        return named is not None and (
            start - SLACK_S <= _seconds(named.group(), "a time") <= end + SLACK_S
        )


def load(path: str | Path) -> list[OwnQuestion]:
    """The questions of a file, in its order.

    Raises GebError naming file and question for a field that is missing, unknown or malformed, an
    id used twice, a gold answer that is none of the choices, or an open question that does not say
    which answers are right.
    """
    return read_questions(path, "id", _question)


def dump(questions: Sequence[OwnQuestion]) -> str:
    """The file's text, such that :func:`load` reads the same questions."""
    return json.dumps([_item(question) for question in questions], indent=1) + "\n"


def masks(questions: Sequence[Question]) -> dict[str, NDArray[np.bool_]]:
    """The slices of every figure: all, each type, and those that need identity or do not."""
    identity = np.array([getattr(one, "identity", False) for one in questions], dtype=bool)
    return type_masks(questions) | {"needs identity": identity, "needs no identity": ~identity}


def _item(question: OwnQuestion) -> dict[str, Any]:
    item: dict[str, Any] = {
        "id": question.id,
        "question": question.question,
        "choices": dict(question.choices),
        "answer": question.answer,
        "at": question.at,
        "type": question.type,
        "recording": question.recording,
        "evidence": [list(span) for span in question.evidence],
        "identity": question.identity,
        "time": list(question.time) if question.time else None,
        "accepts": list(question.accepts),
    }
    return {name: value for name, value in item.items() if value not in (None, "", [], {}, False)}


def _question(item: dict[str, Any]) -> OwnQuestion:
    if unknown := sorted(set(item) - _FIELDS):
        raise GebError(f"field '{unknown[0]}' is not known; there are {', '.join(sorted(_FIELDS))}")
    choices = item.get("choices", {})
    if not isinstance(choices, dict) or not all(
        re.fullmatch("[A-Z]", str(letter)) and isinstance(text, str) and text.strip()
        for letter, text in choices.items()
    ):
        raise GebError("field 'choices' does not map letters A, B, ... to texts")
    answer = text_of(item, "answer")
    if choices and answer not in choices:
        raise GebError(f"gold answer '{answer}' is none of {', '.join(choices)}")
    accepts = item.get("accepts", [])
    if not isinstance(accepts, list) or not all(isinstance(words, str) for words in accepts):
        raise GebError("field 'accepts' is no list of texts")
    time = _span(item["time"], "time") if item.get("time") is not None else None
    if not choices and not accepts and time is None:
        raise GebError("has neither 'choices' nor 'accepts' nor 'time'; say which answer is right")
    evidence = item.get("evidence", [])
    if not isinstance(evidence, list):
        raise GebError("field 'evidence' is no list of [start, end]")
    at = item.get("at")
    return OwnQuestion(
        id=text_of(item, "id"),
        question=text_of(item, "question"),
        choices=dict(choices),
        answer=answer,
        at=None if at is None else _seconds(at, "at"),
        type=str(item.get("type", "")),
        recording=str(item.get("recording", "")),
        evidence=tuple(_span(span, "evidence") for span in evidence),
        identity=bool(item.get("identity", False)),
        time=time,
        accepts=tuple(words.casefold() for words in accepts),
    )


def _span(value: Any, what: str) -> Span:
    if not isinstance(value, list) or len(value) != 2:
        raise GebError(f"{what} {value!r:.60} is no [start, end]")
    start, end = (_seconds(one, what) for one in value)
    if start > end:
        raise GebError(f"{what} {value!r:.60} ends before it starts")
    return start, end


def _seconds(value: Any, what: str) -> float:
    """Seconds on the recording clock, of a number or a written time."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        raise GebError(f"{what} {value!r:.60} is no time")
    kind: Any = "egolife" if value.strip().upper().startswith("DAY") else "seconds"
    return Clock.parse(kind).seconds(value)
