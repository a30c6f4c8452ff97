"""Triples by a text chat model, one call a caption (spec 2.6)."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from resources.chat import Message
from resources.chat.calls import KeptChat
from resources.chat.material import MATERIAL, quoted, version
from resources.chat.structured import NoReply, structured
from resources.extractor import NotExtracted, Triple
from resources.identity import ModelIdentity

_TEMPERATURE = 0.0
_MAX_TOKENS = 2048

_TRIPLES = """{material}

A caption of half a minute, told by the person who wears the camera ("I"):

{caption}

Take it apart into statements (at most {most}): subject, predicate, object. Subject and object are
people, things or places as the caption names them, in few words, without article; the wearer is
"I". The predicate is the verb, with its preposition. Only what the caption says, nothing twice.

One JSON object: {{"triples": [{{"subject": "...", "predicate": "...", "object": "..."}}]}}; an
empty list if it states nothing."""


class _Triple(BaseModel):
    model_config = ConfigDict(extra="forbid")
    subject: str
    predicate: str
    object: str


class _Triples(BaseModel):
    model_config = ConfigDict(extra="forbid")
    triples: list[_Triple]


class ChatExtractor:
    """Asks a chat model; keeps the first ``most`` triples of a caption."""

    def __init__(self, chat: KeptChat, *, most: int) -> None:
        self._chat = chat
        self._most = most

    @property
    def identity(self) -> ModelIdentity:
        return self._chat.identity_with(version(_TRIPLES))

    @property
    def in_flight(self) -> int:
        return self._chat.in_flight

    def triples(self, caption: str) -> Sequence[Triple]:
        """See :meth:`resources.extractor.Extractor.triples`."""
        prompt = _TRIPLES.format(material=MATERIAL, caption=quoted(caption), most=self._most)
        try:
            reply = structured(
                self._chat,
                [Message("user", (prompt,))],
                _Triples,
                max_tokens=_MAX_TOKENS,
                temperature=_TEMPERATURE,
            )
        except NoReply as fault:
            raise NotExtracted(str(fault)) from fault
        said = (
            Triple(*(" ".join(part.split()) for part in (one.subject, one.predicate, one.object)))
            for one in reply.triples
        )
        return list(dict.fromkeys(triple for triple in said if all(triple)))[: self._most]
