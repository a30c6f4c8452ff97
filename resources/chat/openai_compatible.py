"""Any endpoint that speaks OpenAI's chat completions: hosted, vLLM, a local server."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import re
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import cv2
import numpy as np
from pydantic import Field

from resources.chat import ChatFailure, FailureKind, Message, Part, Reply
from resources.chat.limiter import Limiter
from resources.chat.transport import Answer, Connections, Unanswered
from resources.frames import jpeg_size
from resources.identity import ModelIdentity
from resources.options import Options

PICTURE_SIDE = 768
"""Longest side of a picture that is sent, px (spec 9.42)."""
PICTURE_QUALITY = 90
_LONGEST_WAIT_S = 60.0
_BLIND = re.compile(r"\b(?:images?|image_url|vision|multimodal|mmproj)\b", re.IGNORECASE)
"""What a server says, under whatever code, whose model reads no pictures."""


class ChatSettings(Options):
    """Where the model is and how it is asked. The key itself is never a setting."""

    base_url: str = "http://127.0.0.1:8000/v1"
    model: str = "default"
    key_variable: str = "GEB_CHAT_KEY"
    """Environment variable that holds the key; a local server needs none."""
    temperature: Annotated[float, Field(ge=0)] = 1.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 0.95
    presence_penalty: float = 0.0
    seed: int | None = 0
    max_tokens: Annotated[int, Field(ge=1)] = 1024
    """Longest reply, where the caller asks for no other."""
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    """Longest wait for a reply, s."""
    retries: Annotated[int, Field(ge=0)] = 4
    """Further tries after a limit, a server's error, a cut, a late or an unreadable reply."""
    backoff_s: Annotated[float, Field(ge=0)] = 1.0
    """Wait before the first of them, s; doubled each time, unless the endpoint names a wait."""
    in_flight: Annotated[int, Field(ge=1)] = 32
    """Most calls at once; fewer while the endpoint limits its callers or keeps silent."""
    prompt_price: Annotated[float, Field(ge=0)] | None = None
    """Price of a million prompt tokens, in any currency; None: not known, and no cost is told."""
    completion_price: Annotated[float, Field(ge=0)] | None = None
    """Price of a million completion tokens."""
    reply_format: Literal["json_schema", "json_object", "text"] = "json_schema"
    """How a reply in JSON is asked for; `text` leaves it to the prompt."""
    extra: Mapping[str, Any] = Field(default_factory=dict)
    """Further fields of the request that the endpoint knows, such as `top_k`."""

    @classmethod
    def of_environment(cls) -> ChatSettings:
        """Defaults, with ``GEB_CHAT_URL`` and ``GEB_CHAT_MODEL`` in their places where set."""
        return cls().at_environment("GEB_CHAT")

    def at_environment(self, prefix: str) -> ChatSettings:
        """These, with the variables ``PREFIX_URL`` and ``PREFIX_MODEL`` in place where set."""
        given = {
            name: value
            for name, variable in (("base_url", f"{prefix}_URL"), ("model", f"{prefix}_MODEL"))
            if (value := os.environ.get(variable))
        }
        return type(self).model_validate({**self.model_dump(), **given})

    def cost(self, prompt_tokens: float, completion_tokens: float) -> float | None:
        """What these tokens cost; None where a price is not known."""
        if self.prompt_price is None or self.completion_price is None:
            return None
        return (prompt_tokens * self.prompt_price + completion_tokens * self.completion_price) / 1e6


def asked_as(settings: ChatSettings) -> ModelIdentity:
    """What a chat model's replies depend on besides the words: the model and how it samples. A run
    may have a seed of its own."""
    named = {"temperature", "top_p", "presence_penalty", "extra"}
    sampling = settings.model_dump_json(include=named)
    return ModelIdentity(settings.model, "chat", hashlib.sha256(sampling.encode()).hexdigest())


