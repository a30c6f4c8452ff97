"""Model calls of the writing half: kept, counted, and within a budget."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from queue import SimpleQueue
from typing import Any, TypeVar

from resources.chat import ChatFailure, Message, Reply
from resources.chat.cache import ReplyCache, request_key
from resources.chat.openai_compatible import ChatSettings, OpenAICompatible
from resources.identity import ModelIdentity

In = TypeVar("In")
Out = TypeVar("Out")

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

    @property
    def identity(self) -> ModelIdentity:
        return self._chat.identity

    @property
    def in_flight(self) -> int:
        return self.settings.in_flight

    def reply(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
    ) -> Reply:
        """See :meth:`resources.chat.Chat.reply`; a reply that is kept costs nothing."""
        key = request_key(self.settings, messages, schema, max_tokens)
        kept = self.cache.get(key)
        if kept is not None:
            self.tally.add(kept=1)
            return kept
        with self._checking:
            _ = self._checked
        self.budget.begin()
        try:
            reply = self._chat.reply(messages, schema=schema, max_tokens=max_tokens)
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
    ) -> None:
        """Drops the kept reply to a request, so that a rerun makes the call again."""
        self.cache.drop(request_key(self.settings, messages, schema, max_tokens))

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


def in_flight(
    function: Callable[[In], Out], items: Iterable[In], most: int
) -> Iterator[tuple[In, Out]]:
    """Each item with what the function made of it, as they come, with at most ``most`` at once.

    Items are taken only as there is room for them, so that memory does not grow with their number.
    Where a call raises, what is in flight ends first (its replies are kept), then it is raised.
    """
    source = iter(items)
    with ThreadPoolExecutor(most, thread_name_prefix="call") as pool:
        flying: dict[Future[Out], In] = {}
        done: SimpleQueue[Future[Out]] = SimpleQueue()
        try:
            while True:
                while len(flying) < most:
                    try:
                        item = next(source)
                    except StopIteration:
                        break
                    future = pool.submit(function, item)
                    flying[future] = item
                    future.add_done_callback(done.put)
                if not flying:
                    return
                future = done.get()
                yield flying.pop(future), future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
