"""An answerer that a chat model serves: multiple choice and open-ended, frames where it has any."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from geb_assets.reading.answerer import Answer
from geb_assets.reading.answerer.intervals import (
    Intervals,
    read_intervals,
    read_literal,
    read_sections,
)
from geb_assets.reading.evidence import Evidence
from geb_assets.reading.question import Question
from geb_assets.reading.rendering import FENCE_RULE, answer_view, fenced, text_of
from geb_assets.reading.replies import json_object
from geb_assets.reading.units import Frame
from resources.chat import Chat, ChatFailure, Message, Part

MAX_TOKENS = 2048

_RULES = """\
You answer a question about a very long video from excerpts of its memory. The excerpts are in the
order of time and end at the time of the question. "I" in them is the person who wears the camera,
and so is "I" or "me" in the question.

# Kinds of excerpts
[Retrieved episode] what went on in a stretch of time, narrated, with what was said.
[Retrieved entity] one tracked thing or person: its name, its id, the first and last time it was
  seen, and at each described time what it did or what was done with it. "also seen" lists further
  times without a description. Tracking errs both ways, and it misses sightings.
[Retrieved entity] Which same-name ids ...: which ids of one name may be one thing and which were
  in view together, hence are several. A different id alone proves nothing.
[Topic: ...], [Event: ...] facts from a summary of the whole recording.
[Frames of the above, ...] pictures of the excerpt before them, in the order of time.

# Weighing them
- Answer from the excerpts. Follow each thing by its id through its times before you say that two
  sightings are of the same thing, or count things.
- Where a description of an entity and an episode disagree, the episode is right: a description can
  credit its object with what happened beside it.
- "First", "last", "before" and "how often" are questions about times: compare them.
- If the excerpts do not settle it, choose what they make most likely.

# Recorded material
{fence_rule}

# The form of your reply
{form}
"""

_CHOICE_FORM = (
    'One JSON object and nothing around it: {"answer": "<letter>"}, with the letter of the one '
    "choice that is right."
)
_OPEN_FORM = (
    'One JSON object and nothing around it: {"answer": "<text>"}, with one or two plain sentences '
    "of fact. State counts, orders and times outright."
)
_EVIDENCE_FORM = """
Give two more keys in the same object:
"evidence": all the times that show the answer, as a list of [first, last], such as [[9, 15],
  [120, 135]]. They are whole seconds counted from {start}, which is 0, up to {length}, with
  first <= last, both inside. Name the shortest stretches that suffice; [] where no time shows it.
