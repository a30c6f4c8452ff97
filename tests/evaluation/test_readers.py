"""Chat models of a profile read questions and judge answers, over HTTP, seed by seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluation.bench.chat_server import Running, running
from evaluation.metrics.judges import judge_lifelong
from evaluation.readers import JUDGE, READER, judge, readers
from geb_assets.reading.asking import ask
from geb_assets.reading.memory import Memory
from geb_assets.reading.settings import Reading
from resources.chat.cache import ReplyCache
from resources.chat.calls import Budget, Calls
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
