"""Reader of PyTorch's legacy (non-zip) weight files, without torch and without running code.

Layout: three pickled headers (magic, protocol version, sizes), the pickled object whose tensors
point at storages by key, the pickled list of those keys, and then for each key an int64 count
and that many raw little-endian numbers.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray

from geb_assets.errors import GebError

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001


@dataclass(frozen=True)
class _Float32:
    """Stands for torch's float32 storage type."""


@dataclass(frozen=True)
class _Int64:
    """Stands for torch's int64 storage type."""


_DTYPES: dict[type, np.dtype[Any]] = {_Float32: np.dtype("<f4"), _Int64: np.dtype("<i8")}


@dataclass(frozen=True)
class _Tensor:
    """Where a tensor lies in its storage; strides in items."""

    storage: str
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


def _tensor(
    storage: str, offset: int, shape: tuple[int, ...], stride: tuple[int, ...], *_: object
) -> _Tensor:
    return _Tensor(storage, offset, tuple(shape), tuple(stride))


class _Restricted(pickle.Unpickler):
    """Unpickler that knows four names and nothing else."""

    _KNOWN: ClassVar[dict[tuple[str, str], Any]] = {
        ("collections", "OrderedDict"): OrderedDict,
        ("torch._utils", "_rebuild_tensor_v2"): _tensor,
        ("torch", "FloatStorage"): _Float32,
        ("torch", "LongStorage"): _Int64,
    }

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self.storages: dict[str, tuple[np.dtype[Any], int]] = {}

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self._KNOWN[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"{module}.{name} is not part of a weights file") from None

    def persistent_load(self, pid: Any) -> str:
        kind, storage_type, key, _location, count, view = pid
        if kind != "storage" or view is not None or storage_type not in _DTYPES:
            raise pickle.UnpicklingError("a storage of an unknown kind")
        self.storages[key] = (_DTYPES[storage_type], int(count))
        return str(key)


def read_legacy_pt(path: Path) -> dict[str, NDArray[Any]]:
    """The named arrays (float32 or int64) of a legacy ``.pt`` file of weights.

    Raises GebError where the file is not one, or names anything but arrays.
    """
    try:
        with path.open("rb") as file:
            if _Restricted(file).load() != _MAGIC or _Restricted(file).load() != _PROTOCOL:
                raise pickle.UnpicklingError("no legacy header")
            _Restricted(file).load()
            reader = _Restricted(file)
            tensors = reader.load()
            storages: dict[str, NDArray[Any]] = {}
            for key in _Restricted(file).load():
                dtype, count = reader.storages[key]
                (stored,) = np.frombuffer(file.read(8), "<i8")
                if stored != count:
                    raise pickle.UnpicklingError("a storage of the wrong length")
                storages[key] = np.frombuffer(file.read(count * dtype.itemsize), dtype, count)
            return {name: _view(storages[t.storage], t) for name, t in tensors.items()}
    except (pickle.UnpicklingError, EOFError, ValueError, KeyError, AttributeError) as error:
        raise GebError(
            f"{path}: not a readable weights file ({error}); delete it to have it fetched again"
        ) from error


def _view(storage: NDArray[Any], tensor: _Tensor) -> NDArray[Any]:
    """The tensor's own numbers, contiguous."""
    last = tensor.offset + sum(
        (n - 1) * s for n, s in zip(tensor.shape, tensor.stride, strict=True)
    )
    if min(tensor.shape, default=1) < 1 or not 0 <= tensor.offset <= last < storage.size:
        raise ValueError("a tensor outside its storage")
    return np.ascontiguousarray(
        np.lib.stride_tricks.as_strided(
            storage[tensor.offset :],
            tensor.shape,
            tuple(s * storage.itemsize for s in tensor.stride),
        )
    ).reshape(tensor.shape)
