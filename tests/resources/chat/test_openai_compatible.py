"""The chat adapter against a local HTTP server that follows a script."""

from __future__ import annotations

import base64
import socket
import threading
import time
from collections.abc import Callable

import cv2
import numpy as np
import pytest

from resources.chat import ChatFailure, Message
from resources.chat.openai_compatible import ChatSettings, OpenAICompatible, fitted
from tests.resources.chat.scripted import Script, Step, refuses, says

ASK = [Message("user", ("Who drank?",))]


def failure(chat: OpenAICompatible, messages: list[Message] = ASK) -> ChatFailure:
    with pytest.raises(ChatFailure) as caught:
        chat.reply(messages)
    assert "\n" not in str(caught.value)
    return caught.value


def test_reply(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEB_CHAT_KEY", "secret")
    chat = script.chat(says("Tasha."), temperature=0.0, seed=7, extra={"top_k": 20})
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    reply = chat.reply([Message("system", ("Be brief.",)), *ASK], schema=schema, max_tokens=9)
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("Tasha.", 11, 3)
    [sent] = script.requests
    assert sent["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Who drank?"},
    ]
    assert (sent["temperature"], sent["seed"], sent["top_k"]) == (0.0, 7, 20)
    assert sent["max_tokens"] == 9
    assert sent["response_format"]["json_schema"]["schema"] == schema
    assert script.headers[0]["authorization"] == "Bearer secret"
    assert "secret" not in repr(chat.settings) + str(chat.identity)


def test_a_limit_is_waited_out(script: Script) -> None:
    slow = Step(429, "{}", {"retry-after": "1"})
    started = time.perf_counter()
    assert script.chat(slow, says("yes"), backoff_s=9.0).reply(ASK).text == "yes"
    assert len(script.requests) == 2 and 1 <= time.perf_counter() - started < 4


