"""``geb serve`` with a stand-in for vLLM: its commands, health, failures, and end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from geb_assets.errors import GebError
from resources.chat.openai_compatible import ChatSettings
from resources.profiles import CHATS, PAPER
from resources.serving import Server, servers, start, vllm_executable

ROOT = Path(__file__).resolve().parents[1]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def executable(path: Path, script: str) -> Path:
    path.write_text(f"#!{sys.executable}\n{script}")
    path.chmod(0o755)
    return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a stand-in GPU and a stand-in vLLM, both on the path."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    executable(bin_ / "nvidia-smi", "print('GPU 0: stand-in')")
    script = (
        "import sys, runpy\n"
        "port = sys.argv[sys.argv.index('--port') + 1]\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "sys.argv = ['x', '--model', sys.argv[2], '--port', port]\n"
        "runpy.run_module('evaluation.bench.chat_server', run_name='__main__')\n"
    )
    executable(bin_ / "vllm", script)
    monkeypatch.setenv("PATH", f"{bin_}:{os.environ['PATH']}")
    monkeypatch.delenv("GEB_VLLM", raising=False)
    return bin_


def test_the_command_of_the_papers_model() -> None:
    chats = {role: PAPER.chat_settings(role) for role in CHATS}
    chat, text = servers(chats)
    command = chat.command("vllm", gpus=2, memory_share=0.45)
    assert command[:3] == ["vllm", "serve", "Qwen/Qwen3.5-35B-A3B"]
    pairs = dict(zip(command[3::2], command[4::2], strict=True))
    assert pairs["--tensor-parallel-size"] == "2"
    assert pairs["--gpu-memory-utilization"] == "0.45"
    assert int(pairs["--max-model-len"]) > 1_000_000 and '"yarn"' in pairs["--hf-overrides"]
    assert (chat.port, text.port, text.model) == (8000, 8001, "openai/gpt-oss-120b")


def test_one_model_for_both_roles_is_served_once_and_elsewhere_is_not_here() -> None:
    one = ChatSettings(base_url="http://127.0.0.1:8000/v1", model="m")
    far = ChatSettings(base_url="https://example.org/v1", model="m")
    assert [s.role for s in servers({"chat": one, "text_chat": one})] == ["chat"]
    assert [s.role for s in servers({"chat": far, "text_chat": one})] == ["text_chat"]
    with pytest.raises(GebError, match="nothing to serve"):
        servers({"chat": far})
    with pytest.raises(GebError, match="at one address"):
        servers({"chat": one, "text_chat": one.model_copy(update={"model": "n"})})


def test_without_vllm_or_a_gpu_it_is_one_plain_line(
    tmp_path: Path, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert vllm_executable(tmp_path) == str(machine / "vllm")
    executable(machine / "nvidia-smi", "raise SystemExit(9)")
    with pytest.raises(GebError, match="no GPU is seen"):
        vllm_executable(tmp_path)
    (machine / "vllm").unlink()
    monkeypatch.setenv("PATH", str(machine))
    with pytest.raises(GebError, match="vllm is not here") as caught:
        vllm_executable(tmp_path)
    assert "\n" not in str(caught.value)


def test_it_waits_for_health_and_ends_all_it_started(tmp_path: Path, machine: Path) -> None:
    port = free_port()
    server = Server("chat", "m", "127.0.0.1", port)
    started = start(server, server.command(str(machine / "vllm"), gpus=1, memory_share=0.9),
                    tmp_path / "logs")  # fmt: skip
    try:
        started.wait(20)
        assert answers(port)
    finally:
        started.stop()
    assert started.process.poll() is not None and not answers(port)


def test_a_server_that_ends_says_its_last_line(tmp_path: Path, machine: Path) -> None:
    executable(machine / "vllm", "print('loading'); print('out of memory'); raise SystemExit(1)")
    server = Server("chat", "m", "127.0.0.1", free_port())
    started = start(server, [str(machine / "vllm")], tmp_path / "logs")
    with pytest.raises(GebError, match="out of memory"):
        started.wait(20)
    executable(machine / "vllm", "import time; time.sleep(60)")
    slow = start(server, [str(machine / "vllm")], tmp_path / "logs")
    with pytest.raises(GebError, match="not healthy after"):
        slow.wait(0.3)
    slow.stop()
    assert slow.process.poll() is not None


@pytest.mark.slow
def test_the_command_line_serves_until_it_is_ended(tmp_path: Path, machine: Path) -> None:
    ports = {"chat": free_port(), "text_chat": free_port()}
    home = {**os.environ, "GEB_HOME": str(tmp_path / "home")}
    geb = [sys.executable, "-m", "geb_assets.cli"]
    use = [f"{role}.base_url=http://127.0.0.1:{port}/v1" for role, port in ports.items()]
    subprocess.run([*geb, "use", "paper", *use], env=home, check=True, cwd=ROOT)
    shown = subprocess.run(
        [*geb, "serve", "--show"], env=home, check=True, cwd=ROOT, capture_output=True, text=True
    )
    assert shown.stdout.count("vllm serve") == 2
    process = subprocess.Popen([*geb, "serve"], env=home, cwd=ROOT)
    until = time.monotonic() + 60
    while not all(map(answers, ports.values())):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    assert not any(map(answers, ports.values()))
