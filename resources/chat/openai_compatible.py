"""Any endpoint that speaks OpenAI's chat completions: hosted, vLLM, a local server."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

import cv2
import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from resources.chat import ChatFailure, FailureKind, Message, Part, Reply
from resources.identity import ModelIdentity

PICTURE_SIDE = 768
"""Longest side of a picture that is sent, px (spec 9.42)."""
PICTURE_QUALITY = 90
_LONGEST_WAIT_S = 60.0


class ChatSettings(BaseModel):
    """Where the model is and how it is asked. The key itself is never a setting."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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
    """Longest silence of the endpoint, s."""
    retries: Annotated[int, Field(ge=0)] = 4
    """Further tries after a limit, a server's error, a cut, a silence or an unreadable reply."""
    backoff_s: Annotated[float, Field(ge=0)] = 1.0
    """Wait before the first of them, s; doubled each time, unless the endpoint names a wait."""
    reply_format: Literal["json_schema", "json_object", "text"] = "json_schema"
    """How a reply in JSON is asked for; `text` leaves it to the prompt."""
    extra: Mapping[str, Any] = Field(default_factory=dict)
    """Further fields of the request that the endpoint knows, such as `top_k`."""

    @classmethod
    def of_environment(cls) -> ChatSettings:
        """Defaults, with ``GEB_CHAT_URL`` and ``GEB_CHAT_MODEL`` in their places where set."""
        given = {
            name: value
            for name, variable in (("base_url", "GEB_CHAT_URL"), ("model", "GEB_CHAT_MODEL"))
            if (value := os.environ.get(variable))
        }
        return cls.model_validate(given)


class OpenAICompatible:
    """Chat over HTTP with the ``openai`` client. Loads and connects at the first reply."""

    def __init__(self, settings: ChatSettings) -> None:
        self.settings = settings

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity(self.settings.model, self.settings.base_url, "")

    @cached_property
    def _client(self) -> Any:
        from openai import OpenAI

        return OpenAI(
            base_url=self.settings.base_url,
            api_key=os.environ.get(self.settings.key_variable) or "none",
            timeout=self.settings.timeout_s,
            max_retries=0,  # reply() retries, so that one rule holds for every failure
        )

    def reply(
        self,
        messages: Sequence[Message],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
    ) -> Reply:
        """See :meth:`resources.chat.Chat.reply`."""
        request = self._request(messages, schema, max_tokens)
        pictures = any(isinstance(part, bytes) for message in messages for part in message.parts)
        for attempt in range(self.settings.retries + 1):
            try:
                return _read(self._client.chat.completions.create(**request))
            except Exception as error:
                failure, wait = self._failure(error, pictures)
                if failure is None:
                    raise
                if not (failure.passing or failure.kind == "down"):
                    raise failure from error
                if attempt == self.settings.retries:
                    raise failure from error
            if wait is None:
                wait = self.settings.backoff_s * 2**attempt
            time.sleep(min(wait, _LONGEST_WAIT_S))
        raise AssertionError("unreachable")

    def _request(
        self,
        messages: Sequence[Message],
        schema: Mapping[str, Any] | None,
        max_tokens: int | None,
    ) -> dict[str, Any]:
        asked = self.settings
        request: dict[str, Any] = {
            "model": asked.model,
            "messages": [_message(message) for message in messages],
            "temperature": asked.temperature,
            "top_p": asked.top_p,
            "max_tokens": max_tokens or asked.max_tokens,
        }
        if asked.presence_penalty:
            request["presence_penalty"] = asked.presence_penalty
        if asked.seed is not None:
            request["seed"] = asked.seed
        if asked.extra:
            request["extra_body"] = dict(asked.extra)
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
        import openai

        at, model = self.settings.base_url, self.settings.model

        def line(kind: FailureKind, text: str) -> ChatFailure:
            return ChatFailure(kind, f"chat endpoint {at} {text}")

        if isinstance(error, openai.APITimeoutError):
            return line(
                "timeout",
                f"kept silent for {self.settings.timeout_s:g} s; raise chat.timeout_s or look "
                "after the endpoint",
            ), None
        if isinstance(error, openai.APIStatusError):
            said = " ".join(str(error.message).split())[:200]
            code = error.status_code
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
            if code == 429:
                return line(
                    "limit", f"limits its callers; wait, or raise chat.retries (429: {said})"
                ), _asked_wait(error.response.headers)
            if code in (408, 409) or code >= 500:
                return line(
                    "server", f"failed; look after it, or raise chat.retries ({code}: {said})"
                ), _asked_wait(error.response.headers)
            if pictures:
                return line(
                    "images", f"refused a question with pictures; choose a chat.model that reads "
                    f"them, or ask without frames ({code}: {said})"
                ), None  # fmt: skip
            return line(
                "model", f"refused the request; check chat.model, chat.reply_format and "
                f"chat.extra ({code}: {said})"
            ), None  # fmt: skip
        if isinstance(error, openai.APIConnectionError):
            cut = error.__cause__ is not None and "Connect" not in type(error.__cause__).__name__
            if cut:
                return line(
                    "server", "cut the connection; look after it, or raise chat.retries"
                ), None
            return line("down", "cannot be reached; start it or set chat.base_url"), None
        if isinstance(error, _Unreadable | openai.APIError | ValueError):
            return line(
                "reply", f"gave a reply that cannot be read ({error or type(error).__name__}); "
                "check chat.base_url and chat.model"
            ), None  # fmt: skip
        return None, None


class _Unreadable(Exception):
    """A reply without what a chat completion holds."""


def _read(completion: Any) -> Reply:
    try:
        text = completion.choices[0].message.content
    except (AttributeError, IndexError, TypeError):
        raise _Unreadable("no chat completion") from None
    if not isinstance(text, str) or not text.strip():
        raise _Unreadable("an empty message")
    usage = getattr(completion, "usage", None)
    return Reply(
        text,
        int(getattr(usage, "prompt_tokens", 0) or 0),
        int(getattr(usage, "completion_tokens", 0) or 0),
    )


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


def _asked_wait(headers: Mapping[str, str]) -> float | None:
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return None
