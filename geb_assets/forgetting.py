"""Deleting a recording: its rows, its lineage and its entry. The user's files stay."""

from __future__ import annotations

import shutil

from geb_assets.home import Home
from geb_assets.registry import edit
from geb_assets.tables import TABLES


def forget(home: Home, recording: str) -> dict[str, int]:
    """Removes a recording; returns the rows deleted from each table.

    The registry comes first, so that an interrupted run can be said again without anything
    being built in between. Old table versions go with the next vacuum.
    """
    edit(
        home.path,
        lambda registry: registry.model_copy(
            update={"recordings": {k: v for k, v in registry.recordings.items() if k != recording}}
        ),
    )
    home.ledger.forget(recording)
    removed = {name: home.store.delete(name, recording) for name in TABLES}
    for folder in (home.cache / "frames").glob(f"{recording}~*"):
        shutil.rmtree(folder, ignore_errors=True)
    return removed