class OpenAICompatible:
    """Chat completions over HTTP. Connects at the first reply; threads share its connections."""

    def __init__(self, settings: ChatSettings) -> None:
        self.settings = settings
        self.limiter = Limiter(settings.in_flight)
        self._connections = Connections(settings.base_url, timeout_s=settings.timeout_s)

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity(self.settings.model, self.settings.base_url, "")

    def reply(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Reply:
        """See :meth:`resources.chat.Chat.reply`."""
        body = json.dumps(self._request(messages, schema, max_tokens, temperature)).encode()
        pictures = any(isinstance(part, bytes) for message in messages for part in message.parts)
        for attempt in range(self.settings.retries + 1):
            with self.limiter.place() as number:
                try:
                    reply = _read(self._send("chat/completions", body))
                    self.limiter.succeeded()
                    return reply
                except Exception as error:
                    failure, wait = self._failure(error, pictures)
                    if failure is None:
                        raise
                    if failure.kind in ("limit", "timeout"):
                        self.limiter.pushed_back(number)
                    if not (failure.passing or failure.kind == "down"):
                        raise failure from error
                    if attempt == self.settings.retries:
                        raise failure from error
            if wait is None:
                # Jitter: calls that were refused together do not come back together.
                wait = self.settings.backoff_s * 2**attempt * random.uniform(0.5, 1.0)
            time.sleep(min(wait, _LONGEST_WAIT_S))
        raise AssertionError("unreachable")

    def check(self) -> None:
        """Raises ChatFailure where the endpoint lists its models and the wanted one is not there.

        An endpoint may answer with whatever it has loaded, whatever name it is asked for.
        """
        try:
            listed = json.loads(self._send("models"))
            names = sorted(str(one["id"]) for one in listed["data"])
        except (_Refused, Unanswered) as error:
            failure, _ = self._failure(error, False)
            if failure is not None and failure.kind in ("key", "down"):
                raise failure from error
            return  # it keeps no list, or is busy: the first call will tell
        except (KeyError, TypeError, ValueError):
            return
        if names and self.settings.model not in names:
            raise ChatFailure(
                "model",
                f"chat endpoint {self.settings.base_url} serves {', '.join(names[:4])}, not "
                f"'{self.settings.model}'; set chat.model or start that model",
            )

    def _send(self, path: str, body: bytes | None = None) -> bytes:
        """The body of a good answer. Raises _Refused for any other, Unanswered for none."""
        key = os.environ.get(self.settings.key_variable, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise ChatFailure(
                "key",
                f"the variable {self.settings.key_variable} holds characters that no key has; "
                "set it anew",
            )
        headers = ["content-type: application/json", "accept: application/json"]
        if key:
            headers.append(f"authorization: Bearer {key}")
        answer = self._connections.send(path, headers, body)
        if answer.status != 200:
            raise _Refused(answer, _said(answer.body, key))
        return answer.body

    def _request(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        max_tokens: int | None,
        temperature: float | None,
    ) -> dict[str, Any]:
        asked = self.settings
        request: dict[str, Any] = {
            "model": asked.model,
            "messages": [_message(message) for message in messages],
            "temperature": asked.temperature if temperature is None else temperature,
            "top_p": asked.top_p,
            "max_tokens": max_tokens or asked.max_tokens,
        }
        if asked.presence_penalty:
            request["presence_penalty"] = asked.presence_penalty
        if asked.seed is not None:
            request["seed"] = asked.seed
        request.update(asked.extra)
        if schema is not None and asked.reply_format == "json_schema":
            request["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "schema": dict(schema), "strict": True},
            }
        elif schema is not None and asked.reply_format == "json_object":
            request["response_format"] = {"type": "json_object"}
        return request

    def _failure(self, error: Exception, pictures: bool) -> tuple[ChatFailure | None, float | None]:
        """The plain line for an error, and the wait that the endpoint asked for, s."""
        at, model = self.settings.base_url, self.settings.model

        def line(kind: FailureKind, text: str) -> ChatFailure:
            return ChatFailure(kind, f"chat endpoint {at} {text}")

        if isinstance(error, _Refused):
            code, said = error.answer.status, error.said
            wait = error.answer.retry_after_s
            if code in (401, 403):
                return line(
                    "key", f"refused the key; set the variable {self.settings.key_variable} that "
                    f"chat.key_variable names ({code}: {said})"
                ), None  # fmt: skip
            if code == 404:
                return line(
                    "model", f"has no model '{model}' or no such path; set chat.model or "
                    f"chat.base_url (404: {said})"
                ), None  # fmt: skip
            if pictures and (code in (400, 413, 415, 422) or _BLIND.search(said)):
                return line(
                    "images", f"refused a question with pictures; choose a chat.model that reads "
                    f"them, or ask without frames ({code}: {said})"
                ), None  # fmt: skip
            if code == 429:
                return line(
                    "limit", f"limits its callers; wait, or raise chat.retries (429: {said})"
                ), wait
            if code in (408, 409) or code >= 500:
                return line(
                    "server", f"failed; look after it, or raise chat.retries ({code}: {said})"
                ), wait
            return line(
                "model", f"refused the request; check chat.model, chat.reply_format and "
                f"chat.extra ({code}: {said})"
            ), None  # fmt: skip
        if isinstance(error, Unanswered) and error.why == "late":
            return line(
                "timeout",
                f"gave no reply within {self.settings.timeout_s:g} s; raise chat.timeout_s or look "
                "after the endpoint",
            ), None
        if isinstance(error, Unanswered) and error.why == "cut":
            return line("server", "cut the connection; look after it, or raise chat.retries"), None
        if isinstance(error, Unanswered):
            return line(
                "down", f"cannot be reached ({error}); start it or set chat.base_url"
            ), None  # fmt: skip
        if isinstance(error, _Unreadable | ValueError):
            told = str(error) if isinstance(error, _Unreadable | json.JSONDecodeError) else ""
            return line(
                "reply", f"gave a reply that cannot be read ({told or type(error).__name__}); "
                "check chat.base_url and chat.model"
            ), None  # fmt: skip
        return None, None


class _Unreadable(Exception):
    """A reply without what a chat completion holds."""


class _Refused(Exception):
    """An answer that is no success."""

    def __init__(self, answer: Answer, said: str) -> None:
        super().__init__(said)
        self.answer, self.said = answer, said


def _said(body: bytes, key: str) -> str:
    """What an endpoint says of its refusal, on one line and without the key."""
    text = body.decode("utf-8", "replace")
    try:
        error = json.loads(text)["error"]
        text = error["message"] if isinstance(error, dict) else str(error)
    except (ValueError, KeyError, TypeError):
        pass
    line = " ".join(str(text).split())
    # Some gateways repeat the key that they refuse, and what is said ends up in tables. It goes
    # before the line is cut: a part of a key is no less secret.
    return (line.replace(key, "***") if key else line)[:200]


def _read(body: bytes) -> Reply:
    completion = json.loads(body)
    try:
        text = completion["choices"][0]["message"]["content"]
        usage = completion.get("usage") or {}
        tokens = int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
    except (AttributeError, KeyError, IndexError, TypeError):
        raise _Unreadable("no chat completion") from None
    if not isinstance(text, str) or not text.strip():
        raise _Unreadable("an empty message")
    return Reply(text, *tokens)


def _message(message: Message) -> dict[str, Any]:
    if all(isinstance(part, str) for part in message.parts):
        return {"role": message.role, "content": "\n".join(map(str, message.parts))}
    return {"role": message.role, "content": [_content(part) for part in message.parts]}


def _content(part: Part) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    url = "data:image/jpeg;base64," + base64.b64encode(fitted(part)).decode("ascii")
    return {"type": "image_url", "image_url": {"url": url}}


def fitted(jpeg: bytes) -> bytes:
    """The picture with a long side of at most 768 px; one that fits is sent as it is stored."""
    if max(jpeg_size(jpeg) or (PICTURE_SIDE + 1,)) <= PICTURE_SIDE:
        return jpeg
    picture = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    if picture is None:
        raise ValueError("a picture that is no JPEG")
    height, width = picture.shape[:2]
    scale = PICTURE_SIDE / max(height, width)
    if scale >= 1:
        return jpeg
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    small = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
    _, encoded = cv2.imencode(".jpg", small, [cv2.IMWRITE_JPEG_QUALITY, PICTURE_QUALITY])
    return encoded.tobytes()
