"""Files of the user's that were added once and are read again at every build."""

from __future__ import annotations

from pathlib import Path

from geb_assets.errors import GebError
from geb_assets.registry import SourceFile
from resources.video import file_digest


def as_added(file: SourceFile) -> Path:
    """The file's path.

    Raises GebError where it is gone or is no longer the one added.
    """
    path = Path(file.path)
    if not path.exists():
        raise GebError(f"{path} is gone; put it back, or add it again where it is now")
    if file_digest(path) != file.digest:
        raise GebError(f"{path} changed since it was added; add it again with geb add")
    return path
