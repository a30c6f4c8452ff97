"""A stage: one step of the paper as a partitioned asset, declared apart from the orchestrator."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from geb_assets.benchmarks import Benchmark
from geb_assets.parameters import SECTIONS, Section, section_of
from geb_assets.registry import Recording, segment_span
from geb_assets.tables import TABLES, Partition

if TYPE_CHECKING:
    from geb_assets.reading.memory import Memory
    from geb_assets.reading.variants import Variant
    from resources.frames import FrameCache
    from resources.profiles import Profile, Roles
    from resources.store import DeltaStore


class Progress(Protocol):
    """Told how far a long step is."""

    def __call__(self, what: str, done: int, total: int) -> None: ...


@dataclass(frozen=True)
class Finding:
    """What one invariant check found in the rows about to be written."""

    check: str
    passed: bool
    message: str


@dataclass(frozen=True)
class Result:
    """What a stage made of one partition."""

    tables: Mapping[str, pl.DataFrame]
    """Table name to rows."""
    failed: int = 0
    """Model calls that failed; a rerun makes those alone."""
    figures: Mapping[str, float | int | str] = field(default_factory=dict)
    """Counts worth showing beside the asset."""
    pages: Mapping[str, str] = field(default_factory=dict)
    """Title to Markdown, shown beside the asset."""
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    """Title to PNG or JPEG bytes, shown beside the asset."""


@dataclass(frozen=True)
class Checkpoints:
    """Finished parts of a long partition, kept on disk until its table is written."""

    folder: Path

    def get(self, part: str) -> dict[str, pl.DataFrame] | None:
        """The frames of a finished part, or None."""
        folder = self.folder / _file_name(part)
        if not folder.is_dir():
            return None
        return {path.stem: pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))}

    def put(self, part: str, frames: Mapping[str, pl.DataFrame]) -> None:
        """Keeps a finished part: all of its frames, or none."""
        folder = self.folder / _file_name(part)
        partial = folder.with_suffix(f".{os.getpid()}.partial")
        partial.mkdir(parents=True, exist_ok=True)
        for name, frame in frames.items():
            frame.write_parquet(partial / f"{name}.parquet")
        if folder.exists():
            shutil.rmtree(folder)
        partial.rename(folder)

    def keep_only(self, parts: Collection[str]) -> None:
        """Drops every other part."""
        wanted = {_file_name(part) for part in parts}
        for folder in self.folder.iterdir() if self.folder.is_dir() else ():
            if folder.name not in wanted:
                shutil.rmtree(folder, ignore_errors=True)


def _file_name(part: str) -> str:
    return part.rsplit("/", 1)[-1].replace(":", "").replace(".", "_")


@dataclass(frozen=True)
class Work:
    """All that a stage is handed to compute one partition: what it declared, and nothing else."""

    stage: Stage
    partition: str
    name: str
    """The recording's name."""
    recording: Recording
    segments: Sequence[str]
    """The recording's segments, in time order."""
    section: Section
    """The effective parameters of the stage's own section."""
    roles: Roles
    store: DeltaStore
    frames: FrameCache
    checkpoints: Checkpoints
    """Of this fingerprint; gone once the partition is written."""
    lasting: Checkpoints
    """Of this recording, for a stage that goes on from where an earlier run ended."""
    progress: Progress
    previous: Callable[[str], pl.DataFrame]
    """The rows on disk of one of its own tables, for a rerun of failed calls alone."""
    history: Mapping[str, str] = field(default_factory=dict)
    """Segment to a digest of all that was read up to and with it (recording stages)."""

    def scan(self, table: str, **within: str) -> pl.LazyFrame:
        """Rows of a declared table in this partition's reach, cut further where asked."""
        if table not in self.stage.reads_under(self.roles.profile):
            raise PermissionError(f"{self.stage.asset} did not declare that it reads {table}")
        if self.stage.partition == "segment" and TABLES[table].partition == "segment":
            within = {"segment": self.partition, **within}
        rows = self.store.scan(table, recording=self.name, **within)
        if TABLES[table].partition == "segment":
            # An hour that the recording no longer has may still be on disk.
            rows = rows.filter(pl.col("segment").is_in(self.segments))
        return rows

    def read(self, table: str, columns: Sequence[str] | None = None, **within: str) -> pl.DataFrame:
        """The same rows in the table's order."""
        frame = self.scan(table, **within).sort(TABLES[table].order)
        return (frame.select(columns) if columns else frame).collect()

    @property
    def span(self) -> tuple[float, float]:
        """Start and end of this segment's hour, s."""
        return segment_span(self.partition)

    def keys(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with this partition's key columns in front."""
        keys = {"recording": self.name}
        if self.stage.partition == "segment":
            keys["segment"] = self.partition
        return rows.select(
            *(pl.lit(value).alias(column) for column, value in keys.items()),
            *(pl.col(column) for column in rows.columns if column not in keys),
        )


@dataclass(frozen=True)
class Trial:
    """All that a stage over benchmarks is handed to compute one benchmark and variant."""

    stage: Stage
    partition: str
    name: str
    """The benchmark's name."""
    benchmark: Benchmark
    variant: Variant
    recordings: Mapping[str, Recording]
    """The recordings that the benchmark reads, by name."""
    sections: Mapping[str, Section]
    """The effective parameters of the stage's own section for each of them."""
    roles: Roles
    store: DeltaStore
    checkpoints: Checkpoints
    """Of this fingerprint; gone once the partition is written."""
    progress: Progress
    previous: Callable[[str], pl.DataFrame]
    """The rows on disk of one of its own tables, for a rerun of failed calls alone."""
    open_memory: Callable[[str], Memory]
    """The memory of one of the recordings as the variant sees it, with the benchmark's effective
    parameters. Raises GebError where it is not built, or stale."""

    def scan(self, table: str, **within: str) -> pl.LazyFrame:
        """Rows of a declared table: one recording's, or one variant's of this benchmark."""
        if table not in self.stage.reads_under(self.roles.profile):
            raise PermissionError(f"{self.stage.asset} did not declare that it reads {table}")
        if TABLES[table].partition == "benchmark":
            within = {"benchmark": self.name, **within}
        return self.store.scan(table, **within)

    def read(self, table: str, **within: str) -> pl.DataFrame:
        """The same rows in the table's order."""
        return self.scan(table, **within).sort(TABLES[table].order).collect()

    def keys(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with this partition's key columns in front."""
        keys = {"benchmark": self.name, "variant": self.variant.name}
        return rows.select(
            *(pl.lit(value).alias(column) for column, value in keys.items()),
            *(pl.col(column) for column in rows.columns if column not in keys),
        )


@dataclass(frozen=True)
class Expected:
    """Calls that a role would be asked for one partition, and a guess of the tokens of each."""

    calls: int
    prompt_tokens: float
    completion_tokens: float


@dataclass(frozen=True)
class Stage:
    """One step: what it reads, which roles serve it, and the function that computes a partition.

    A stage over segments or recordings is handed a :class:`Work`, one over benchmarks a
    :class:`Trial`.
    """

    asset: str
    partition: Partition
    implementation: str
    """Raised by hand whenever the code gives other rows for the same inputs."""
    run: Callable[[Any], Result]
    """Of its Work or Trial."""
    description: str
    """What it does, and where the paper says so."""
    group: str
    kinds: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    """Tables it reads."""
    roles: tuple[str, ...] = ()
    """Roles of the profile that serve it."""
    optional: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Roles that serve it where the profile has them, to the tables read for their sake alone."""
    varying: Mapping[str, Callable[[str], bool]] = field(default_factory=dict)
    """Tables that some of its partitions read, where the profile has the role that fills them, and
    which partitions those are."""
    on_demand: bool = False
    """Whether it is computed for those recordings alone of which another stage's partition reads
    what it writes."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """Role to a digest of the words that this stage asks it with; what words an adapter brings is
    in its identity."""
    sources: Callable[[Any, str], Any] = lambda entry, partition: None
    """What it reads of its Recording's or Benchmark's entry, as plain JSON values."""
    calls: Mapping[str, Callable[[Any], Expected | None]] = field(default_factory=dict)
    """Role to what it would be asked for a Work or Trial, where a chat model serves it; None where
    that cannot be told."""
    checks: Mapping[str, str] = field(default_factory=dict)
    """Invariant name to what it promises."""
    admit: Callable[[Any], Iterator[Finding]] = lambda work: iter(())
    """Judges the inputs before anything is computed; what does not pass is refused."""
    verify: Callable[[Any, Result], Iterator[Finding]] = lambda work, result: iter(())
    """Judges the rows about to be written."""

    @property
    def section(self) -> str:
        return section_of(self.asset)

    @property
    def section_class(self) -> type[Section]:
        return SECTIONS[self.section]

    @property
    def upstream(self) -> list[str]:
        """The assets whose tables it reads under any profile, in order."""
        tables = itertools.chain(self.reads, *self.optional.values(), self.varying)
        return list(dict.fromkeys(TABLES[table].asset for table in tables))

    def served_by(self, profile: Profile) -> tuple[str, ...]:
        """Its roles under a profile."""
        return (*self.roles, *(role for role in self.optional if role in profile.roles))

    def reads_under(self, profile: Profile) -> tuple[str, ...]:
        """The tables it reads under a profile."""
        own = (self.optional[role] for role in self.optional if role in profile.roles)
        return tuple(dict.fromkeys(itertools.chain(self.reads, *own)))
