"""The one error a user can cause and mend."""

from __future__ import annotations

import re
from pathlib import Path

_REFUSALS = (
    # However Python, SQLite, Arrow, polars and Delta word it.
    (re.compile(r"No space left|disk is full|os error 28\b|quota exceeded"), "is full"),
    (
        re.compile(r"Permission denied|Read-only file|readonly database|not permitted"),
        "is not writable",
    ),
    (re.compile(r"Not a directory|File exists"), "is no folder"),
)


class GebError(Exception):
    """Something the user can mend; its text is one plain line that names the thing and the mend."""


def refusal(folder: Path, error: BaseException) -> GebError | None:
    """The plain line for a disk that refuses to be written to; None for any other error."""
    if isinstance(error, GebError):
        return None
    words = str(error)
    for pattern, state in _REFUSALS:
        if pattern.search(words):
            mend = "free some space there" if state == "is full" else "mend its permissions"
            return GebError(
                f"{folder} {state}: {mend}, or choose another home with GEB_HOME, and run again"
            )
    return None
