"""Topic and event chains by a text chat model (spec 3.1, 3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator

from resources.chat import Message
from resources.chat.calls import KeptChat
from resources.chat.material import MATERIAL, quoted, version
from resources.chat.structured import Form, NoReply, structured
from resources.chronicler import Moment, NotTold, Step
from resources.identity import ModelIdentity

_TEMPERATURE = 0.0

_FACTS = """{material}

Numbered captions of one day, all of which mention "{topic}":

{captions}

List what they say HAPPENED with {topic} or became known of it: who did what with it, where it went,
what was decided about it. One short sentence each, only what the caption says, nothing twice, no
caption that merely mentions it.

One JSON object: {{"facts": [{{"caption": 0, "fact": "..."}}]}}; an empty list if there is none."""

_STEPS = """{material}

Numbered captions of one day, in order of time:

{captions}

Name the activities of the day (at most {most}) that have a purpose and go through two steps or
more, such as making a meal, assembling something, planning a party. Go on with one of these names
where the activity is the same: {known}. For each step give the numbers of the captions that it is
told in and one sentence on what was done, from those captions alone.

One JSON object: {{"steps": [{{"event": "...", "captions": [0, 1], "text": "..."}}]}}; an empty list
if there is none."""


class _Fact(BaseModel):
    model_config = ConfigDict(extra="forbid")
    caption: int
    fact: str


class _Facts(BaseModel):
    """Validated with the number of captions as context."""

    model_config = ConfigDict(extra="forbid")
    facts: list[_Fact]

    @field_validator("facts")
    @classmethod
    def _there(cls, facts: list[_Fact], info: ValidationInfo) -> list[_Fact]:
        _in_range((one.caption for one in facts), info)
        return [one for one in facts if one.fact.strip()]


class _Step(BaseModel):
    model_config = ConfigDict(extra="forbid")
    event: str
    captions: list[int]
    text: str


class _Steps(BaseModel):
    """Validated with the number of captions as context."""

    model_config = ConfigDict(extra="forbid")
    steps: list[_Step]

    @field_validator("steps")
    @classmethod
    def _there(cls, steps: list[_Step], info: ValidationInfo) -> list[_Step]:
        _in_range((place for one in steps for place in one.captions), info)
        return [one for one in steps if one.captions and one.event.strip() and one.text.strip()]


def _in_range(places: Iterable[int], info: ValidationInfo) -> None:
    count: int = info.context or 0
    wrong = [place for place in places if not 0 <= place < count]
    if wrong:
        raise ValueError(f"there is no caption {wrong[0]}; they go from 0 to {count - 1}")


class ChatChronicler:
    """Asks a chat model; one call each for a topic's chunk of captions and for a day's events."""

    def __init__(self, chat: KeptChat) -> None:
        self._chat = chat

    @property
    def identity(self) -> ModelIdentity:
        return self._chat.identity_with(version(_FACTS, _STEPS))

    @property
    def in_flight(self) -> int:
        return self._chat.in_flight

    def facts(self, topic: str, captions: Sequence[Moment]) -> Sequence[tuple[int, str]]:
        """See :meth:`resources.chronicler.Chronicler.facts`."""
        prompt = _FACTS.format(material=MATERIAL, topic=topic, captions=_numbered(captions))
        reply = self._ask(prompt, _Facts, 4096, len(captions))
        return [(one.caption, one.fact.strip()) for one in reply.facts]

    def steps(self, captions: Sequence[Moment], known: Sequence[str], most: int) -> Sequence[Step]:
        """See :meth:`resources.chronicler.Chronicler.steps`."""
        prompt = _STEPS.format(
            material=MATERIAL,
            captions=_numbered(captions),
            most=most,
            known="; ".join(known) or "(none yet)",
        )
        reply = self._ask(prompt, _Steps, 16_000, len(captions))
        return [
            Step(one.event.strip(), tuple(sorted(set(one.captions))), one.text.strip())
            for one in reply.steps
        ]

    def _ask(self, prompt: str, form: type[Form], most: int, count: int) -> Form:
        try:
            return structured(
                self._chat,
                [Message("user", (prompt,))],
                form,
                max_tokens=most,
                temperature=_TEMPERATURE,
                context=count,
            )
        except NoReply as fault:
            raise NotTold(str(fault)) from fault


def _numbered(captions: Sequence[Moment]) -> str:
    return "\n".join(f"{n}. {quoted(one.text)}" for n, one in enumerate(captions))