def test_a_proxy_of_the_environment_gets_its_credentials(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", script.url.replace("//", "//Ada:a%40b@").removesuffix("/v1"))
    monkeypatch.setenv("no_proxy", "")
    behind = script.chat(says("yes"), base_url="http://far.invalid/v1")
    assert behind.reply(ASK).text == "yes"
    told = base64.b64encode(b"Ada:a@b").decode()
    assert script.headers[-1]["proxy-authorization"] == f"Basic {told}"
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert script.chat(says("yes")).reply(ASK).text == "yes"
    assert "proxy-authorization" not in script.headers[-1]


def test_a_limit_that_does_not_end(script: Script) -> None:
    error = failure(script.chat(refuses(429, "slow down")))
    assert (error.kind, error.passing, len(script.requests)) == ("limit", True, 3)
    assert "429" in str(error)


def test_a_server_error_is_tried_again(script: Script) -> None:
    assert script.chat(refuses(500, "oops"), says("yes")).reply(ASK).text == "yes"
    error = failure(script.chat(refuses(500, "oops")))
    assert error.kind == "server"
    assert "500: " in str(error)


def test_a_hang_ends_at_the_timeout(script: Script) -> None:
    started = time.perf_counter()
    error = failure(script.chat(Step(hang_s=1.0, body="{}"), timeout_s=0.2, retries=1))
    assert time.perf_counter() - started < 2
    assert error.kind == "timeout"
    assert "chat.timeout_s" in str(error)


def test_a_cut_connection(script: Script) -> None:
    assert script.chat(Step(cut=True), says("yes")).reply(ASK).text == "yes"
    error = failure(script.chat(Step(cut=True)))
    assert error.kind == "server"


@pytest.mark.parametrize(
    "step",
    [Step(body="{not json"), Step(body="[]"), Step(body='{"id": 1}'), says(""), says(None)],
    ids=["malformed", "list", "no choices", "empty", "null"],
)
def test_an_unreadable_reply(script: Script, step: Step) -> None:
    assert script.chat(step, says("yes")).reply(ASK).text == "yes"
    error = failure(script.chat(step))
    assert (error.kind, error.passing) == ("reply", True)


def test_a_refused_key_is_not_tried_again(script: Script) -> None:
    error = failure(script.chat(refuses(401, "bad key")))
    assert (error.kind, error.passing, len(script.requests)) == ("key", False, 1)
    assert "GEB_CHAT_KEY" in str(error)


def test_a_key_is_never_told(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEB_CHAT_KEY", "secret-7\r\n")
    assert script.chat(says("Tasha.")).reply(ASK).text == "Tasha."
    told = failure(script.chat(refuses(401, "no such key: secret-7")))
    assert told.kind == "key" and "secret-7" not in str(told) and "***" in str(told)
    told = failure(script.chat(refuses(401, "x" * 195 + "secret-7")))
    assert told.kind == "key" and "secr" not in str(told)
    monkeypatch.setenv("GEB_CHAT_KEY", "secret-7\r\nx")
    told = failure(script.chat(says("Tasha.")))
    assert told.kind == "key" and "secret" not in str(told) and "GEB_CHAT_KEY" in str(told)


def test_an_unknown_model(script: Script) -> None:
    error = failure(script.chat(refuses(404, "no such model")))
    assert error.kind == "model"
    assert "chat.model" in str(error)


def test_an_endpoint_that_is_down() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/v1"
    error = failure(OpenAICompatible(ChatSettings(base_url=url, retries=1, backoff_s=0.01)))
    assert error.kind == "down"
    assert url in str(error) and "chat.base_url" in str(error)


@pytest.mark.parametrize(
    "url", ["http://tür.invalid/v1", "127.0.0.1", "", "ftp://127.0.0.1/v1", "http://[::1"]
)
def test_an_address_that_is_none(url: str) -> None:
    error = failure(OpenAICompatible(ChatSettings(base_url=url, retries=0)))
    assert error.kind == "down" and "chat.base_url" in str(error)


def jpeg(width: int, height: int) -> bytes:
    picture = np.full((height, width, 3), 90, np.uint8)
    return bytes(cv2.imencode(".jpg", picture)[1])


def test_pictures_go_as_data_urls_between_the_texts(script: Script) -> None:
    script.chat(says("yes")).reply([Message("user", ("before", jpeg(1000, 500), "after"))])
    first, picture, last = script.requests[0]["messages"][0]["content"]
    assert (first["text"], last["text"]) == ("before", "after")
    head, _, data = picture["image_url"]["url"].partition(",")
    assert head == "data:image/jpeg;base64"
    sent = cv2.imdecode(np.frombuffer(base64.b64decode(data), np.uint8), cv2.IMREAD_COLOR)
    assert sent is not None and sent.shape == (384, 768, 3)


def test_a_picture_that_fits_is_sent_as_it_is() -> None:
    stored = jpeg(768, 400)
    assert fitted(stored) == stored


def test_refused_pictures(script: Script) -> None:
    error = failure(
        script.chat(refuses(400, "this model reads no images")),
        [Message("user", ("look", jpeg(20, 20)))],
    )
    assert (error.kind, len(script.requests)) == ("images", 1)


def test_a_server_without_eyes_is_told_from_one_that_fails(script: Script) -> None:
    look = [Message("user", ("look", jpeg(20, 20)))]
    error = failure(script.chat(refuses(500, "image input is not supported")), look)
    assert (error.kind, len(script.requests)) == ("images", 1)
    error = failure(script.chat(refuses(500, "out of memory")), look)
    assert (error.kind, len(script.requests)) == ("server", 4)


def test_settings_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEB_CHAT_URL", "http://x/v1")
    monkeypatch.delenv("GEB_CHAT_MODEL", raising=False)
    settings = ChatSettings.of_environment()
    assert (settings.base_url, settings.model) == ("http://x/v1", ChatSettings().model)


def test_threads_share_one_chat(script: Script) -> None:
    chat = script.chat(says("yes"))
    replies: list[str] = []
    ask: Callable[[], None] = lambda: replies.append(chat.reply(ASK).text)  # noqa: E731
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies == ["yes"] * 4
