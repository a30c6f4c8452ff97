"""A disk that fills while ``geb build`` writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from geb_assets.home import Home
from geb_assets.stages import STAGES
from tests.homes import add_all, versions
from tests.test_lineage import check_tables

SIZE_MB = 40


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small disk cannot be mounted here: that takes root and the right to mount")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def build(home: Home) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "geb_assets.cli", "build", "--json"],
        env={**os.environ, "GEB_HOME": str(home.path)},
        capture_output=True,
        text=True,
    )


def leave(folder: Path, ballast: Path, free_kb: int) -> None:
    """Fills the disk until so much is free."""
    state = os.statvfs(folder)
    with ballast.open("wb") as file:
        for _ in range(max(0, state.f_bavail * state.f_frsize // 1024 - free_kb)):
            file.write(bytes(1024))


@pytest.mark.slow
@pytest.mark.parametrize("free_kb", [0, 300, 700, 1200, 2500])
def test_a_full_disk_is_one_plain_line_and_freeing_space_mends_it(
    home: Home, videos: Path, disk: Path, free_kb: int
) -> None:
    whole = {key: v for key, v in versions(home).items() if key[1].split("/")[0] == "s"}
    full = Home(disk / "home")
    add_all(full, videos, "s")
    ballast = disk / "ballast"
    leave(disk, ballast, free_kb)
    done = build(full)
    assert done.returncode == 1, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("geb: ")]
    assert str(full.path) in line
    assert "free some space" in line
    assert "Traceback" not in done.stderr
    assert json.loads(done.stdout) == {"error": line.removeprefix("geb: ")}
    ballast.unlink()
    finished = {key: entry.run_id for key, entry in full.ledger.entries().items()}
    done = build(full)
    assert done.returncode == 0, done.stderr
    assert full.planner(STAGES).plan() == []
    assert versions(full) == whole
    check_tables(full)
    after = full.ledger.entries()
    assert {key: after[key].run_id for key in finished} == finished
