"""Progress bars are seen while something else has taken standard error away."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

SCRIPT = """
import os
from geb_assets.cli.output import Output

with Output(False).progress() as report:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # as Dagster does during a run
    report("detections", 3, 8)
"""


def test_bars_outlive_a_redirected_standard_error() -> None:
    reader, terminal = pty.openpty()
    try:
        subprocess.run(
            [sys.executable, "-c", SCRIPT], stdout=terminal, stderr=terminal, check=True,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        )  # fmt: skip
        shown = os.read(reader, 65_536).decode()
    finally:
        os.close(reader)
        os.close(terminal)
    assert "detections" in shown and "3/8" in shown
