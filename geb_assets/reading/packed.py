"""Many strings in two arrays, so that they can be memory-mapped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class PackedStrings:
    """Strings by place: UTF-8 bytes uint8, and int64 [n + 1] where each begins."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, strings: pl.Series) -> PackedStrings:
        """Packs a series of strings; null becomes empty."""
        plain = strings.cast(pl.String).fill_null("")
        offsets = np.zeros(len(plain) + 1, np.int64)
        np.cumsum(plain.str.len_bytes().to_numpy(), out=offsets[1:])
        joined = "".join(plain.to_list()).encode()
        return cls(np.frombuffer(joined, np.uint8), offsets)

    @classmethod
    def load(cls, arrays: Mapping[str, NDArray[np.generic]], name: str) -> PackedStrings:
        return cls(
            np.asanyarray(arrays[f"{name}.data"], np.uint8),
            np.asanyarray(arrays[f"{name}.offsets"], np.int64),
        )

    def arrays(self, name: str) -> dict[str, NDArray[np.generic]]:
        return {f"{name}.data": self.data, f"{name}.offsets": self.offsets}

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, place: int) -> str:
        return self._bytes(place).decode()

    def __iter__(self) -> Iterator[str]:
        return (self[place] for place in range(len(self)))

    def _bytes(self, place: int) -> bytes:
        return self.data[self.offsets[place] : self.offsets[place + 1]].tobytes()

    def find(self, string: str, order: NDArray[np.int64] | None = None) -> int | None:
        """Place of a string, or None; ``order`` holds the places sorted by their bytes, where the
        strings are not in that order themselves."""
        wanted = string.encode()
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._bytes(middle if order is None else int(order[middle])) < wanted:
                low = middle + 1
            else:
                high = middle
        if low == len(self):
            return None
        place = low if order is None else int(order[low])
        return place if self._bytes(place) == wanted else None
