"""Deleting a recording: its rows, its lineage and its entry. The user's files stay."""

from __future__ import annotations

import shutil

from geb_assets import asked, benchmarks
from geb_assets.home import Home
from geb_assets.registry import Registry, edit
from geb_assets.tables import TABLES, tables_of


def forget(home: Home, recording: str) -> dict[str, int]:
    """Removes a recording; returns the rows deleted from each table.

    The registry comes first, so that an interrupted run can be said again without anything
    being built in between. Old table versions go with the next vacuum; what chat models replied
    stays under ``cache``, by the digest of what they were asked.
    Raises GebError where a build is running.
    """
    with home.alone():
        edit(home.path, lambda registry: _without(registry, recording))
        removed = dict.fromkeys(TABLES, 0) | _drop_answers(home, recording)
        for name, table in TABLES.items():
            if table.partition != "benchmark":
                home.ledger.forget(table.asset, recording)
                removed[name] = home.store.delete(name, recording=recording)
        kept = [
            home.cache / "index" / recording,
            home.cache / "pictures" / recording,
            *(home.cache / "frames").glob(f"{recording}~*"),
            *(home.cache / "lasting").glob(f"*/{recording}"),
            *(home.cache / "partial").glob(f"*/{recording}"),
            *(home.cache / "partial").glob(f"*/{recording}~*"),
        ]
        for folder in kept:
            shutil.rmtree(folder, ignore_errors=True)
    return removed


def drop_orphans(home: Home) -> int:
    """Deletes the rows of recordings and hours that the registry no longer has; returns how many.

    They are left where a forget was interrupted, or a video was added again at another time.
    """
    registry = home.registry()
    dropped = 0
    for asset, partition in home.ledger.entries():
        if tables_of(asset)[0].partition == "benchmark":
            continue
        recording = partition.split("/")[0]
        if recording not in registry.recordings:  # a forget that was interrupted
            for table in tables_of(asset):
                dropped += home.store.delete(table.name, recording=recording)
            home.ledger.drop(asset, partition)
        elif partition != recording and partition not in registry.segments(recording):
            for table in tables_of(asset):
                dropped += home.store.delete(table.name, recording=recording, segment=partition)
            home.ledger.drop(asset, partition)
    return dropped


def _drop_answers(home: Home, recording: str) -> dict[str, int]:
    """Removes the benchmarks that read a recording, and the variants in which it was asked about:
    their answers quote it. Returns the rows deleted from each table."""
    known = home.benchmarks().benchmarks
    read = [name for name, benchmark in known.items() if recording in benchmark.recordings]
    benchmarks.drop(home.path, read)
    for name in read:
        (home.path / "reports" / f"{name}.html").unlink(missing_ok=True)
        for folder in (home.cache / "partial").glob(f"*/{name}~*"):
            shutil.rmtree(folder, ignore_errors=True)
    removed = {"predictions": asked.forget(home, recording)}
    told = home.store.scan("predictions", recording=recording)
    for benchmark, variant in told.select("benchmark", "variant").unique().collect().iter_rows():
        for table in ("predictions", "scores"):
            rows = home.store.delete(table, benchmark=benchmark, variant=variant)
            removed[table] = removed.get(table, 0) + rows
            home.ledger.drop(TABLES[table].asset, f"{benchmark}/{variant}")
    return removed


def _without(registry: Registry, recording: str) -> Registry:
    others = {name: value for name, value in registry.recordings.items() if name != recording}
    return registry.model_copy(update={"recordings": others})
