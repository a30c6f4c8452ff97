"""A memory small enough to read, for the loop's tests: plain rows, search by shared words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from geb_assets.clock import Clock
from geb_assets.reading.units import APPEARANCES, CHAINS, Frame, Unit
from geb_assets.reading.words import content_words

EGO = Clock.parse("egolife")


def episode(start: str, text: str, *, scale: str = "30sec", length: float = 30.0) -> Unit:
    at = EGO.seconds(start)
    return Unit("episode", f"{scale}/{start}", at, at + length, 0.0, text, scale=scale)


def clip(start: str) -> Unit:
    at = EGO.seconds(start)
    return Unit("clip", f"clip/{start}", at, at + 30.0, 0.0, "")


def sighting(start: str, entity: int, text: str, *, length: float = 10.0) -> Unit:
    at = EGO.seconds(start)
    return Unit(
        "observation", f"obs/{start}/{entity}", at, at + length, 0.0, text,
        entity=f"ego/e{entity:06d}",
    )  # fmt: skip


@dataclass
class TinyMemory:
    """Implements :class:`geb_assets.reading.units.SearchedMemory`."""

    units: Sequence[Unit]
    names: dict[str, str] = field(default_factory=dict)
    """Entity to object name."""
    apart: set[frozenset[str]] = field(default_factory=set)
    facts: Sequence[tuple[Any, ...]] = ()
    per_search: int = 3
    searches: list[str] = field(default_factory=list)
    recording: str = "ego"
    clock: Clock = EGO

    @property
    def span(self) -> tuple[float, float]:
        return min(u.start_s for u in self.units), max(u.end_s for u in self.units)

    def _visible(self, at: float | None) -> list[Unit]:
        return [unit for unit in self.units if at is None or unit.end_s <= at]

    def search(
        self,
        query: str,
        *,
        at: float | None = None,
        exclude: Collection[str] = (),
        budget: Any = None,
    ) -> list[Unit]:
        self.searches.append(query)
        wanted = set(content_words(query))
        scored = [
            (len(wanted & set(content_words(unit.text))), unit)
            for unit in self._visible(at)
            if unit.id not in set(exclude)
        ]
        found = sorted((s for s in scored if s[0]), key=lambda s: (-s[0], s[1].start_s))
        return [
            Unit(u.kind, u.id, u.start_s, u.end_s, float(score), u.text, u.entity, u.scale)
            for score, u in found[: self.per_search]
        ]

    def read_out(
        self, start_s: float, end_s: float, *, at: float | None = None, entities: Collection[str]
    ) -> list[Unit]:
        return [
            unit
            for unit in sorted(self._visible(at), key=lambda unit: unit.start_s)
            if unit.start_s <= end_s
            and unit.end_s > start_s
            and (unit.entity in set(entities) or unit.kind == "clip" or unit.scale == "30sec")
        ]

    def appearances(self, entities: Sequence[str], *, at: float | None = None) -> pl.DataFrame:
        return pl.DataFrame(
            [
                (
                    u.entity, u.id, u.start_s, u.end_s, u.end_s, "thing", u.end_s,
                    self.names[u.entity or ""], u.text,
                )
                for u in sorted(self._visible(at), key=lambda unit: unit.start_s)
                if u.entity in set(entities)
            ],
            schema=APPEARANCES,
            orient="row",
        )  # fmt: skip

    def cast_names(self, entities: Sequence[str], *, at: float | None = None) -> dict[str, str]:
        return {}

    def separated(self, entities: Sequence[str], *, at: float | None = None) -> set[frozenset[str]]:
        return {pair for pair in self.apart if pair <= set(entities)}

    def chains(self, *, at: float | None = None) -> pl.DataFrame:
        table = pl.DataFrame(self.facts, schema=CHAINS, orient="row")
        return table if at is None else table.filter(pl.col("visible_from") <= at)

    def frames(self, clip: str, *, at: float | None = None) -> list[Frame]:
        [unit] = [unit for unit in self.units if unit.id == clip]
        return [Frame(clip, unit.start_s + second, b"jpeg") for second in range(30)]


def words_embedder() -> Any:
    """Deterministic vectors from words: texts that share stems are near."""

    class Hashed:
        def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
            rows = np.zeros((len(texts), 512), np.float32)
            for row, text in zip(rows, texts, strict=True):
                for word in content_words(text) or ["-"]:
                    row[sum(ord(c) * 31**n for n, c in enumerate(word)) % 512] += 1
            return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    return Hashed()
