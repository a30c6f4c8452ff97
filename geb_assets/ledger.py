"""The ledger: what each partition on disk was computed from; rebuilt from the commits."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geb_assets.errors import GebError, refusal

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

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A connection whose changes are all made, or none. Raises GebError where it fails."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=60)) as connection:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute(_SCHEMA)
                with connection:
                    yield connection
        except (OSError, sqlite3.OperationalError) as error:
            raise refusal(self.path.parent, error) or GebError(
                f"{self.path} cannot be opened: {error}; "
                "mend its permissions, or choose another home with GEB_HOME"
            ) from None
        except sqlite3.DatabaseError as error:
            raise GebError(
                f"{self.path} is damaged ({error}); delete it and run: geb doctor"
            ) from None

    def entries(self) -> dict[tuple[str, str], Entry]:
        """All partitions by (asset, partition)."""
        if not self.path.exists():
            return {}
        with self._transaction() as connection:
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

    def record(self, entries: Iterable[Entry], *, instead_of_all: bool = False) -> None:
        """Writes these partitions, all or none, over what was known of them (or of any)."""
        with self._transaction() as connection:
            if instead_of_all:
                connection.execute("DELETE FROM partitions")
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

    def drop(self, asset: str, partition: str) -> None:
        """Says that a partition on disk is what nobody knows."""
        with self._transaction() as connection:
            connection.execute(
                "DELETE FROM partitions WHERE asset = ? AND partition = ?", (asset, partition)
            )

    def forget(self, asset: str, recording: str) -> None:
        """Drops an asset's partitions of a recording."""
        with self._transaction() as connection:
            connection.execute(
                "DELETE FROM partitions WHERE asset = ? "
                "AND (partition = ? OR substr(partition, 1, ?) = ?)",
                (asset, recording, len(recording) + 1, f"{recording}/"),
            )
