"""Who reads a question: the chat model where one is configured, else the embedded pair."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from geb_assets.errors import GebError
from geb_assets.home import Home
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


def readers(home: Home, model: Model | None) -> Readers:
    """The pair of that name; None: chat where an endpoint is configured, else embedded.

    Raises GebError where chat is asked for and no endpoint is configured, and ChatFailure where
    the endpoint is down, refuses the key, or serves another model.
    """
    settings = chat_settings(home)
    if model == "embedded" or (model is None and settings is None):
        return Readers(EmbeddedController(), EmbeddedAnswerer())
    if settings is None:
        raise GebError(
            "no chat endpoint is configured; set GEB_CHAT_URL (and GEB_CHAT_MODEL, GEB_CHAT_KEY), "
            "choose a profile that has one with geb use, or ask with --model embedded"
        )
    chat = OpenAICompatible(settings)
    chat.check()
    return Readers(ChatController(chat), ChatAnswerer(chat))


def chat_settings(home: Home) -> ChatSettings | None:
    """How the chat role is asked: as the profile has it, else where ``GEB_CHAT_URL`` points."""
    profile = home.profile()
    if "chat" in profile.roles:
        return profile.chat_settings("chat")
    return ChatSettings.of_environment() if os.environ.get("GEB_CHAT_URL") else None


@contextmanager
def way_out() -> Iterator[None]:
    """Adds to a failure of the chat endpoint where it is set, and how to ask without it."""
    try:
        yield
    except ChatFailure as failure:
        raise GebError(
            f"{failure} (set by geb use, or GEB_CHAT_URL, GEB_CHAT_MODEL and GEB_CHAT_KEY); "
            "or ask with --model embedded"
        ) from failure
