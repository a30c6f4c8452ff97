"""Chat models of a profile read questions and judge answers, over HTTP, seed by seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaluation.bench.chat_server import Running, running
from evaluation.metrics.judges import judge_lifelong
from evaluation.readers import JUDGE, READER, judge, readers
from geb_assets.reading.answerer.chat import ChatAnswerer
from geb_assets.reading.asking import ask
from geb_assets.reading.controller.chat import ChatController
from geb_assets.reading.memory import Memory
from geb_assets.reading.record import Record
from geb_assets.reading.settings import Reading
from resources.chat import ChatFailure, Message, Reply
from resources.chat.cache import ReplyCache
from resources.chat.calls import Budget, Calls
from resources.identity import ModelIdentity
from resources.profiles import EMBEDDED, PAPER, Roles
from tests.reading.synthetic import WordVectors, random_tables


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running() as one:
        yield one


def roles(folder: Path, server: Running, *declared: str) -> Roles:
    address = {"base_url": server.url, "model": "m"}
    profile = PAPER.having({READER: address, JUDGE: address})
    calls = Calls(ReplyCache(folder / "replies.sqlite"), Budget())
    return Roles(profile, folder, Reading(), declared, calls)


def answered(server: Running) -> int:
    return int(server.stats()["told"].get("answered", 0))


def test_each_run_has_a_seed_of_its_own_and_is_paid_for_once(
    tmp_path: Path, server: Running
) -> None:
    memory = Memory.from_tables(random_tables(np.random.default_rng(1)), WordVectors())
    served = roles(tmp_path, server, READER)

    def run(seed: int) -> int:
        before = answered(server)
        controller, answerer = readers(served, seed)
        record = ask(memory, "Where is the cup?", choices=("table", "pan"), controller=controller,
                     answerer=answerer)  # fmt: skip
        assert record.choice in ("A", "B")
        assert not record.error
        return answered(server) - before

    assert run(0) > 0
    assert run(0) == 0
    assert run(1) > 0


def test_a_call_that_fails_is_told_from_a_reply_of_no_use(tmp_path: Path) -> None:
    memory = Memory.from_tables(random_tables(np.random.default_rng(1)), WordVectors())

    class Chat:
        identity = ModelIdentity("m", "", "")

        def __init__(self, decides: bool, answers: str | None) -> None:
            self.decides, self.answers = decides, answers

        def reply(self, messages: Sequence[Message], **options: Any) -> Reply:
            if "decision" in options["schema"]["properties"]:
                if not self.decides:
                    raise ChatFailure("server", "busy")
                return Reply('{"decision": "search", "search_query": "cup"}')
            if self.answers is None:
                raise ChatFailure("server", "busy")
            return Reply(self.answers)

    def record(decides: bool, answers: str | None) -> Record:
        chat = Chat(decides, answers)
        return ask(memory, "Where is the cup?", choices=("table", "pan"),
                   controller=ChatController(chat), answerer=ChatAnswerer(chat))  # fmt: skip

    def failed(one: Record) -> tuple[bool, bool]:
        return any(round_.failed for round_ in one.rounds), one.failed

    assert failed(record(True, '{"answer": "A"}')) == (False, False)
    assert failed(record(False, '{"answer": "A"}')) == (True, False)
    assert failed(record(True, None)) == (False, True)
    useless = record(True, "Nobody knows")
    assert failed(useless) == (False, False)
    assert useless.error == "the reply names none of the choices"


def test_a_judge_answers_for_open_questions_and_is_absent_where_no_profile_has_one(
    tmp_path: Path, server: Running
) -> None:
    asked = judge(roles(tmp_path, server, JUDGE))
    assert asked is not None
    judgement = judge_lifelong(asked, "What?", "a cup", "a cup")
    assert judgement.reply
    embedded = replace(roles(tmp_path, server), profile=EMBEDDED)
    assert judge(embedded) is None
    assert readers(embedded, 0)[0].name == "embedded controller"
