"""The README's commands, run as they are written there."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.films import cutouts, steady, walk, write_video
from tests.models import fetched

README = Path(__file__).parents[1] / "README.md"

# Servers, benchmarks, the paper's models and the set-up have tests of their own; an environment is
# active already.
_LEFT_OUT = (
    "geb ui",
    "geb evaluate",
    "geb report",
    "geb use",
    "geb doctor",
    "make demo",
    ". .venv/bin/activate",
)


def blocks() -> list[tuple[str, str]]:
    """Language and content of the README's fenced blocks."""
    return re.findall(r"```(\w*)\n(.*?)```", README.read_text(), flags=re.DOTALL)


def commands() -> list[str]:
    lines = [line for _, block in blocks() for line in block.splitlines()]
    return [line for line in lines if line.startswith(("geb ", "make ", ". "))]


def prepare(folder: Path) -> None:
    """The files that the README speaks of."""
    things = cutouts(fetched())
    film = walk([things["cat"], things["motorbike"]])
    write_video(folder / "breakfast.mp4", film, steady(6))
    write_video(folder / "DAY1_A1_JAKE_13203800.mp4", film, steady(6))
    line = {"start": 132040, "end": 132042, "text": "C sees a cat", "type": "caption"}
    hour = [{"video_file": "DAY1_A1_JAKE_13203800.mp4", "data": [line]}]
    content = json.dumps(hour).encode()
    with tarfile.open(folder / "sync.tar.gz", "w:gz") as archive:
        entry = tarfile.TarInfo("Sync/A1_JAKE_DAY1_13.json")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    (folder / "srt").mkdir()
    (folder / "srt" / "A1_JAKE_DAY1_13000000.srt").write_text(
        "1\n00:20:39,000 --> 00:20:41,000\nJake: there is the cat\n"
    )


def test_every_command_of_the_readme_is_known() -> None:
    assert {"geb demo", "geb ui", "geb tables"} <= {
        match[0]
        for line in README.read_text().splitlines()
        if (match := re.search("geb [a-z]+", line))
    }
    assert any(line.startswith("geb set") for line in commands())


@pytest.mark.slow
def test_the_readme_runs_as_written(tmp_path: Path) -> None:
    prepare(tmp_path)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "GEB_MODELS": str(fetched())}
    for name in ("GEB_HOME", "GEB_CHAT_URL"):
        environment.pop(name, None)
    said: dict[str, str] = {}
    listed = ["geb demo", *(c for c in commands() if not c.startswith(_LEFT_OUT))]
    for command in listed:
        done = subprocess.run(
            command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
        said[command] = done.stdout
    assert "5 of 5 answered right" in said["geb demo"]
    (asked,) = (text for command, text in said.items() if command.startswith("geb ask"))
    assert "B: no" in asked and "object#0" in asked and "object#1" in asked
    (script,) = (block for language, block in blocks() if language == "python")
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "display_name" in done.stdout