"rationale": one sentence on how these times lead to the answer.
"""


def prompt() -> tuple[str, ...]:
    """All fixed words of the page, for a digest of them."""
    return _RULES, _CHOICE_FORM, _OPEN_FORM, _EVIDENCE_FORM, FENCE_RULE


class ChatAnswerer:
    """Asks the model once with frames and, where that fails, once more with the text alone."""

    def __init__(self, chat: Chat, *, frames: bool = True) -> None:
        self._chat = chat
        self._frames = frames

    @property
    def name(self) -> str:
        return f"chat {self._chat.identity}"

    @property
    def reads_frames(self) -> bool:
        return self._frames

    def answer(self, question: Question, evidence: Evidence) -> Answer:
        """See :meth:`geb_assets.reading.answerer.Answerer.answer`."""
        spent = [0, 0]
        fault, failed = "", False
        for text_only in (False, True):
            messages = page(question, evidence, frames=self._frames and not text_only)
            try:
                reply = self._chat.reply(messages, schema=_schema(question), max_tokens=MAX_TOKENS)
            except ChatFailure as failure:
                refused = failure.kind == "images" and not text_only
                if not failure.passing and not refused:
                    raise
                fault, failed = str(failure), True
                continue
            spent[0] += reply.prompt_tokens
            spent[1] += reply.completion_tokens
            said = _Said.of(reply.text, question)
            chosen = _read(said.answer, question)
            if chosen is not None:
                text, letter = chosen
                told = [fault and f"answered from the text alone: {fault}", said.fault]
                return Answer(
                    text,
                    letter,
                    why=said.rationale or "read by the model",
                    intervals=said.intervals,
                    error="; ".join(filter(None, told)),
                    prompt_tokens=spent[0],
                    completion_tokens=spent[1],
                )
            fault, failed = "the reply names none of the choices", False
        return Answer(
            "",
            decided=False,
            why="the model gave no answer",
            error=fault,
            failed=failed,
            prompt_tokens=spent[0],
            completion_tokens=spent[1],
        )


def page(question: Question, evidence: Evidence, *, frames: bool) -> list[Message]:
    """The messages for a question: rules, the fenced context, the question last."""
    form = _CHOICE_FORM if question.choices else _OPEN_FORM
    if question.evidence_in is not None:
        start, end = question.evidence_in
        form += _EVIDENCE_FORM.format(start=question.clock.show(start), length=int(end - start))
    shown = evidence if frames else replace(evidence, frames=())
    view = answer_view(shown, question.clock)
    # The marks are made of the text alone; frames keep their places between them.
    opening, *_, closing = fenced(text_of(view)).splitlines()
    parts: list[Part] = []
    texts = [opening]
    for part in view:
        if isinstance(part, Frame):
            parts += ["\n".join(texts)] if texts else []
            parts.append(part.jpeg)
            texts = []
        else:
            texts.append(part)
    texts += [closing, "", f"Question: {question.text}"]
    if question.at is not None:
        texts.append(f"Asked at: {question.clock.show(question.at)}")
    if question.choices:
        pairs = zip(question.letters, question.choices, strict=True)
        texts += [f"({letter}) {choice}" for letter, choice in pairs]
        if question.evidence_in is None:
            texts.append("Give the letter of the right choice and nothing else, as JSON.")
    parts.append("\n".join(texts))
    return [
        Message("system", (_RULES.format(fence_rule=FENCE_RULE, form=form),)),
        Message("user", tuple(parts)),
    ]


def _schema(question: Question) -> dict[str, Any]:
    answer: dict[str, Any] = {"type": "string"}
    if question.choices:
        answer["enum"] = list(question.letters)
    properties = {"answer": answer}
    if question.evidence_in is not None:
        pair = {"type": "array", "items": {"type": "integer"}}
        properties["evidence"] = {"type": "array", "items": pair}
        properties["rationale"] = {"type": "string"}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@dataclass(frozen=True)
class _Said:
    """A reply taken apart: its JSON object, else its sections, else all of it the answer."""

    answer: str
    intervals: Intervals = ()
    rationale: str = ""
    fault: str = ""
    """Why no interval is taken from it, where some were wanted."""

    @classmethod
    def of(cls, reply: str, question: Question) -> _Said:
        found = json_object(reply, "answer")
        if question.evidence_in is None:
            return cls(str(found["answer"]).strip() if found else reply.strip())
        if found is None:
            told = read_sections(reply)
            found = {
                "answer": told.answer or reply,
                "evidence": told.evidence,
                "rationale": told.rationale,
            }
        named = found.get("evidence")
        value = read_literal(named) if isinstance(named, str) else named
        intervals = read_intervals(value, question.evidence_in)
        return cls(
            str(found["answer"]).strip(),
            intervals or (),
            " ".join(str(found.get("rationale") or "").split()),
            "" if intervals is not None else NO_EVIDENCE,
        )


NO_EVIDENCE = "its evidence is no list of [first, last] in whole seconds of the recording"


_LETTER = re.compile(
    r"(?:the\s+|my\s+|final\s+)*(?:answer|choice)?(?:\s+is)?\s*[:=]?\s*"
    r"[*_`\"'(\[]*(?P<letter>[A-Z])[*_`\"')\]]*(?:[.:,)]|\s*$)",
    re.IGNORECASE,
)


def _read(said: str, question: Question) -> tuple[str, str | None] | None:
    """The answer's text and letter; None where a choice was wanted and none is named."""
    if not question.choices:
        return (said, None) if said else None
    texts = {choice.casefold(): letter for letter, choice in zip(
        question.letters, question.choices, strict=True)}  # fmt: skip
    named = texts.get(said.rstrip(".").casefold()) or texts.get(said.casefold())
    match = _LETTER.match(said)
    letter = named or (match["letter"].upper() if match else None)
    if letter not in question.letters:
        return None
    return question.choices[question.letters.index(letter)], letter
