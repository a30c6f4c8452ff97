"""``geb ui``: it follows the registry, and ends all that it started."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from geb_assets.adding import add_videos
from geb_assets.home import Home
from geb_assets.reloading import UI_FILE, reload_location
from tests.films import numbered, steady, write_video

_PATIENCE_S = 240

QUERY = """{ assetNodes { assetKey { path } partitionKeys } }"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def asked(address: str, query: str) -> Any:
    request = urllib.request.Request(
        f"{address}/graphql",
        data=json.dumps({"query": query}).encode(),
        headers={"Content-Type": "application/json"},
    )
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with direct.open(request, timeout=30) as answer:
        return json.load(answer)["data"]


def partitions(address: str) -> dict[str, list[str]]:
    nodes = asked(address, QUERY)["assetNodes"]
    return {node["assetKey"]["path"][0]: node["partitionKeys"] for node in nodes}


@pytest.fixture
def ui(tmp_path: Path) -> Iterator[tuple[Home, str, subprocess.Popen[bytes]]]:
    """A running UI over a home of one recording."""
    home = Home(tmp_path / "home")
    add_videos(home, "r", [write_video(tmp_path / "r.mp4", numbered(), steady(3))])
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "geb_assets.cli", "ui", "--port", str(port)],
        env={**os.environ, "GEB_HOME": str(home.path)},
        cwd=tmp_path,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            try:
                if partitions(address):
                    break
            except (OSError, TypeError):
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.5)
        yield home, address, process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def of_home(home: Home) -> list[str]:
    """Command lines of the processes that serve this home."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if str(home.path).encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.mark.slow
def test_the_ui_follows_the_registry_and_ends_with_all_it_started(
    ui: tuple[Home, str, subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    home, address, process = ui
    assert partitions(address)["clips"] == ["r/d001-00h"]
    assert partitions(address)["entities"] == ["r"]
    add_videos(home, "t", [write_video(tmp_path / "t.mp4", numbered(), steady(3))])
    assert reload_location(home)
    assert partitions(address)["entities"] == ["r", "t"]
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    time.sleep(1)
    assert of_home(home) == []
    assert not (home.path / "dagster" / UI_FILE).exists()


def test_a_ui_that_is_gone_is_no_hindrance(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert not reload_location(home)
    folder = tmp_path / "dagster"
    folder.mkdir()
    for content in (
        json.dumps({"address": f"http://127.0.0.1:{free_port()}"}), "{}", "[]", "half",
        '{"address": 3}'
    ):  # fmt: skip
        (folder / UI_FILE).write_text(content)
        assert not reload_location(home)
