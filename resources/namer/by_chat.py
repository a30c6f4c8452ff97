"""Naming people by asking chat models (appendix A, naming)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import cv2
import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator

from resources.chat import Message
from resources.chat.calls import KeptChat
from resources.chat.material import MATERIAL, quoted, spoken, version
from resources.chat.structured import NoReply, structured
from resources.describer import Line
from resources.frames import decode_jpeg, encode_jpeg
from resources.identity import ModelIdentity
from resources.namer import NotNamed, Scene

UNKNOWN = "unknown"
_TEMPERATURE = 0.0
_QUALITY = 90
_RED, _WHITE = (0, 0, 255), (255, 255, 255)

_ASSIGN = """{material}

The pictures are of one stretch of a recording, in order of time. Every person has a
RED BOX with a NUMBER; one number is one person throughout. The cast of the recording: {cast}.

Say for every number who of the cast it is, looking at all of them together: two numbers that stand
in one picture are two people. Names in the lines below tell who SPEAKS or is spoken to, not who
stands where: use them only where picture and line together leave one person. Where that is not so,
say "{unknown}": a name left out costs little, a wrong one much.

Lines of that time:
{lines}

One JSON object: {{"people": [{{"number": 1, "name": "..."}}]}} with every number from 1 to
{count} once, and names of the cast or "{unknown}" alone."""

_DISTILL = """{material}

These are descriptions of ONE person, of one day, from many encounters:

{looks}

Which features of clothing, shoes, hair, glasses and things always worn do most of them agree on?
Only what is worn or stays for the whole day: no pose, no place, no action, nothing carried, no
name. At most 8, each 1 to 4 words with its colour ("green apron", "short pink hair").

One JSON object: {{"features": ["..."]}}; an empty list where they agree on nothing."""


class _Person(BaseModel):
    model_config = ConfigDict(extra="forbid")
    number: int
    name: str


class _People(BaseModel):
    """Validated with (number of people, cast) as context."""

    model_config = ConfigDict(extra="forbid")
    people: list[_Person]

    @field_validator("people")
    @classmethod
    def _of_this_clip(cls, people: list[_Person], info: ValidationInfo) -> list[_Person]:
        count, cast = info.context or (0, ())
        numbers = [one.number for one in people]
        if len(set(numbers)) < len(numbers) or not set(numbers) <= set(range(1, count + 1)):
            raise ValueError(f"numbers have to be from 1 to {count}, each once")
        strangers = sorted({one.name for one in people} - {*cast, UNKNOWN})
        if strangers:
            raise ValueError(f"'{strangers[0]}' is not of the cast ({', '.join(cast)}, {UNKNOWN})")
        return people


class _Features(BaseModel):
    model_config = ConfigDict(extra="forbid")
    features: list[str]


class ChatNamer:
    """One call a clip to a chat model that reads pictures."""

    def __init__(self, chat: KeptChat) -> None:
        self._chat = chat

    @property
    def identity(self) -> ModelIdentity:
        return self._chat.identity_with(version(_ASSIGN))

    @property
    def in_flight(self) -> int:
        return self._chat.in_flight

    def assign(
        self, frames: Sequence[Scene], lines: Sequence[Line], cast: Sequence[str]
    ) -> Mapping[str, str]:
        """See :meth:`resources.namer.Namer.assign`."""
        order = sorted({one for frame in frames for one in frame.people})
        number = {one: place + 1 for place, one in enumerate(order)}
        prompt = _ASSIGN.format(
            material=MATERIAL, cast=", ".join(cast), unknown=UNKNOWN, count=len(order),
            lines=spoken((line.speaker, line.text) for line in lines),
        )  # fmt: skip
        pictures = tuple(numbered(frame, number) for frame in frames)
        try:
            reply = structured(
                self._chat,
                [Message("user", (prompt, *pictures))],
                _People,
                max_tokens=64 + 32 * len(order),
                temperature=_TEMPERATURE,
                context=(len(order), tuple(cast)),
            )
        except NoReply as fault:
            raise NotNamed(str(fault)) from fault
        named = {one.number: one.name for one in reply.people if one.name != UNKNOWN}
        return {one: named[number[one]] for one in order if number[one] in named}


class ChatWardrobe:
    """One call for each person and day to a text model."""

    def __init__(self, chat: KeptChat) -> None:
        self._chat = chat

    @property
    def identity(self) -> ModelIdentity:
        return self._chat.identity_with(version(_DISTILL))

    @property
    def in_flight(self) -> int:
        return self._chat.in_flight

    def distill(self, looks: Sequence[str]) -> Sequence[str]:
        """See :meth:`resources.namer.Wardrobe.distill`."""
        prompt = _DISTILL.format(material=MATERIAL, looks="\n".join(map(quoted, looks)))
        try:
            reply = structured(
                self._chat,
                [Message("user", (prompt,))],
                _Features,
                max_tokens=400,
                temperature=_TEMPERATURE,
            )
        except NoReply as fault:
            raise NotNamed(str(fault)) from fault
        return reply.features


def numbered(frame: Scene, number: Mapping[str, int]) -> bytes:
    """The frame with each person's box and number drawn: JPEG bytes."""
    image = np.ascontiguousarray(decode_jpeg(frame.jpeg))
    for one, box in frame.people.items():
        left, top, right, bottom = (int(edge) for edge in box.round())
        cv2.rectangle(image, (left, top), (right, bottom), _RED, 3)
        cv2.rectangle(image, (left, top), (left + 34, top + 30), _RED, -1)
        place = (left + 4, top + 23)
        cv2.putText(image, str(number[one]), place, cv2.FONT_HERSHEY_SIMPLEX, 0.8, _WHITE, 2)
    return encode_jpeg(image, _QUALITY)
