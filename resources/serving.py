"""vLLM servers for a profile's chat models: their commands, their health, and their end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from geb_assets.errors import GebError
from resources.chat.openai_compatible import ChatSettings

EXECUTABLE = "GEB_VLLM"
_LOCAL = ("127.0.0.1", "localhost", "::1", "0.0.0.0")
_YARN = {
    "rope_parameters": {
        "rope_type": "yarn",
        "factor": 4.0,
        "original_max_position_embeddings": 262_144,
    }
}
LONG_CONTEXT = 1_010_000
"""Tokens of context with YaRN at a factor of 4 (appendix A)."""
_OWN: Mapping[str, tuple[str, ...]] = {
    "Qwen/Qwen3.5-35B-A3B": (
        "--hf-overrides", json.dumps({"text_config": _YARN}),
        "--max-model-len", str(LONG_CONTEXT),
        "--limit-mm-per-prompt", json.dumps({"image": 64}),
    ),
}  # fmt: skip
"""Model to the arguments that it needs."""


@dataclass(frozen=True)
class Server:
    """One model to be served at one address."""

    role: str
    model: str
    host: str
    port: int

    @property
    def health(self) -> str:
        return f"http://{self.host}:{self.port}/health"

    def command(self, vllm: str, *, gpus: int, memory_share: float) -> list[str]:
        """What runs it. Replies by JSON schema need no argument: vLLM's default does them."""
        return [
            vllm, "serve", self.model, "--served-model-name", self.model,
            "--host", self.host, "--port", str(self.port),
            "--tensor-parallel-size", str(gpus),
            "--gpu-memory-utilization", f"{memory_share:g}",
            *_OWN.get(self.model, ()),
        ]  # fmt: skip


def servers(chats: Mapping[str, ChatSettings]) -> list[Server]:
    """The chat models (by role) whose address is on this machine, each model once.

    Raises GebError where none is.
    """
    found: dict[tuple[str, int], Server] = {}
    for role, settings in chats.items():
        url = urlsplit(settings.base_url)
        if url.hostname not in _LOCAL:
            continue
        port = url.port or 80
        own = Server(role, settings.model, str(url.hostname), port)
        other = found.setdefault((own.host, port), own)
        if other.model != own.model:
            raise GebError(
                f"{other.role} and {role} want {other.model} and {own.model} at one address, "
                f"{settings.base_url}; set another port: geb use PROFILE {role}.base_url=URL"
            )
    if not found:
        raise GebError("this profile has no chat model on this machine; there is nothing to serve")
    return list(found.values())


def vllm_executable(home: Path) -> str:
    """vLLM's own command: it lives in an environment apart. Raises GebError without it or a GPU."""
    given = os.environ.get(EXECUTABLE)
    own = home / "serve" / "bin" / "vllm"
    found = given or (str(own) if own.exists() else shutil.which("vllm"))
    if not found or not shutil.which(found):
        raise GebError(
            f"vllm is not here; give it an environment of its own: uv venv {home / 'serve'} && "
            f"uv pip install --python {home / 'serve' / 'bin' / 'python'} vllm==0.33.0, "
            f"or name its command in {EXECUTABLE}"
        )
    listed = shutil.which("nvidia-smi")
    try:
        gpus = subprocess.run([listed, "-L"], capture_output=True, text=True) if listed else None
    except OSError:
        gpus = None
    if gpus is None or gpus.returncode != 0 or not gpus.stdout.strip():
        raise GebError(
            "no GPU is seen here (nvidia-smi -L); serve on a machine with one, or let an endpoint "
            "elsewhere serve the chat models: geb use hosted"
        )
    return found


@dataclass
class Started:
    """A server that was started here."""

    server: Server
    process: subprocess.Popen[bytes]
    log: Path

    def wait(self, patience_s: float) -> None:
        """Returns when it is healthy. Raises GebError where it ends, or takes too long."""
        until = time.monotonic() + patience_s
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise GebError(f"the server of {self.server.model} ended: {self._last_line()}")
            try:
                with urlopen(self.server.health, timeout=5) as answer:
                    if answer.status == 200:
                        return
            except (URLError, OSError):
                pass
            time.sleep(min(1.0, patience_s / 20))
        raise GebError(
            f"the server of {self.server.model} is not healthy after {patience_s:g} s; "
            f"see {self.log}"
        )

    def _last_line(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return f"{lines[-1] if lines else 'it said nothing'} (see {self.log})"

    def stop(self) -> None:
        """Ends it and all that it started."""
        for sign, patience in ((signal.SIGTERM, 20), (signal.SIGKILL, 5)):
            try:
                os.killpg(self.process.pid, sign)
                self.process.wait(patience)
            except ProcessLookupError:
                return
            except subprocess.TimeoutExpired:
                continue


def start(server: Server, command: list[str], logs: Path) -> Started:
    """Starts a server in a group of its own, its output in a log. Raises GebError."""
    logs.mkdir(parents=True, exist_ok=True)
    log = logs / f"serve-{server.role}.log"
    environment = {**os.environ, "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, stdout=output, stderr=subprocess.STDOUT, env=environment,
                start_new_session=True,
            )  # fmt: skip
    except OSError as error:
        raise GebError(f"{command[0]} cannot be run: {error.strerror}") from None
    return Started(server, process, log)
