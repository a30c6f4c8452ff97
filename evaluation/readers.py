"""Who reads a benchmark's questions, and who judges open answers: what the profile serves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.metrics.judges import PROMPTS as JUDGE_PROMPTS
from evaluation.metrics.judges import Judge
from geb_assets.reading.answerer import Answerer
from geb_assets.reading.answerer.chat import ChatAnswerer
from geb_assets.reading.answerer.chat import prompt as answerer_prompt
from geb_assets.reading.answerer.embedded import EmbeddedAnswerer
from geb_assets.reading.controller import Controller
from geb_assets.reading.controller.chat import ChatController
from geb_assets.reading.controller.embedded import EmbeddedController
from geb_assets.reading.controller.prompt import prompt as controller_prompt
from resources.chat import Message, Reply
from resources.chat.calls import KeptChat
from resources.identity import ModelIdentity, joint_digest
from resources.profiles import Roles

READER, JUDGE = "chat", "text_chat"
"""The roles that read questions and judge answers, where a profile has them."""

PROMPTS = {
    READER: joint_digest(*controller_prompt(), *answerer_prompt())[:12],
    JUDGE: joint_digest(*JUDGE_PROMPTS)[:12],
}
"""Role to a digest of the words it is asked with."""


class Seeded:
    """A kept chat as the reading half asks it."""

    def __init__(self, kept: KeptChat) -> None:
        self._kept = kept

    @property
    def identity(self) -> ModelIdentity:
        return self._kept.identity_with("reading")

    def reply(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Reply:
        return self._kept.reply(
            messages, schema=schema, max_tokens=max_tokens, temperature=temperature
        )


def readers(roles: Roles, seed: int) -> tuple[Controller, Answerer]:
    """The controller and the answerer of one run; a chat model samples with the run's seed."""
    if READER not in roles.declared:
        return EmbeddedController(), EmbeddedAnswerer()
    chat = _chat(roles, READER, seed)
    return ChatController(chat), ChatAnswerer(chat)


def judge(roles: Roles) -> Judge | None:
    """The judge; None where the profile has none."""
    if JUDGE not in roles.declared:
        return None
    chat = _chat(roles, JUDGE, 0)

    def ask(prompt: str) -> str:
        return chat.reply([Message("user", (prompt,))], max_tokens=4096, temperature=0.0).text

    return ask


def _chat(roles: Roles, role: str, seed: int) -> Seeded:
    settings = roles.profile.chat_settings(role).model_copy(update={"seed": seed})
    return Seeded(roles.calls.chat(settings, role))
