"""Which observations are one entity, and which were proven different, as of t."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from geb_assets.reading.packed import PackedStrings
from geb_assets.reading.rows import Frames

Places = NDArray[np.int64]


def build_entities(placed: pl.DataFrame, frames: Frames) -> dict[str, NDArray[Any]]:
    """Arrays of an :class:`EntityIndex`. ``placed``: :func:`nodes.place_nodes`."""
    count = placed.height
    own = frames["memberships"]
    if "visible_from" not in own.columns:
        own = own.with_columns(visible_from=pl.lit(float("-inf")))
    members = own.join(
        placed.select("id", "place", "start_s", "end_s", node_from="visible_from"),
        left_on="observation",
        right_on="id",
    )
    names = members["entity"].unique().sort()
    members = members.with_columns(
        code=pl.Series(names.search_sorted(members["entity"]), dtype=pl.Int64)
    ).sort("code", "start_s", "end_s", "observation")
    place, code = members["place"].to_numpy(), members["code"].to_numpy()
    # An observation that belongs to nobody is an entity of its own.
    key = np.arange(count, dtype=np.int64) + len(names)
    key[place] = code
    late = members.filter(pl.col("visible_from") > pl.col("node_from")).sort("place")
    pairs = frames["separations"].join(
        placed.select("place", "id", first_from="visible_from"), left_on="earlier", right_on="id"
    )
    pairs = pairs.join(
        placed.select("id", other="place", second_from="visible_from"),
        left_on="later",
        right_on="id",
    ).with_columns(visible_from=pl.max_horizontal("visible_from", "first_from", "second_from"))
    both = pl.concat(
        [
            pairs.select("place", "other", "visible_from"),
            pairs.select(place="other", other="place", visible_from="visible_from"),
        ]
    ).sort("place", "other")
    return {
        **PackedStrings.of(names).arrays("names"),
        "members": place,
        "member_starts": np.searchsorted(code, np.arange(len(names) + 1)).astype(np.int64),
        "key": key,
        "late": late["place"].to_numpy(),
        "late_from": late["visible_from"].to_numpy(),
        "apart_starts": np.searchsorted(both["place"], np.arange(count + 1)).astype(np.int64),
        "apart": both["other"].to_numpy(),
        "apart_from": both["visible_from"].to_numpy(),
    }


@dataclass(frozen=True, eq=False)
class EntityIndex:
    """Entities by code (in order of id); observations by place of their node."""

    names: PackedStrings
    members: Places
    """Observations entity by entity, each in time order."""
    member_starts: NDArray[np.int64]
    key: Places
    """Which observations are one entity's: its code, or a number of its own."""
    late: Places
    """Observations that join their entity only after they are visible."""
    late_from: NDArray[np.float64]
    apart_starts: NDArray[np.int64]
    apart: Places
    """Observations proven different from each observation."""
    apart_from: NDArray[np.float64]

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> EntityIndex:
        rest = {name: array for name, array in arrays.items() if "." not in name}
        return cls(names=PackedStrings.load(arrays, "names"), **rest)

    def keys_at(self, at: float) -> Places:
        """``key`` as of t."""
        waiting = self.late[self.late_from > at]
        if not len(waiting):
            return self.key
        keys = np.array(self.key)
        keys[waiting] = waiting + len(self.names)
        return keys

    def entity_of(self, place: int, at: float) -> str | None:
        """The entity that an observation belongs to at t, if any."""
        key = int(self.key[place])
        if key >= len(self.names):
            return None
        found = int(np.searchsorted(self.late, place))
        if found < len(self.late) and self.late[found] == place and self.late_from[found] > at:
            return None
        return self.names[key]

    def members_at(self, code: int, visible: int, keys: Places) -> Places:
        """Observations of an entity among the first ``visible`` nodes, in time order."""
        own = self.members[self.member_starts[code] : self.member_starts[code + 1]]
        return np.asarray(own[(own < visible) & (keys[own] == code)])

    def apart_at(self, place: int, at: float) -> Places:
        """Observations proven different from one, as of t."""
        span = slice(int(self.apart_starts[place]), int(self.apart_starts[place + 1]))
        return np.asarray(self.apart[span][self.apart_from[span] <= at])
