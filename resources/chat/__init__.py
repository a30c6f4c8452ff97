"""The chat role: a conversation in, one reply out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from geb_assets.errors import GebError
from resources.identity import ModelIdentity

Part = str | bytes
"""A text, or a picture as JPEG bytes."""

FailureKind = Literal[
    "down", "key", "model", "limit", "timeout", "server", "reply", "images", "budget"
]


@dataclass(frozen=True)
class Message:
    """One message: its parts are read in order."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Reply:
    """What the model said, never empty, and what it cost."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


class ChatFailure(GebError):
    """No reply, after all retries. ``kind`` tells what stood in the way."""

    def __init__(self, kind: FailureKind, line: str) -> None:
        super().__init__(line)
        self.kind: FailureKind = kind

    @property
    def passing(self) -> bool:
        """Whether the next call may well succeed with nothing changed."""
        return self.kind in ("limit", "timeout", "server", "reply")


class Chat(Protocol):
    """A chat model. Safe to share between threads."""

    @property
    def identity(self) -> ModelIdentity: ...

    def reply(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Reply:
        """The model's reply; with a JSON ``schema``, asks for a reply of that form.

        ``max_tokens`` and ``temperature`` stand in for the adapter's own where given.

        Raises ChatFailure, whose line names the setting to mend, where no reply is to be had.
        """
        ...
