"""A local endpoint that speaks the chat protocol strictly, late and badly where it is told to.

It refuses what vLLM or OpenAI would refuse: an unknown model, a loose schema, a picture that is
none, too many pictures. Replies are made from the schema. It counts what it answered.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import binascii
import hashlib
import json
import random
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

HANG_S = 3600.0
_KNOWN: dict[str, Any] = {
    "object_name": "red cup",
    "appearance": "red ceramic cup",
    "summary": "The red cup stood on the table and nobody touched it.",
    "reid_summary": "A red ceramic cup with a white rim.",
    "text": "I put the red cup on the table and Tasha pours the coffee.",
    "event_desc": "no activity",
    "location": "unclear",
}
_STATUS = {"limited": 429, "broken": 500, "hanging": 0}


@dataclass
class Faults:
    """Shares of requests that go wrong, and of how many the endpoint has told."""

    limited: float = 0.0
    broken: float = 0.0
    malformed: float = 0.0
    hanging: float = 0.0
    seed: int = 0


@dataclass
class Endpoint:
    """What the server knows: its model, its manners, and what it has answered."""

    model: str
    latency_s: float
    most_pictures: int
    faults: Faults
    answers: Mapping[str, Any]
    expires_after: int
    """Good answers after which every key is refused; 0: never."""
    answered: Counter[str] = field(default_factory=Counter)
    """Digest of a request's messages to how often it got a good answer."""
    told: Counter[str] = field(default_factory=Counter)
    in_flight: int = 0
    most_in_flight: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.faults.seed)

    def judge(self, body: bytes) -> tuple[int, dict[str, Any] | str]:
        """Status and answer to one request; status 0 never answers."""
        try:
            request = json.loads(body)
            refusal = _refusal(request, self.model, self.most_pictures)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return 400, f"malformed request: {error!r}"
        if refusal:
            self.told["refused"] += 1
            return refusal
        if 0 < self.expires_after <= self.told["answered"]:
            return 401, "the key has expired"
        dice = self.chance.random()
        for kind, share in (
            ("limited", self.faults.limited),
            ("broken", self.faults.broken),
            ("hanging", self.faults.hanging),
        ):
            if dice < share:
                self.told[kind] += 1
                return _STATUS[kind], f"{kind}, as asked"
            dice -= share
        if dice < self.faults.malformed:
            self.told["malformed"] += 1
            content = '{"object_name": "red c'
        else:
            content = self._content(request)
            self.answered[_digest(request)] += 1
            self.told["answered"] += 1
        words = len(body) // 400
        return 200, {
            "id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": self.model,
            "choices": [{
                "index": 0, "finish_reason": "stop",
                "message": {"role": "assistant", "content": content},
            }],
            "usage": {
                "prompt_tokens": words, "completion_tokens": 120, "total_tokens": words + 120,
            },
        }  # fmt: skip

    def _content(self, request: Mapping[str, Any]) -> str:
        asked = request.get("response_format")
        if not asked or asked["type"] == "text":
            return str(self.answers.get("text", _KNOWN["text"]))
        if asked["type"] == "json_object":
            return json.dumps(dict(self.answers))
        schema = asked["json_schema"]["schema"]
        return json.dumps(_filled(schema, schema, {**_KNOWN, **self.answers}))


def _digest(request: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(request["messages"]).encode()).hexdigest()[:24]


def _refusal(request: Mapping[str, Any], model: str, most_pictures: int) -> tuple[int, str] | None:
    if request["model"] != model:
        return 404, f"The model `{request['model']}` does not exist."
    if not request["messages"] or not request.get("max_tokens", 1) >= 1:
        return 400, "messages must not be empty and max_tokens must be positive"
    pictures = 0
    for message in request["messages"]:
        if message["role"] not in ("system", "user", "assistant"):
            return 400, f"unknown role {message['role']}"
        content = message["content"]
        parts: list[Any] = (
            [{"type": "text", "text": content}] if isinstance(content, str) else content
        )
        for part in parts:
            if part["type"] == "text":
                if not isinstance(part["text"], str):
                    return 400, "text is no string"
            elif part["type"] == "image_url":
                pictures += 1
                if not _is_picture(part["image_url"]["url"]):
                    return 400, "cannot identify image file"
            else:
                return 400, f"unknown content {part['type']}"
    if pictures > most_pictures:
        return 400, f"At most {most_pictures} image(s) may be provided in one prompt."
    asked = request.get("response_format")
    if asked and asked["type"] == "json_schema":
        fault = _loose(asked["json_schema"]["schema"])
        if not asked["json_schema"].get("name") or fault:
            return 400, f"Invalid schema for response_format: {fault}"
    elif asked and asked["type"] not in ("json_object", "text"):
        return 400, f"unknown response_format {asked['type']}"
    return None


def _is_picture(url: str) -> bool:
    head, _, data = url.partition(",")
    try:
        start, end = base64.b64decode(data[:8], validate=True), base64.b64decode(data[-8:])
    except (binascii.Error, ValueError):
        return False
    jpeg = start[:3] == b"\xff\xd8\xff" and end.rstrip(b"\0")[-2:] == b"\xff\xd9"
    return head == "data:image/jpeg;base64" and jpeg and len(data) % 4 == 0


