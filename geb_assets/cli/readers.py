"""Who reads a question: the chat model where one is configured, else the embedded pair."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from geb_assets.errors import GebError
from geb_assets.reading.answerer import Answerer
from geb_assets.reading.answerer.chat import ChatAnswerer
from geb_assets.reading.answerer.embedded import EmbeddedAnswerer
from geb_assets.reading.controller import Controller
from geb_assets.reading.controller.chat import ChatController
from geb_assets.reading.controller.embedded import EmbeddedController
from resources.chat import ChatFailure
from resources.chat.openai_compatible import ChatSettings, OpenAICompatible

Model = Literal["chat", "embedded"]


@dataclass(frozen=True)
class Readers:
    """A controller and the answerer that belongs to it."""

    controller: Controller
    answerer: Answerer


def readers(model: Model | None) -> Readers:
    """The pair of that name; None: chat where an endpoint is configured, else embedded.

    Raises GebError where chat is asked for and no endpoint is configured.
    """
    settings = chat_settings()
    if model == "embedded" or (model is None and settings is None):
        return Readers(EmbeddedController(), EmbeddedAnswerer())
    if settings is None:
        raise GebError(
            "no chat endpoint is configured; set GEB_CHAT_URL (and GEB_CHAT_MODEL, GEB_CHAT_KEY), "
            "or ask with --model embedded"
        )
    chat = OpenAICompatible(settings)
    return Readers(ChatController(chat), ChatAnswerer(chat))


def chat_settings() -> ChatSettings | None:
    """The endpoint of the chat role; None where none is configured."""
    return ChatSettings.of_environment() if os.environ.get("GEB_CHAT_URL") else None


@contextmanager
def way_out() -> Iterator[None]:
    """Adds to a failure of the chat endpoint where it is set, and how to ask without it."""
    try:
        yield
    except ChatFailure as failure:
        raise GebError(
            f"{failure} (GEB_CHAT_URL, GEB_CHAT_MODEL and GEB_CHAT_KEY set it); "
            "or ask with --model embedded"
        ) from failure
