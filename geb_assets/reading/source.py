"""A recording's tables in a home, as a memory reads them, and the index kept beside them."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.parameters import effective
from geb_assets.reading.dense import VectorRows
from geb_assets.reading.index import FORMAT, Index, facts_of
from geb_assets.reading.rows import COLUMNS, TRIPLES, VECTORS, vectors_of
from geb_assets.reading.settings import Reading, SearchSettings
from geb_assets.reading.variants import Variant
from geb_assets.tables import TABLES

if TYPE_CHECKING:
    from geb_assets.lineage import Planner
    from resources.embedder import ClipEmbedder, TextEmbedder
from resources.profiles import Roles

BESIDE = ("names", "chains")
"""Assets that are shown beside what a search finds."""


@dataclass(frozen=True)
class Source:
    """One recording of one home."""

    home: Home
    recording: str
    planner: Planner

    @classmethod
    def of(cls, home: Home, recording: str) -> Source:
        """Raises GebError where the recording does not exist, or its memory is missing or stale."""
        # The stages bring the whole writing half with them: not before they are needed.
        from geb_assets.stages import STAGES

        planner = home.planner(STAGES)
        planner.registry.recording(recording)
        source = cls(home, recording, planner)
        source._require_current()
        return source

    def _tables(self) -> list[str]:
        return [*COLUMNS, *VECTORS]

    def _require_current(self) -> None:
        needed: set[str] = set()
        waiting = [TABLES[table].asset for table in self._tables()]
        while waiting:
            asset = waiting.pop()
            if asset not in needed:
                needed.add(asset)
                waiting += self.planner.stages[asset].upstream
        build = f"run: geb build {self.recording}"
        if ("graph", self.recording) not in self.planner.entries:
            raise GebError(f"the memory of {self.recording} is not built; {build}")
        # Names and chains may not be built yet; those of another memory would tell of other things.
        needed |= {asset for asset in BESIDE if (asset, self.recording) in self.planner.entries}
        for step in self.planner.plan([self.recording]):
            if step.asset in needed and step.state == "stale" and not self._only_failed(step):
                raise GebError(
                    f"the memory of {self.recording} is stale: {step.asset} of {step.partition} "
                    f"({step.why}); {build}"
                )

    def _only_failed(self, step: Any) -> bool:
        """Whether a partition is as it should be but for failed model calls, which a rerun makes:
        its memory can be searched."""
        entry = self.planner.entries.get((step.asset, step.partition))
        stage = self.planner.stages[step.asset]
        return (
            entry is not None
            and self.planner.missing(stage, step.partition) is None
            and self.planner.expected(stage, step.partition).fingerprint == entry.fingerprint
        )

    def reading(self) -> Reading:
        """The effective reading parameters of the recording."""
        overrides = self.planner.registry.recording(self.recording).parameters
        section = effective("reading", self.planner.profile.parameters, overrides)
        assert isinstance(section, Reading)
        return section

    def text_embedder(self) -> TextEmbedder:
        """The model that made the memory's text vectors."""
        return self._roles().text_embedder()

    def clip_embedder(self) -> ClipEmbedder | None:
        """The model that made the memory's clip vectors; None where the profile has none."""
        return self._roles().clip_embedder()

    def _roles(self) -> Roles:
        stage, profile = self.planner.stages["embeddings"], self.planner.profile
        section = self.planner.section(stage, self.recording)
        served = stage.served_by(profile)
        return Roles(profile, self.home.models, section, served, self.home.calls())

    def triples(self, variant: Variant) -> pl.DataFrame | None:
        """What the captions state; None for a variant that does not read it, and where the profile
        has no model to tell it. Raises GebError where it is missing or stale."""
        stage = self.planner.stages["triples"]
        if not variant.reads_triples or not stage.served_by(self.planner.profile):
            return None
        entry = self.planner.entries.get((stage.asset, self.recording))
        expected = self.planner.expected(stage, self.recording).fingerprint
        if entry is None or entry.fingerprint != expected:
            raise GebError(
                f"variant {variant.name} reads the triples of {self.recording}, which are "
                f"{'not told yet' if entry is None else 'stale'}; run: "
                f"geb evaluate BENCHMARK --variant {variant.name}"
            )
        return self.rows("triples").select(TRIPLES)

    def index(self, variant: Variant, settings: SearchSettings) -> Index:
        """The index of the tables as they are now, written first where there is none."""
        shelf = self.home.cache / "index" / self.recording
        triples = self.triples(variant)
        facts: dict[str, Any] = {
            "versions": self._versions(),
            "variant": variant.view,
            "tokens": settings.tokens,
        }
        own: dict[str, pl.DataFrame] = {}
        if triples is not None:
            own = {"triples": triples}
            facts["triples"] = self.planner.entries["triples", self.recording].versions["triples"]
        folder = shelf / _digest({"format": FORMAT, **facts})
        if facts_of(folder) is None:
            shutil.rmtree(folder, ignore_errors=True)
            written = self._frames() | own
            frames = variant.apply(written)
            Index.write(
                folder,
                frames,
                variant.vectors(
                    VectorRows(self._vectors("text")), written, self.text_embedder().embed
                ),
                VectorRows(self._vectors("visual")),
                settings,
                facts,
            )
            _drop_older(shelf, facts["versions"])
        return Index.open(folder, settings)

    def frames_of(self) -> Callable[[str], pl.DataFrame]:
        """Clip to its stored frames (time_s, jpeg), in time order."""
        store, recording = self.home.store, self.recording

        def stored(clip: str) -> pl.DataFrame:
            rows = store.scan("frames", recording=recording).filter(pl.col("clip") == clip)
            return rows.select("time_s", "jpeg").sort("time_s").collect()

        return stored

    def rows(self, table: str) -> pl.DataFrame:
        """The recording's rows of a small table that is read whole; none before it is built."""
        return self.home.store.read(table, recording=self.recording)

    def _partitions(self, table: str) -> list[str]:
        stage = self.planner.stages[TABLES[table].asset]
        return self.planner.partitions(stage, [self.recording])

    def _versions(self) -> dict[str, str]:
        """``table|partition`` to data version, of all that the index is made from."""
        return {
            f"{table}|{partition}": self.planner.entries[TABLES[table].asset, partition].versions[
                table
            ]
            for table in self._tables()
            for partition in self._partitions(table)
        }

    def _frames(self) -> dict[str, pl.DataFrame]:
        store = self.home.store
        lazy = [
            store.scan(table, recording=self.recording).select(columns)
            for table, columns in COLUMNS.items()
        ]
        return dict(zip(COLUMNS, pl.collect_all(lazy), strict=True))

    def _vectors(self, kind: str) -> list[pl.LazyFrame]:
        """One part a partition, so that a week's vectors are never in memory at once."""
        store = self.home.store
        return [
            vectors_of(store.scan(table, **{TABLES[table].partition: partition}), table, kind)
            for table in VECTORS
            for partition in self._partitions(table)
        ]


def _digest(facts: Any) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


def _drop_older(shelf: Path, versions: Any) -> None:
    """Removes indexes of other versions of the tables; who still has one mapped keeps it."""
    for folder in shelf.iterdir():
        facts = facts_of(folder)
        if facts is not None and facts["versions"] != versions:
            shutil.rmtree(folder, ignore_errors=True)
