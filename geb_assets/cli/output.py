"""What every command shares: JSON on standard output, the rest on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from geb_assets.stage import Progress as Report


def one_line(text: str) -> str:
    """The text without its line breaks."""
    return " ".join(part for part in (line.strip() for line in text.splitlines()) if part)


class Output:
    """Where a command speaks: ``say`` for people, ``result`` for the one JSON object."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.errors = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)
        self.plain = (
            self.errors if as_json else Console(highlight=False, soft_wrap=True, emoji=False)
        )

    def say(self, text: str) -> None:
        """A plain line; on standard error where standard output carries JSON."""
        self.plain.print(text, markup=False)

    def result(self, value: dict[str, Any]) -> None:
        if self.as_json:
            sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")

    def fail(self, text: str) -> None:
        text = one_line(text)
        self.result({"error": text})
        self.errors.print(f"geb: {text}", markup=False)

    @contextmanager
    def progress(self) -> Iterator[Report]:
        """A bar per kind of work on standard error, where that is a terminal.

        The bars have a handle of their own: during a run Dagster turns the usual one to its log.
        """
        own = self.errors
        if self.errors.is_terminal:
            own = Console(file=os.fdopen(os.dup(sys.stderr.fileno()), "w"), highlight=False)
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=own,
            transient=True,
            disable=not own.is_terminal,
        ) as bars:
            tasks: dict[str, Any] = {}

            def report(what: str, done: int, total: int) -> None:
                if what not in tasks:
                    tasks[what] = bars.add_task(what, total=total)
                bars.update(tasks[what], completed=done, total=total)
                if done >= total:
                    bars.remove_task(tasks.pop(what))

            yield report
