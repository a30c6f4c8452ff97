"""The one error a user can cause and mend."""

from __future__ import annotations

import re
from pathlib import Path

_SPACE, _RIGHTS = "free some space there", "mend its permissions"
_REFUSALS = (
    # However Python, SQLite, Arrow, polars and Delta word it.
    (r"No space left|disk is full|os error 28\b|quota exceeded", "is full", _SPACE),
    (
        r"Permission denied|Read-only file|readonly database|not permitted",
        "is not writable",
        _RIGHTS,
    ),
    (r"Not a directory|File exists", "is no folder", "move what is in its place"),
    (
        r"disk I/O error|unable to open database",
        "is full or not writable",
        f"{_SPACE}, {_RIGHTS}",
    ),
)


class GebError(Exception):
    """Something the user can mend; its text is one plain line that names the thing and the mend."""


def refusal(folder: Path, error: BaseException) -> GebError | None:
    """The plain line for a disk that refuses to be written to; None for any other error."""
    if isinstance(error, GebError):
        return None
    words = str(error)
    for pattern, state, mend in _REFUSALS:
        if re.search(pattern, words):
            return GebError(
                f"{folder} {state}: {mend}, or choose another home with GEB_HOME, and run again"
            )
    return None
