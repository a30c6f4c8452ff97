"""``geb ui``: Dagster's webserver and daemon on one home."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys

from geb_assets.building import instance_folder
from geb_assets.cli.output import Output
from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.reloading import UI_FILE


def serve(home: Home, port: int, output: Output) -> None:
    """Runs ``dagster dev`` until it is interrupted; ends all that it started."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            raise GebError(f"port {port} is taken; choose another with --port")
    folder = instance_folder(home)
    address = f"http://127.0.0.1:{port}"
    (folder / UI_FILE).write_text(json.dumps({"address": address}))
    environment = {
        **os.environ,
        "GEB_HOME": str(home.path),
        "DAGSTER_HOME": str(folder),
    }
    command = [
        sys.executable, "-m", "dagster", "dev", "-m", "geb_assets.definitions",
        "-h", "127.0.0.1", "-p", str(port),
    ]  # fmt: skip
    output.say(f"UI: {address}  (end it with Ctrl-C)")
    # A group of its own: the servers below it do not all pass a signal on.
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    # A service manager ends a service by SIGTERM, a shell's background job never sees SIGINT.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        process.wait()
    except KeyboardInterrupt:
        pass
    finally:
        _end(process)
        (folder / UI_FILE).unlink(missing_ok=True)


def _end(process: subprocess.Popen[bytes]) -> None:
    for sign, patience in ((signal.SIGINT, 5), (signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, sign)
            process.wait(patience)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
