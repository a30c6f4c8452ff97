"""The ledger: what each partition on disk was computed from; rebuilt from the commits."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geb_assets.errors import GebError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS partitions (
    asset TEXT NOT NULL, partition TEXT NOT NULL, fingerprint TEXT NOT NULL,
    inputs TEXT NOT NULL, versions TEXT NOT NULL, run_id TEXT NOT NULL,
    complete INTEGER NOT NULL, failed INTEGER NOT NULL,
    PRIMARY KEY (asset, partition)
) WITHOUT ROWID
"""


@dataclass(frozen=True)
class Entry:
    """One partition as it is on disk."""

    asset: str
    partition: str
    fingerprint: str
    inputs: Mapping[str, Any]
    """What the fingerprint was computed from."""
    versions: Mapping[str, str]
    """Table name to data version."""
    run_id: str
    """The run that wrote it."""
    complete: bool
    failed: int = 0
    """Model calls that failed."""


class Ledger:
    """A SQLite file in the home; every call opens and closes its own connection."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def _connect(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=60)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise GebError(
                f"home {self.path.parent} is not writable: {error}; "
                "mend its permissions or choose another with GEB_HOME"
            ) from None
        return connection

    def entries(self) -> dict[tuple[str, str], Entry]:
        """All partitions by (asset, partition)."""
        with closing(self._connect()) as connection:
            rows = connection.execute(
                "SELECT asset, partition, fingerprint, inputs, versions, run_id, complete, failed "
                "FROM partitions"
            ).fetchall()
        return {
            (asset, partition): Entry(
                asset,
                partition,
                fingerprint,
                json.loads(inputs),
                json.loads(versions),
                run_id,
                bool(complete),
                failed,
            )
            for asset, partition, fingerprint, inputs, versions, run_id, complete, failed in rows
        }

    def record(self, entries: Iterable[Entry]) -> None:
        """Writes these partitions, all or none, over what was known of them."""
        with closing(self._connect()) as connection, connection:
            connection.executemany(
                "INSERT OR REPLACE INTO partitions "
                "(asset, partition, fingerprint, inputs, versions, run_id, complete, failed) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        entry.asset,
                        entry.partition,
                        entry.fingerprint,
                        json.dumps(entry.inputs, sort_keys=True),
                        json.dumps(entry.versions, sort_keys=True),
                        entry.run_id,
                        int(entry.complete),
                        entry.failed,
                    )
                    for entry in entries
                ],
            )

    def forget(self, recording: str) -> int:
        """Drops a recording's partitions; returns how many there were."""
        with closing(self._connect()) as connection, connection:
            return connection.execute(
                "DELETE FROM partitions WHERE partition = ? OR substr(partition, 1, ?) = ?",
                (recording, len(recording) + 1, f"{recording}/"),
            ).rowcount

    def clear(self) -> None:
        with closing(self._connect()) as connection, connection:
            connection.execute("DELETE FROM partitions")
