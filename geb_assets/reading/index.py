"""A memory's index: plain arrays derived from the tables, in memory or mapped from a folder."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geb_assets.errors import GebError
from geb_assets.reading.adjacency import Adjacency, build_adjacency
from geb_assets.reading.dense import (
    Allocate,
    DenseIndex,
    VectorRows,
    build_dense,
    read_codes,
    write_codes,
)
from geb_assets.reading.documents import documents
from geb_assets.reading.entities import EntityIndex, build_entities
from geb_assets.reading.lexical import LexicalIndex, build_lexical
from geb_assets.reading.nodes import NodeIndex, build_nodes, place_nodes
from geb_assets.reading.rows import Frames
from geb_assets.reading.settings import SearchSettings
from geb_assets.reading.timeline import Timeline, build_timeline

FORMAT = 4
"""Raised whenever the same rows give other arrays."""

_FACTS = "index.json"

Groups = Mapping[str, Mapping[str, NDArray[Any]]]
"""Part of the index to its arrays by name."""


@dataclass(frozen=True, eq=False)
class Index:
    """All that a search reads. Nothing in it changes, so any number of threads may share it."""

    nodes: NodeIndex
    entities: EntityIndex
    adjacency: Adjacency
    lexical: LexicalIndex
    text: DenseIndex | None
    visual: DenseIndex | None
    timeline: Timeline

    @classmethod
    def build(
        cls, frames: Frames, text: VectorRows, visual: VectorRows, settings: SearchSettings
    ) -> Index:
        """An index in memory, of rows with the columns of :data:`rows.COLUMNS`."""
        groups, codes = _build(frames, text, visual, settings, lambda name, *of: np.zeros(*of))
        return cls._of(groups, codes, settings)

    @classmethod
    def write(
        cls,
        folder: Path,
        frames: Frames,
        text: VectorRows,
        visual: VectorRows,
        settings: SearchSettings,
        facts: Mapping[str, Any],
    ) -> None:
        """Writes an index as a folder, all of it or nothing; safe to race.

        ``facts`` say what it was made from. Raises GebError where the disk refuses.
        """
        partial = folder.with_name(f".{folder.name}.{uuid.uuid4().hex[:8]}.partial")
        try:
            partial.mkdir(parents=True)

            def allocate(name: str, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
                return np.lib.format.open_memmap(
                    partial / f"{name}.npy", mode="w+", dtype=dtype, shape=shape
                )

            groups, codes = _build(frames, text, visual, settings, allocate)
            for group, arrays in groups.items():
                for name, array in arrays.items():
                    if isinstance(array, np.memmap):
                        array.flush()
                    else:
                        np.save(partial / f"{group}.{name}.npy", array)
            for group, found in codes.items():
                write_codes(found, partial / f"{group}.codes")
            (partial / _FACTS).write_text(json.dumps({"format": FORMAT, **facts}), encoding="utf-8")
            os.rename(partial, folder)
        except OSError as error:
            # Another process may have written the same index meanwhile.
            if not (folder / _FACTS).is_file():
                raise GebError(
                    f"the search index could not be written under {folder.parent}: "
                    f"{error.strerror}; free some space or mend the permissions"
                ) from error
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    @classmethod
    def open(cls, folder: Path, settings: SearchSettings) -> Index:
        """Maps an index from its folder; pages are read when a search first needs them."""
        groups: dict[str, dict[str, NDArray[Any]]] = {}
        for path in folder.glob("*.npy"):
            group, name = path.stem.split(".", 1)
            groups.setdefault(group, {})[name] = np.load(path, mmap_mode="r").view(np.ndarray)
        codes = {path.stem: read_codes(path) for path in folder.glob("*.codes")}
        return cls._of(groups, codes, settings)

    @classmethod
    def _of(cls, groups: Groups, codes: Mapping[str, Any], settings: SearchSettings) -> Index:
        dense = {
            name: DenseIndex(
                groups[name]["vectors"],
                groups[name]["from_s"],
                groups[name]["place"],
                float(groups[name]["error"][0]),
                found,
            )
            for name, found in codes.items()
        }
        return cls(
            NodeIndex.of(groups["nodes"]),
            EntityIndex.of(groups["entities"]),
            Adjacency.of(groups["adjacency"]),
            LexicalIndex.of(
                groups["lexical"],
                k1=settings.k1,
                b=settings.b,
                epsilon=settings.epsilon,
                tokens=settings.tokens,
            ),
            dense.get("text"),
            dense.get("visual"),
            Timeline(**groups["timeline"]),
        )


def facts_of(folder: Path) -> dict[str, Any] | None:
    """What an index was made from, or None where there is no whole index of this format."""
    try:
        facts: dict[str, Any] = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return facts if facts.get("format") == FORMAT else None


def _build(
    frames: Frames,
    text: VectorRows,
    visual: VectorRows,
    settings: SearchSettings,
    allocate: Allocate,
) -> tuple[dict[str, dict[str, NDArray[Any]]], dict[str, Any]]:
    placed = place_nodes(frames["graph_nodes"])
    docs = documents(placed, frames)
    groups: dict[str, dict[str, NDArray[Any]]] = {}
    codes: dict[str, Any] = {}
    for name, rows in (("text", text), ("visual", visual)):
        built = build_dense(
            placed, rows, lambda array, *of, name=name: allocate(f"{name}.{array}", *of)
        )
        if built is not None:
            groups[name], codes[name] = built
    text_places = groups["text"]["place"] if "text" in groups else np.zeros(0, np.int64)
    groups["nodes"] = build_nodes(placed, docs, text_places, frames)
    groups["entities"] = build_entities(placed, frames)
    groups["adjacency"] = build_adjacency(placed, frames["graph_edges"])
    groups["timeline"] = build_timeline(
        groups["nodes"], groups.get("text"), lambda array, *of: allocate(f"timeline.{array}", *of)
    )
    groups["lexical"] = build_lexical(docs, settings.tokens)
    return groups, codes
