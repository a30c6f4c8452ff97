"""``geb serve``: the profile's local chat models behind vLLM, until it is interrupted."""

from __future__ import annotations

import shlex
import signal
import socket
import time
from typing import Any

from geb_assets.cli.output import Output
from geb_assets.errors import GebError
from geb_assets.home import Home
from resources.profiles import CHATS
from resources.serving import Server, Started, servers, start, vllm_executable


def serve(
    home: Home,
    output: Output,
    *,
    gpus: int,
    memory_share: float,
    patience_s: float,
    show: bool,
) -> dict[str, Any]:
    """Starts a server a model, waits for their health, and ends them all at the end."""
    profile = home.profile()
    chats = {role: profile.chat_settings(role) for role in CHATS if role in profile.roles}
    wanted = servers(chats)
    # Models share the memory of the GPUs that they share.
    share = memory_share / len(wanted)

    def command(server: Server, vllm: str) -> list[str]:
        return server.command(vllm, gpus=gpus, memory_share=share)

    if show:
        commands = [shlex.join(command(server, "vllm")) for server in wanted]
        for line in commands:
            output.plain.print(line, markup=False, soft_wrap=True)
        return {"commands": commands}
    vllm = vllm_executable(home.path)
    for server in wanted:
        with socket.socket() as probe:
            if probe.connect_ex((server.host, server.port)) == 0:
                raise GebError(f"port {server.port} is taken; end what has it, or choose another")
    # A service manager ends a service by SIGTERM, a shell's background job never sees SIGINT.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    running: list[Started] = []
    try:
        logs = home.path / "logs"
        running.extend(start(server, command(server, vllm), logs) for server in wanted)
        for one in running:
            output.say(f"waiting for {one.server.model} at port {one.server.port}")
            one.wait(patience_s)
        output.say("serving; end it with Ctrl-C")
        while all(one.process.poll() is None for one in running):
            time.sleep(0.5)
        for one in running:
            if one.process.poll() is not None:
                one.wait(0.1)
    except KeyboardInterrupt:
        pass
    finally:
        for one in running:
            one.stop()
    return {"served": [server.model for server in wanted]}
