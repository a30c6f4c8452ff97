"""Replies kept by what was asked, so that a crash or an unrelated change pays for nothing twice."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from geb_assets.errors import GebError, refusal
from resources.chat import Message, Reply
from resources.chat.openai_compatible import ChatSettings

_SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, purpose TEXT NOT NULL, text TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, at REAL NOT NULL
) WITHOUT ROWID
"""
_ASKING = ("model", "temperature", "top_p", "presence_penalty", "seed", "reply_format", "extra")
"""The settings that shape a reply; where it comes from and how often it is tried do not."""


def request_key(
    settings: ChatSettings,
    messages: Sequence[Message],
    schema: Mapping[str, Any] | None,
    max_tokens: int | None,
    temperature: float | None,
) -> str:
    """Digest, in hex, of all that a reply depends on: model, parameters, schema, texts, pictures.

    A prompt's version is its text; the endpoint's address is no part.
    """
    digest = hashlib.sha256()
    asked = {
        **settings.model_dump(mode="json", include=set(_ASKING)),
        "max_tokens": max_tokens or settings.max_tokens,
        "schema": schema,
    }
    if temperature is not None:
        asked["temperature"] = temperature
    digest.update(json.dumps(asked, sort_keys=True).encode())
    for message in messages:
        digest.update(b"\0" + message.role.encode())
        for part in message.parts:
            kind, content = (b"t", part.encode()) if isinstance(part, str) else (b"p", part)
            digest.update(kind + len(content).to_bytes(8, "little"))
            digest.update(content)
    return digest.hexdigest()


def sampling_digest(settings: ChatSettings) -> str:
    """Digest, in hex, of how a model samples. Temperature and length are the asset's parameters."""
    named = {"top_p", "presence_penalty", "seed", "extra"}
    sampling = settings.model_dump(mode="json", include=named)
    return hashlib.sha256(json.dumps(sampling, sort_keys=True).encode()).hexdigest()


class ReplyCache:
    """A SQLite file of replies. Threads share one object, processes the file.

    A reply is committed before anybody sees it. A process that is killed loses none; a machine
    that loses its power may lose the newest, and no other.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._opened: sqlite3.Connection | None = None

    def _connection(self) -> sqlite3.Connection:
        if self._opened is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._opened = sqlite3.connect(
                self.path, timeout=60, check_same_thread=False, isolation_level=None
            )
            self._opened.execute("PRAGMA journal_mode=WAL")
            self._opened.execute("PRAGMA synchronous=NORMAL")
            self._opened.execute(_SCHEMA)
        return self._opened

    def _execute(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        try:
            with self._lock:
                return self._connection().execute(statement, values).fetchall()
        except (OSError, sqlite3.OperationalError) as error:
            raise refusal(self.path.parent, error) or GebError(
                f"{self.path} cannot be used: {error}; mend its permissions and run again"
            ) from None
        except sqlite3.DatabaseError as error:
            raise GebError(
                f"{self.path} is damaged ({error}); delete it: its replies are asked for again"
            ) from None

    def get(self, key: str) -> Reply | None:
        rows = self._execute(
            "SELECT text, prompt_tokens, completion_tokens FROM replies WHERE key = ?", (key,)
        )
        return Reply(*rows[0]) if rows else None

    def put(self, key: str, model: str, purpose: str, reply: Reply) -> None:
        tokens = reply.prompt_tokens, reply.completion_tokens
        self._execute(
            "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?)",
            (key, model, purpose, reply.text, *tokens, time.time()),
        )

    def drop(self, key: str) -> None:
        """Forgets a reply that turned out to be of no use, so that it is asked for anew."""
        self._execute("DELETE FROM replies WHERE key = ?", (key,))

    def mean_tokens(self, model: str, purpose: str) -> tuple[float, float] | None:
        """Mean prompt and completion tokens of a model's replies to one purpose, if any."""
        if not self.path.exists():
            return None
        rows = self._execute(
            "SELECT avg(prompt_tokens), avg(completion_tokens) FROM replies "
            "WHERE model = ? AND purpose = ?",
            (model, purpose),
        )
        return rows[0] if rows and rows[0][0] is not None else None
