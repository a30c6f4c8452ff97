"""The Delta tables of one home: whole partitions in, polars frames out (usable without Dagster)."""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, WriterProperties, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError
from deltalake.schema import Schema
from numpy.typing import NDArray

from geb_assets.errors import GebError
from geb_assets.tables import TABLES, Table

_COMMIT_TRIES = 8
_STAMP = "geb"
_FORGOTTEN = "geb.forgotten"


@dataclass(frozen=True)
class Stamp:
    """What a commit says of the partition that it wrote."""

    asset: str
    partition: str
    fingerprint: str
    data_version: str
    run_id: str
    complete: bool
    """False where model calls failed; a rerun makes those alone."""
    inputs: Mapping[str, Any]
    """What the fingerprint was computed from."""
    failed: int = 0
    """Failed model calls."""


class DeltaStore:
    """Tables under one folder or object-store URL, one Delta table each.

    A write replaces exactly one partition and stamps the commit; a concurrent commit is retried.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = str(root)

    def uri(self, table: str) -> str:
        return f"{self.root.rstrip('/')}/{table}"

    def has(self, table: str) -> bool:
        """Whether the table is there."""
        return bool(DeltaTable.is_deltatable(self.uri(table)))

    def create(self, table: Table) -> None:
        """Creates the table with its schema where it does not exist; safe to race."""
        if "://" not in self.root:
            Path(self.uri(table.name)).mkdir(parents=True, exist_ok=True)
        try:
            DeltaTable(self.uri(table.name))
        except TableNotFoundError:
            DeltaTable.create(
                self.uri(table.name),
                schema=Schema.from_arrow(_arrow(table.empty(), table).schema),
                mode="ignore",
                partition_by=table.partition_columns,
                name=table.name,
                description=f"A row is {table.row}.",
                # The commits say what each partition was computed from: none may expire.
                configuration={
                    "delta.checkpointInterval": "50",
                    "delta.enableExpiredLogCleanup": "false",
                },
            )

    def replace(
        self,
        table: Table,
        partition: Mapping[str, str],
        rows: pl.DataFrame,
        stamp: Stamp,
    ) -> None:
        """Replaces one partition of a table by these rows.

        Raises ValueError where the rows do not have the table's columns and types, or belong to
        another partition; GebError where the disk or the store refuses the write.
        """
        rows = conform(table, rows)
        for column in table.partition_columns:
            if (rows[column] != partition[column]).any():
                raise ValueError(f"{table.name}: rows of another {column} than {partition[column]}")
        keys = {column: partition[column] for column in table.partition_columns}
        self._overwrite(table, keys, rows, {_STAMP: json.dumps(asdict(stamp))})

    def _overwrite(
        self,
        table: Table,
        partition: Mapping[str, str],
        rows: pl.DataFrame,
        metadata: Mapping[str, str],
    ) -> None:
        """Puts rows in place of a partition's, in one commit, tried again where it clashes."""
        predicate = " AND ".join(
            f"{column} = '{value.replace(chr(39), chr(39) * 2)}'"
            for column, value in partition.items()
        )
        for attempt in range(_COMMIT_TRIES):
            try:
                self.create(table)
                write_deltalake(
                    self.uri(table.name),
                    _arrow(rows, table),
                    mode="overwrite",
                    predicate=predicate,
                    schema_mode="merge",  # a column that is new since the table was created
                    commit_properties=CommitProperties(custom_metadata=dict(metadata)),
                    writer_properties=WriterProperties(compression="ZSTD", compression_level=1),
                )
                return
            except CommitFailedError as error:
                if attempt == _COMMIT_TRIES - 1:
                    raise GebError(
                        f"table {table.name}: another writer kept changing it; run again ({error})"
                    ) from error
                time.sleep(random.uniform(0.05, 0.2) * 2**attempt)
            except (OSError, DeltaError) as error:
                raise GebError(
                    f"table {table.name} could not be written under {self.root}: {error}; "
                    "free some space or mend the permissions, then build again"
                ) from error

    def scan(self, table: str, **partition: str) -> pl.LazyFrame:
        """The rows of a table, cut to a recording or a segment where one is named.

        An unwritten table has no rows; a column that the table was created without is null.
        """
        if not self.has(table):
            return TABLES[table].empty().lazy()
        frame = pl.scan_delta(self.uri(table))
        for column, value in partition.items():
            frame = frame.filter(pl.col(column) == value)
        there = frame.collect_schema().names()
        later = (c for c in TABLES[table].columns if c.name not in there)
        frame = frame.with_columns(pl.lit(None, c.dtype).alias(c.name) for c in later)
        return frame.select(list(TABLES[table].schema))

    def read(
        self, table: str, columns: Sequence[str] | None = None, **partition: str
    ) -> pl.DataFrame:
        """The rows of a table in its own order."""
        frame = self.scan(table, **partition).sort(TABLES[table].order)
        return (frame.select(columns) if columns else frame).collect()

    def stamps(self, table: str) -> dict[str, Stamp]:
        """The newest stamp of each partition of a table, read from the commits."""
        try:
            history = DeltaTable(self.uri(table)).history()
        except TableNotFoundError:
            return {}
        newest: dict[str, Stamp] = {}
        forgotten: set[str] = set()
        for entry in history:  # newest first
            if _FORGOTTEN in entry:
                forgotten.add(entry[_FORGOTTEN])
            if _STAMP in entry:
                stamp = Stamp(**json.loads(entry[_STAMP]))
                if not forgotten & {stamp.partition, stamp.partition.split("/")[0]}:
                    newest.setdefault(stamp.partition, stamp)
        return newest

    def delete(self, table: str, **keys: str) -> int:
        """Deletes the rows with these partition keys (a recording's, or one segment's of it, or one
        benchmark and variant's); returns how many there were."""
        if not self.has(table):
            return 0
        count = int(self.scan(table, **keys).select(pl.len()).collect().item())
        # Not Delta's own delete: that commits nothing where a partition has no rows.
        forgotten = keys.get("segment") or "/".join(keys.values())
        self._overwrite(TABLES[table], keys, TABLES[table].empty(), {_FORGOTTEN: forgotten})
        return count

    def vacuum(self, table: str, *, retention_hours: int) -> int:
        """Removes files that no version within the retention needs; returns how many."""
        try:
            handle = DeltaTable(self.uri(table))
        except TableNotFoundError:
            return 0
        return len(
            handle.vacuum(
                retention_hours=retention_hours,
                dry_run=False,
                enforce_retention_duration=False,
            )
        )


