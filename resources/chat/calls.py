"""Model calls of the writing half: kept, counted, and within a budget."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from resources.chat import ChatFailure, Message, Reply
from resources.chat.cache import ReplyCache, request_key, sampling_digest
from resources.chat.openai_compatible import ChatSettings, OpenAICompatible
from resources.identity import ModelIdentity

HOPELESS = 64
"""Calls in a row that may fail for good before the endpoint is taken to be down."""


@dataclass
class Budget:
    """The most that may be spent until it is made anew; None: no limit. Threads share it."""

    tokens: int | None = None
    calls: int | None = None
    spent_tokens: int = 0
    spent_calls: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def begin(self) -> None:
        """Takes one call out of the budget. Raises ChatFailure where nothing is left."""
        with self._lock:
            if self.calls is not None and self.spent_calls >= self.calls:
                raise _spent(f"{self.calls:,} calls")
            if self.tokens is not None and self.spent_tokens >= self.tokens:
                raise _spent(f"{self.tokens:,} tokens")
            self.spent_calls += 1

    def end(self, reply: Reply) -> None:
        with self._lock:
            self.spent_tokens += reply.prompt_tokens + reply.completion_tokens


def _spent(what: str) -> ChatFailure:
    return ChatFailure(
        "budget",
        f"the budget of {what} is spent; what was paid for is kept: build again with a larger one",
    )


@dataclass
class Tally:
    """What the calls of one run came to. Threads share it."""

    asked: int = 0
    """Calls made to the endpoint that were answered."""
    kept: int = 0
    """Replies that were there already."""
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, **counts: int) -> None:
        with self._lock:
            for name, count in counts.items():
                setattr(self, name, getattr(self, name) + count)

    def figures(self, settings: ChatSettings) -> dict[str, float | int | str]:
        """What is shown beside an asset; the cost where the prices are known."""
        shown: dict[str, float | int | str] = {
            "calls made": self.asked,
            "replies kept from before": self.kept,
            "calls failed": self.failed,
            "prompt tokens": self.prompt_tokens,
            "completion tokens": self.completion_tokens,
        }
        cost = settings.cost(self.prompt_tokens, self.completion_tokens)
        return shown if cost is None else {**shown, "cost": round(cost, 4)}


class KeptChat:
    """A chat whose replies are kept, counted, and paid out of a budget. Safe to share."""

    def __init__(
        self, settings: ChatSettings, cache: ReplyCache, budget: Budget, *, purpose: str
    ) -> None:
        self.settings = settings
        self.cache = cache
        self.budget = budget
        self.purpose = purpose
        self.tally = Tally()
        self._chat = OpenAICompatible(settings)
        self._in_a_row = 0
        self._checking = threading.Lock()

    def identity_with(self, prompt: str) -> ModelIdentity:
        """What an adapter's rows depend on: the model, the words it is asked with (their version)
        and how it samples; not where it is."""
        return ModelIdentity(
            self.settings.model, f"prompt {prompt}", sampling_digest(self.settings)
        )

    @property
    def in_flight(self) -> int:
        return self.settings.in_flight

    def reply(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Reply:
        """See :meth:`resources.chat.Chat.reply`; a reply that is kept costs nothing."""
        key = request_key(self.settings, messages, schema, max_tokens, temperature)
        kept = self.cache.get(key)
        if kept is not None:
            self.tally.add(kept=1)
            return kept
        with self._checking:
            _ = self._checked
        self.budget.begin()
        try:
            reply = self._chat.reply(
                messages, schema=schema, max_tokens=max_tokens, temperature=temperature
            )
        except ChatFailure as failure:
            self.tally.add(failed=1)
            raise self._judged(failure) from failure
        self._in_a_row = 0
        self.cache.put(key, self.settings.model, self.purpose, reply)
        self.budget.end(reply)
        self.tally.add(
            asked=1, prompt_tokens=reply.prompt_tokens, completion_tokens=reply.completion_tokens
        )
        return reply

    def forget(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> None:
        """Drops the kept reply to a request, so that a rerun makes the call again."""
        self.cache.drop(request_key(self.settings, messages, schema, max_tokens, temperature))

    @cached_property
    def _checked(self) -> bool:
        """Looked at once, before the first call is paid for."""
        self._chat.check()
        return True

    def _judged(self, failure: ChatFailure) -> ChatFailure:
        """A failure that passes, unless nothing but failures has been seen for long."""
        self._in_a_row += 1
        if failure.passing and self._in_a_row >= HOPELESS:
            return ChatFailure("down", f"{self._in_a_row} calls failed in a row: {failure}")
        return failure


@dataclass
class Calls:
    """Where the chats of one home keep their replies, and the budget that they share."""

    cache: ReplyCache
    budget: Budget
    made: list[KeptChat] = field(default_factory=list)

    def chat(self, settings: ChatSettings, purpose: str) -> KeptChat:
        """A chat for one purpose; what it costs is told by :meth:`figures`."""
        self.made.append(KeptChat(settings, self.cache, self.budget, purpose=purpose))
        return self.made[-1]

    def figures(self) -> dict[str, float | int | str]:
        """Counts and cost of all chats so far, for the asset's metadata; none where none called."""
        figures: dict[str, float | int | str] = {}
        for chat in self.made:
            for name, value in chat.tally.figures(chat.settings).items():
                figures[name] = round(float(figures.get(name, 0)) + float(value), 4)
        return (
            {name: value if name == "cost" else int(value) for name, value in figures.items()}
            if any(figures.values())
            else {}
        )
