"""Captions by chat models (paper 3.2; spec 2.3, 2.4)."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, field_validator

from resources.captioner import NotCaptioned
from resources.chat import Message
from resources.chat.calls import KeptChat
from resources.chat.material import MATERIAL, quoted, spoken, version
from resources.chat.structured import NoReply, structured
from resources.describer import Line
from resources.describer.vision_language import foreign
from resources.identity import ModelIdentity

_TEMPERATURE = 0.2
_SLACK = 2
"""Tokens granted a word."""

_CAPTION = """{material}

The pictures show about half a minute{worn}, in order of time. Write 2 to 4 plain
sentences in English on what happens: who does what with which things, where, and, where it is said
below, what about. {person}Only what is seen or said; no guesses, nothing about pictures or video.

Said meanwhile:
{lines}

One JSON object: {{"text": "..."}}"""

_SUMMARY = """{material}

These captions follow each other in time:

{captions}

Tell the whole stretch in at most {words} words, in English and in order of time: the activities,
who took part, the things and places that mattered, what was decided. Keep the names and the person
of the captions ("I" stays "I"). Only what the captions say.

One JSON object: {{"text": "..."}}"""


class _Text(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)
    text: str

    @field_validator("text")
    @classmethod
    def _told(cls, text: str) -> str:
        if not text:
            raise ValueError("must not be empty")
        if foreign(text):
            raise ValueError("is in another language; write English")
        return text


class ChatCaptioner:
    """One call for half a minute to a chat model that reads pictures."""

    def __init__(self, chat: KeptChat) -> None:
        self._chat = chat

    @property
    def identity(self) -> ModelIdentity:
        return self._chat.identity_with(version(_CAPTION))

    @property
    def in_flight(self) -> int:
        return self._chat.in_flight

    def caption(self, pictures: Sequence[bytes], lines: Sequence[Line], wearer: str) -> str:
        """See :meth:`resources.captioner.Captioner.caption`."""
        prompt = _CAPTION.format(
            material=MATERIAL,
            worn=f" as {wearer}, who wears the camera, sees it" if wearer else "",
            person=f"Write of {wearer} as I. " if wearer else "",
            lines=spoken((line.speaker, line.text) for line in lines),
        )
        return _text(self._chat, (prompt, *pictures), 400)


class ChatSummarizer:
    """One call a window to a text model."""

    def __init__(self, chat: KeptChat) -> None:
        self._chat = chat

    @property
    def identity(self) -> ModelIdentity:
        return self._chat.identity_with(version(_SUMMARY))

    @property
    def in_flight(self) -> int:
        return self._chat.in_flight

    def summarize(self, captions: Sequence[str], words: int) -> str:
        """See :meth:`resources.captioner.Summarizer.summarize`."""
        prompt = _SUMMARY.format(
            material=MATERIAL, captions="\n".join(map(quoted, captions)), words=words
        )
        return _text(self._chat, (prompt,), 200 + _SLACK * words)


def _text(chat: KeptChat, parts: tuple[str | bytes, ...], most: int) -> str:
    try:
        reply = structured(
            chat, [Message("user", parts)], _Text, max_tokens=most, temperature=_TEMPERATURE
        )
    except NoReply as fault:
        raise NotCaptioned(str(fault)) from fault
    return reply.text