def conform(table: Table, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with exactly the table's columns and types, in the table's order.

    Raises ValueError for a missing or unknown column, or a null where none may be.
    """
    missing = set(table.schema) - set(rows.columns)
    unknown = set(rows.columns) - set(table.schema)
    if missing or unknown:
        raise ValueError(f"{table.name}: missing {sorted(missing)}, unknown {sorted(unknown)}")
    shaped = rows.select(pl.col(name).cast(dtype) for name, dtype in table.schema.items())
    nulls = [c.name for c in table.columns if not c.nullable and shaped[c.name].null_count()]
    if nulls:
        raise ValueError(f"{table.name}: null in {nulls}")
    return shaped.sort(table.order, maintain_order=True).rechunk()


def data_version(table: Table, rows: pl.DataFrame) -> str:
    """Content hash of a partition: its versioned columns, in the table's order."""
    digest = hashlib.sha256()
    for column, value in table.aside:
        rows = rows.filter(pl.col(column) != value)
    arrow = _arrow(conform(table, rows), table).select(table.versioned).combine_chunks()
    with pa.ipc.new_stream(_Hashing(digest), arrow.schema) as writer:
        writer.write_table(arrow)
    return digest.hexdigest()[:32]


class _Hashing:
    """A binary sink that keeps only a digest of what is written."""

    closed = False

    def __init__(self, digest: Any) -> None:
        self.digest = digest

    def write(self, data: Any) -> int:
        self.digest.update(data)
        return len(data)

    def flush(self) -> None: ...


def _arrow(rows: pl.DataFrame, table: Table) -> pa.Table:
    """The rows as Arrow with the plain types that Delta knows."""
    return rows.to_arrow(compat_level=pl.CompatLevel.oldest())


def encode_vectors(vectors: NDArray[np.float32]) -> list[bytes]:
    """Rows of float32 [N, D] as little-endian float16 bytes; a row with NaN becomes empty."""
    half = vectors.astype("<f2")
    return [b"" if np.isnan(row).any() else row.tobytes() for row in half]


def decode_vectors(vectors: pl.Series, dim: int | None = None) -> NDArray[np.float32]:
    """Stored vectors as float32 [N, D], renormalised; an empty one becomes a row of NaN.

    ``dim`` is needed only where every vector is empty. Rows are unit rows after the widening
    (design "What must hold" 1).
    """
    blobs = vectors.to_list()
    width = dim or next((len(blob) // 2 for blob in blobs if blob), 1)
    hole = np.full(width, np.nan, dtype="<f2").tobytes()
    flat = np.frombuffer(b"".join(blob or hole for blob in blobs), dtype="<f2")
    rows = flat.reshape(len(blobs), width).astype(np.float32)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(np.divide(rows, norms, out=rows, where=norms > 0), np.float32)
