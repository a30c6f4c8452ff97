"""The loop against a real OpenAI-compatible server: a small chat model in this process.

SmolLM2-135M answers next to nothing right: these tests prove the wiring and no more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import cv2
import numpy as np
import pytest
from click.testing import CliRunner

from geb_assets.cli import main
from geb_assets.home import Home
from geb_assets.reading.answerer.chat import ChatAnswerer
from geb_assets.reading.answerer.embedded import EmbeddedAnswerer
from geb_assets.reading.asking import AskSettings, ask, replay
from geb_assets.reading.controller.chat import ChatController
from geb_assets.reading.record import Record
from resources.chat import ChatFailure, Message
from resources.chat.openai_compatible import ChatSettings, OpenAICompatible
from resources.packages import SMOLLM2
from tests.models import fetched
from tests.reading.test_asking import MEMORY, QUESTION

pytestmark = pytest.mark.slow

KEY = "a-key-of-this-test"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server of SmolLM2 that asks for a key; skips where the model cannot be fetched."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(fetched((SMOLLM2,)) / SMOLLM2.name)
    params.model_alias = {"smollm2"}
    params.api_keys = [KEY]
    # A place each for the controller's and the answerer's rules, which are long to read anew.
    params.n_ctx, params.n_parallel = 16_384, 2
    # Two threads that wait for each other are slower than one on a busy machine.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.port = 0
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server


@pytest.fixture
def chat(url: str, monkeypatch: pytest.MonkeyPatch) -> OpenAICompatible:
    monkeypatch.setenv("GEB_CHAT_KEY", KEY)
    return OpenAICompatible(
        ChatSettings(base_url=url, model="smollm2", temperature=0.0, timeout_s=600, retries=0)
    )


def test_a_question_runs_through_all_of_it(chat: OpenAICompatible) -> None:
    record = ask(
        MEMORY,
        QUESTION,
        choices=("me", "Mira"),
        controller=ChatController(chat),
        answerer=ChatAnswerer(chat),
        settings=AskSettings(rounds=2),
    )
    # A reply without end is cut and mended: that is the model's. What the endpoint does is not.
    assert record.searches and not any("chat endpoint" in one.error for one in record.rounds)
    assert record.choice in ("A", "B") and record.answer in ("me", "Mira")
    assert record.prompt_tokens > 2000 and record.completion_tokens > 0
    assert "smollm2" in record.controller
    assert Record.model_validate_json(record.model_dump_json()) == record
    again = replay(MEMORY, record, answerer=EmbeddedAnswerer())
    assert again.rounds == record.rounds and again.answerer == "embedded answerer"


def test_an_open_question_is_answered_in_words(chat: OpenAICompatible) -> None:
    record = ask(
        MEMORY,
        QUESTION,
        controller=ChatController(chat),
        answerer=ChatAnswerer(chat, frames=False),
        settings=AskSettings(rounds=1),
    )
    assert record.answer and record.choice is None


def test_a_model_without_eyes_refuses_pictures(chat: OpenAICompatible) -> None:
    jpeg = bytes(cv2.imencode(".jpg", np.full((20, 20, 3), 90, np.uint8))[1])
    with pytest.raises(ChatFailure) as caught:
        chat.reply([Message("user", ("What is this?", jpeg))], max_tokens=4)
    assert caught.value.kind == "images"


def test_a_wrong_key_is_one_line_that_names_the_setting(
    url: str, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEB_CHAT_URL", url)
    monkeypatch.setenv("GEB_CHAT_KEY", "another")
    result = CliRunner().invoke(main, ["ask", "r", "What hangs there?", "--json"])
    assert result.exit_code == 1
    line = json.loads(result.stdout)["error"]
    assert "refused the key" in line and "GEB_CHAT_KEY" in line and "another" not in line
