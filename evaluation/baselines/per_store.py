"""Each store searched by itself, as WorldMM does (spec 8): captions by scale, clips by pictures.

Of the captions the nearest 10, 5, 5 and 3 of the four scales are candidates and 3 are kept, by
their cosine: what that system asks a model to rank falls back to the scores. Of the clips the
nearest 3 are kept where the memory has clip vectors. There is no graph between the stores. Its
third store, of triples, needs a chat model to write it, and is not here.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from evaluation.baselines.otherwise import Otherwise
from geb_assets.reading.units import Unit

CANDIDATES = {"30sec": 10, "3min": 5, "10min": 5, "1h": 3}
KEPT_EPISODES = 3
KEPT_CLIPS = 3


class PerStore(Otherwise):
    """The same memory, its stores searched one by one."""

    def search(
        self,
        query: str,
        *,
        at: float | None = None,
        exclude: Collection[str] = (),
        budget: Any = None,
    ) -> list[Unit]:
        asked = self.memory.encode(query)
        found: list[Unit] = []
        index = self.memory.index
        if index.text is not None and asked.text_vector is not None:
            units = self._nearest(index.text, asked.text_vector, at, exclude)
            left = dict(CANDIDATES)
            for unit in units:
                if unit.scale in left and left[unit.scale] > 0:
                    left[unit.scale] -= 1
                    found.append(unit)
            found = found[:KEPT_EPISODES]
        if index.visual is not None and asked.visual_vector is not None:
            clips = self._nearest(index.visual, asked.visual_vector, at, exclude)
            found += [unit for unit in clips if unit.kind == "clip"][:KEPT_CLIPS]
        return found

    def _nearest(
        self, store: Any, vector: Any, at: float | None, exclude: Collection[str]
    ) -> list[Unit]:
        """Units of one store that were not returned before, nearest first."""
        when = np.inf if at is None else float(at)
        rows, cosines = store.top(vector, len(store.place), when)
        order = np.argsort(-cosines, kind="stable")
        excluded = set(exclude)
        units = (
            replace(
                self.memory.unit_at(int(store.place[rows[one]]), at=at), score=float(cosines[one])
            )
            for one in order.tolist()
        )
        return [unit for unit in units if unit.id not in excluded]