def _loose(schema: Any) -> str:
    """Why a schema is not strict, else empty."""
    if isinstance(schema, list):
        return next(filter(None, map(_loose, schema)), "")
    if not isinstance(schema, dict):
        return ""
    if schema.get("type") == "object" and "properties" in schema:
        if schema.get("additionalProperties") is not False:
            return "'additionalProperties' is required to be supplied and to be false"
        if set(schema.get("required", ())) != set(schema["properties"]):
            return "'required' has to name every key of properties"
    return next(filter(None, map(_loose, schema.values())), "")


def _filled(schema: Any, root: Mapping[str, Any], known: Mapping[str, Any], name: str = "") -> Any:
    """A value of the schema, from known ones where a property has one."""
    if name in known:
        return known[name]
    if "$ref" in schema:
        return _filled(root["$defs"][schema["$ref"].rsplit("/", 1)[1]], root, known, name)
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    if "anyOf" in schema:
        return _filled(schema["anyOf"][0], root, known, name)
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            return {key: _filled(one, root, known, key) for key, one in properties.items()}
        case "array":
            return []
        case "boolean":
            return False
        case "integer" | "number":
            return 0
        case _:
            return "none"


class _Connection(asyncio.Protocol):
    """One connection of HTTP/1.1 with keep-alive."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.buffer = bytearray()
        self.head: tuple[str, str, int] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while True:
            if self.head is None:
                end = self.buffer.find(b"\r\n\r\n")
                if end < 0:
                    return
                lines = self.buffer[:end].decode("latin-1").split("\r\n")
                method, path, _ = lines[0].split(" ", 2)
                length = next(
                    (int(one[15:]) for one in lines if one[:15].lower() == "content-length:"), 0
                )
                del self.buffer[: end + 4]
                self.head = method, path, length
            if len(self.buffer) < self.head[2]:
                return
            method, path, length = self.head
            body = bytes(self.buffer[:length])
            del self.buffer[:length]
            self.head = None
            self._handle(method, path, body)

    def _handle(self, method: str, path: str, body: bytes) -> None:
        endpoint = self.endpoint
        if method == "GET" and path == "/health":
            self._send(200, {})
        elif method == "GET" and path == "/v1/models":
            self._send(200, {"object": "list", "data": [{"id": endpoint.model}]})
        elif method == "GET" and path == "/stats":
            stats = {
                "told": dict(endpoint.told),
                "answered": dict(endpoint.answered),
                "most_in_flight": endpoint.most_in_flight,
            }
            self._send(200, stats)
        elif method == "POST" and path == "/v1/chat/completions":
            endpoint.in_flight += 1
            endpoint.most_in_flight = max(endpoint.most_in_flight, endpoint.in_flight)
            status, answer = endpoint.judge(body)
            wait = endpoint.latency_s if status else HANG_S
            asyncio.get_running_loop().call_later(wait, self._answer, status, answer)
        else:
            self._send(404, {"error": {"message": f"no {path}"}})

    def _answer(self, status: int, answer: dict[str, Any] | str) -> None:
        self.endpoint.in_flight -= 1
        if isinstance(answer, str):
            answer = {"error": {"message": answer, "type": "error", "code": status}}
        self._send(status, answer)

    def _send(self, status: int, answer: Mapping[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.transport.write(
            f"HTTP/1.1 {status} -\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n".encode()
            + body
        )


async def _serve(endpoint: Endpoint, port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(endpoint), "127.0.0.1", port)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@dataclass(frozen=True)
class Running:
    """A server in a process of its own."""

    url: str
    process: int

    def stats(self) -> dict[str, Any]:
        with urlopen(f"{self.url.removesuffix('/v1')}/stats", timeout=10) as answer:
            stats: dict[str, Any] = json.load(answer)
        return stats


@contextmanager
def running(model: str = "m", **options: Any) -> Iterator[Running]:
    """A server for the time of the block; options as of the command line."""
    command = [sys.executable, "-m", "evaluation.bench.chat_server", "--model", model]
    for name, value in options.items():
        text = json.dumps(value) if name == "answers" else str(value)
        command += [f"--{name.replace('_', '-')}", text]
    root = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root)
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        yield Running(f"http://127.0.0.1:{port}/v1", process.pid)
    finally:
        process.kill()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="m")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="Seconds before an answer.")
    parser.add_argument("--most-pictures", type=int, default=64)
    parser.add_argument("--answers", type=json.loads, default={}, help="Property to value, JSON.")
    for name in ("limited", "broken", "malformed", "hanging"):
        parser.add_argument(f"--{name}", type=float, default=0.0, help="Share of requests.")
    parser.add_argument("--expires-after", type=int, default=0, help="Answers, then 401.")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    faults = Faults(given.limited, given.broken, given.malformed, given.hanging, given.seed)
    endpoint = Endpoint(
        given.model, given.latency, given.most_pictures, faults, given.answers, given.expires_after
    )
    asyncio.run(_serve(endpoint, given.port))


if __name__ == "__main__":
    main()
