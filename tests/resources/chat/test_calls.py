"""Kept, counted and limited calls, against a strict endpoint in a process of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from evaluation.bench.chat_server import Running, running
from resources.chat import ChatFailure, Message
from resources.chat.cache import ReplyCache, request_key
from resources.chat.calls import HOPELESS, Budget, Calls, KeptChat
from resources.chat.limiter import Limiter
from resources.chat.openai_compatible import ChatSettings
from resources.chat.structured import NoReply, strict_schema, structured
from resources.concurrency import in_flight


class Thing(BaseModel):
    object_name: str
    parts: list[str]

    @field_validator("object_name")
    @classmethod
    def _red(cls, name: str) -> str:
        if not name.startswith("red"):
            raise ValueError("has to be red")
        return name


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running() as one:
        yield one


def chat(folder: Path, server: Running, *, budget: Budget | None = None, **own: Any) -> KeptChat:
    fast = {"backoff_s": 0.01, "timeout_s": 5.0, "retries": 1, "model": "m", **own}
    settings = ChatSettings(**{"base_url": server.url, **fast})
    return Calls(ReplyCache(folder / "r.sqlite"), budget or Budget()).chat(settings, "test")


def ask(number: int) -> list[Message]:
    return [Message("user", (f"Say {number}.",))]


def answered(server: Running) -> int:
    return int(server.stats()["told"].get("answered", 0))


def test_a_reply_is_paid_for_once(tmp_path: Path, server: Running) -> None:
    before = answered(server)
    first, again = chat(tmp_path, server), chat(tmp_path, server, timeout_s=9.0, in_flight=2)
    assert first.reply(ask(1)) == first.reply(ask(1)) == again.reply(ask(1))
    assert answered(server) == before + 1
    assert (first.tally.asked, first.tally.kept, again.tally.kept) == (1, 1, 1)
    again.forget(ask(1))
    again.reply(ask(1))
    assert answered(server) == before + 2


def test_what_shapes_a_reply_is_in_its_key_and_nothing_else() -> None:
    base = ChatSettings()

    def key(settings: ChatSettings = base, parts: tuple[Any, ...] = ("a", b"b"), **own: Any) -> str:
        asked = {"schema": None, "max_tokens": None, "temperature": None, **own}
        return request_key(settings, [Message("user", parts)], **asked)

    same = [
        key(base.model_copy(update=one))
        for one in ({"base_url": "http://x"}, {"retries": 9}, {"timeout_s": 3.0}, {"in_flight": 1})
    ]
    assert set(same) == {key()} == {key(max_tokens=base.max_tokens)}
    others = [
        key(base.model_copy(update={"model": "x"})), key(base.model_copy(update={"seed": 1})),
        key(base.model_copy(update={"top_p": 0.5})),
        key(parts=("a", b"c")), key(parts=("a", "b")), key(parts=("ab",)), key(parts=(b"b", "a")),
        key(schema={"type": "object"}), key(max_tokens=7), key(temperature=0.3),
    ]  # fmt: skip
    assert len({key(), *others}) == 1 + len(others)


def test_a_budget_stops_and_what_is_kept_goes_on(tmp_path: Path, server: Running) -> None:
    limited = chat(tmp_path, server, budget=Budget(calls=2))
    for number in (11, 12):
        limited.reply(ask(number))
    with pytest.raises(ChatFailure, match="budget of 2 calls") as caught:
        limited.reply(ask(13))
    assert (caught.value.kind, caught.value.passing) == ("budget", False)
    limited.reply(ask(12))
    poor = chat(tmp_path, server, budget=Budget(tokens=1))
    poor.reply(ask(14))
    with pytest.raises(ChatFailure, match="budget of 1 tokens"):
        poor.reply(ask(15))


def test_another_model_than_configured_is_told_before_a_call_is_paid(
    tmp_path: Path, server: Running
) -> None:
    before = server.stats()["told"]
    with pytest.raises(ChatFailure, match="serves m, not 'n'") as caught:
        chat(tmp_path, server, model="n").reply(ask(1))
    assert not caught.value.passing
    assert server.stats()["told"] == before


def test_nothing_but_failures_ends_it(tmp_path: Path) -> None:
    with running(broken=1.0) as broken:
        one = chat(tmp_path, broken, retries=0)
        kinds = []
        for number in range(HOPELESS):
            with pytest.raises(ChatFailure) as caught:
                one.reply(ask(number))
            kinds.append(caught.value.kind)
    assert kinds == ["server"] * (HOPELESS - 1) + ["down"]


def test_cost_is_told_where_prices_are_known(tmp_path: Path, server: Running) -> None:
    priced = chat(tmp_path, server, prompt_price=1e6, completion_price=2e6)
    reply = priced.reply(ask(21))
    figures = priced.tally.figures(priced.settings)
    assert figures["cost"] == reply.prompt_tokens + 2 * reply.completion_tokens
    assert "cost" not in chat(tmp_path, server).tally.figures(ChatSettings())


def test_a_form_is_asked_for_strictly(tmp_path: Path, server: Running) -> None:
    schema = strict_schema(Thing)
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["object_name", "parts"]
    thing = structured(chat(tmp_path, server), ask(31), Thing, max_tokens=50, temperature=0.0)
    assert thing == Thing(object_name="red cup", parts=[])


def test_a_wrong_form_is_repaired_once_then_given_up_and_asked_anew(tmp_path: Path) -> None:
    with running(answers={"object_name": "blue cup"}) as server:
        one = chat(tmp_path, server)
        for attempt in (1, 2):
            with pytest.raises(NoReply, match="object_name: has to be red"):
                structured(one, ask(41), Thing, max_tokens=50, temperature=0.0)
            assert answered(server) == 2 * attempt


def test_a_wrong_form_that_was_paid_for_is_kept_until_its_repair_is_there(tmp_path: Path) -> None:
    """Killed between a reply of no use and its repair, the reply is not asked for again."""
    with running(answers={"object_name": "blue cup"}) as server:
        one = chat(tmp_path, server, budget=Budget(calls=1))
        with pytest.raises(ChatFailure, match="budget"):
            structured(one, ask(42), Thing, max_tokens=50, temperature=0.0)
        with pytest.raises(NoReply):
            structured(chat(tmp_path, server), ask(42), Thing, max_tokens=50, temperature=0.0)
        assert answered(server) == 2


def test_the_limiter_narrows_once_a_round_and_widens_slowly() -> None:
    limiter = Limiter(8)
    with limiter.place() as first, limiter.place() as second:
        limiter.pushed_back(first)
        limiter.pushed_back(second)  # of the same round: no second halving
    assert limiter.width == 4
    for _ in range(4):
        limiter.succeeded()
    assert limiter.width == 4
    for _ in range(100):
        limiter.succeeded()
    assert limiter.width == 8
    for _ in range(9):
        with limiter.place() as number:
            limiter.pushed_back(number)
    assert limiter.width == 1


def test_the_limiter_holds_calls_back() -> None:
    limiter, inside, most = Limiter(3), [], []

    def call() -> None:
        with limiter.place():
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.01)
            inside.pop()

    threads = [threading.Thread(target=call) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 3


@pytest.mark.parametrize("most", [1, 3])
def test_in_flight_takes_no_more_than_there_is_room_for(most: int) -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(20):
            taken.append(number)
            yield number

    seen = []
    for item, result in in_flight(lambda n: n * n, items(), most):
        assert result == item * item
        seen.append(item)
        assert len(taken) <= len(seen) + most
    assert sorted(seen) == list(range(20))


def test_in_flight_raises_after_what_flies_has_landed() -> None:
    ended: list[int] = []

    def call(number: int) -> None:
        if number == 1:
            raise KeyError("stop")
        time.sleep(0.05)
        ended.append(number)

    with pytest.raises(KeyError):
        list(in_flight(call, range(100), 3))
    assert 1 <= len(ended) <= 4
