"""The ``geb`` command."""

from __future__ import annotations

from geb_assets.cli.main import main

__all__ = ["main"]
