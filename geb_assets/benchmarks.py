"""The benchmarks of a home: ``benchmarks.toml``, beside the registry of recordings."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from geb_assets import toml_file
from geb_assets.errors import GebError
from geb_assets.registry import SourceFile

FILE = "benchmarks.toml"
FULL = "full"
"""The variant that others are compared with."""
ASKED = "asked"
"""What ``geb ask`` writes its records under; no benchmark can have this name."""

_HEADING = "# Benchmarks of this home. Edited by `geb evaluate`, or by hand.\n"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Benchmark(_Value):
    """One benchmark: which questions are put to which recordings, how often, and read how."""

    kind: str
    """Whose rules hold: the name of a loader in ``evaluation.benchmarks.catalogue``."""
    questions: SourceFile
    recordings: Annotated[tuple[str, ...], Field(min_length=1)]
    variants: Annotated[tuple[str, ...], Field(min_length=1)] = (FULL,)
    runs: Annotated[int, Field(ge=1)] = 1
    """Runs of every question, each with a seed of its own, from 0."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """The first so many questions; None: all."""
    parallel: Annotated[int, Field(ge=1, le=64)] = 2
    """Questions in flight at a time; changes no answer."""
    reading: Mapping[str, Any] = {}
    """Reading parameters of this benchmark, over the recordings' own (its budget, say)."""

    units: Mapping[str, Annotated[int, Field(ge=1)]] = {}
    """Units of one search for a variant whose budget has to be matched to the full system's."""

    @field_validator("variants", "recordings")
    @classmethod
    def _once(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(names))


class Benchmarks(_Value):
    """All benchmarks of a home, by name."""

    benchmarks: Mapping[str, Benchmark] = {}

    def benchmark(self, name: str) -> Benchmark:
        """Raises GebError for a benchmark that was never registered."""
        if name not in self.benchmarks:
            known = ", ".join(self.benchmarks) or "none yet"
            raise GebError(
                f"no benchmark '{name}' here ({known}); add it with: "
                f"geb evaluate {name} --questions FILE"
            )
        return self.benchmarks[name]

    def partitions(self, recordings: Collection[str]) -> list[str]:
        """Keys ``benchmark/variant`` of the benchmarks that read none but these recordings."""
        return [
            f"{name}/{variant}"
            for name, benchmark in self.benchmarks.items()
            if set(benchmark.recordings) <= set(recordings)
            for variant in benchmark.variants
        ]

    def of_partition(self, partition: str) -> tuple[str, Benchmark, str]:
        """Name, benchmark and variant of a key. Raises GebError where there is none."""
        name, _, variant = partition.partition("/")
        benchmark = self.benchmark(name)
        if variant not in benchmark.variants:
            raise GebError(
                f"benchmark {name} has no variant '{variant}'; it has "
                f"{', '.join(benchmark.variants)}; add it with: geb evaluate {name} "
                f"--variant {variant}"
            )
        return name, benchmark, variant


def load(home: Path) -> Benchmarks:
    """The benchmarks of a home; none without a file. Raises GebError for a bad one."""
    return toml_file.load(home / FILE, Benchmarks)


def edit(home: Path, change: Callable[[Benchmarks], Benchmarks]) -> Benchmarks:
    """Applies a change and writes the file whole, or not at all."""
    return toml_file.edit(home / FILE, Benchmarks, change, heading=_HEADING)


def put(home: Path, name: str, benchmark: Benchmark) -> None:
    """Registers a benchmark in place of what had its name. Raises GebError for a bad name."""
    if not _NAME.fullmatch(name) or name == ASKED:
        raise GebError(
            f"'{name}' cannot name a benchmark; use letters a-z, digits, '.', '_' and '-' "
            f"(at most 64, a letter or digit first), and not '{ASKED}'"
        )
    edit(home, lambda all_: Benchmarks(benchmarks={**all_.benchmarks, name: benchmark}))


def drop(home: Path, names: Collection[str]) -> None:
    """Removes benchmarks from the file."""
    if names:
        edit(
            home,
            lambda all_: Benchmarks(
                benchmarks={n: b for n, b in all_.benchmarks.items() if n not in names}
            ),
        )
