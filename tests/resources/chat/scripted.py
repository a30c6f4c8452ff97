"""A local HTTP server that answers chat calls as a test says."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from resources.chat.openai_compatible import ChatSettings, OpenAICompatible


@dataclass
class Step:
    """What the server does with one request."""

    status: int = 200
    body: str | bytes = ""
    headers: dict[str, str] = field(default_factory=dict)
    hang_s: float = 0.0
    cut: bool = False


def says(text: str | None) -> Step:
    return Step(
        body=json.dumps(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 0,
                "model": "m",
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": "stop",
                        "message": {"role": "assistant", "content": text},
                    }
                ],
                "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
            }
        )
    )


def refuses(status: int, text: str) -> Step:
    return Step(status, json.dumps({"error": {"message": text, "type": "x"}}))


@dataclass
class Script:
    steps: list[Step] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    url: str = ""

    def chat(self, *steps: Step, **settings: Any) -> OpenAICompatible:
        self.steps[:] = steps
        fast = {"base_url": self.url, "backoff_s": 0.01, "timeout_s": 5.0, "retries": 2, **settings}
        return OpenAICompatible(ChatSettings(model="m", **fast))


@contextmanager
def scripted() -> Iterator[Script]:
    script = Script()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            script.requests.append(json.loads(self.rfile.read(length)))
            script.headers.append({name.lower(): value for name, value in self.headers.items()})
            step = script.steps.pop(0) if len(script.steps) > 1 else script.steps[0]
            time.sleep(step.hang_s)
            if step.cut:
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            body = step.body.encode() if isinstance(step.body, str) else step.body
            self.send_response(step.status)
            for name, value in {"content-type": "application/json", **step.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    script.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield script
    server.shutdown()
    server.server_close()
