"""What the adapters on torch share: the extra's imports, devices, weights, and batches that fit.

Nothing here imports torch before a model is used.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geb_assets.errors import GebError

_MIB = 1 << 20
_KEPT = 2
_LOADED: dict[tuple[str, ...], Any] = {}
"""Models on their devices, the least lately used first."""
_LOADING = Lock()


def vision(module: str) -> Any:
    """A module of the extra ``vision``. Raises GebError where the extra is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = error.name or module
        raise GebError(
            f"'{name.split('.')[0]}' is not installed, and this profile needs it; "
            "install the extra 'vision' (pip install 'grounded-entity-biographies[vision]'), "
            "or run: geb use embedded"
        ) from None


def usable_device(device: str, role: str) -> str:
    """The device as given. Raises GebError where this machine does not have it."""
    torch = vision("torch")
    kind, _, number = device.partition(":")
    mend = f"set {role}.device with geb use, or run where there is one"
    if kind == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if int(number or 0) >= count:
            there = f"{count} GPUs" if count else "no GPU"
            raise GebError(f"{role}: asks for {device}, and torch sees {there} here; {mend}")
    elif kind == "mps" and not torch.backends.mps.is_available():
        raise GebError(f"{role}: asks for mps, and this machine has none; {mend}")
    return device


def digest_of(weights: str) -> str:
    """sha256 of a weights file, in hex; of a folder, one digest over what tells its files apart.

    Of each weights and configuration file in a folder that is its name, its size, and its first
    and last MiB: reading 16 GB for every plan would take longer than the plan. Empty for a name
    that is no path here, which the library fetches: its revision says what it is.
    """
    path = Path(weights)
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.suffix in (".safetensors", ".bin", ".json"))
        return _folder_digest(
            tuple((str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in files)
        )
    if path.is_file():
        stat = path.stat()
        return _file_digest(str(path), stat.st_size, stat.st_mtime_ns)
    return ""


@lru_cache(maxsize=64)
def _file_digest(path: str, size: int, mtime_ns: int) -> str:
    """Size and time only tell a file that was replaced while this process runs."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


@lru_cache(maxsize=64)
def _folder_digest(files: tuple[tuple[str, int, int], ...]) -> str:
    digest = hashlib.sha256()
    for path, size, _ in files:
        with open(path, "rb") as handle:
            head = handle.read(_MIB)
            handle.seek(max(size - _MIB, 0))
            tail = handle.read(_MIB)
        for part in (Path(path).name.encode(), str(size).encode(), head, tail):
            digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()


def pretrained(kind: str, name: str, revision: str, role: str, **options: Any) -> Any:
    """A transformers object (``kind``, the class's name) of a folder or of the hub.

    Raises GebError where there is no such model, or where its files are another model's: weights
    that are missing would otherwise be drawn at random.
    """
    transformers = vision("transformers")
    # What is wrong with a model is said below; downloads keep the hub's own progress.
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    mend = f"set {role}.model with geb use to a model of the hub or a folder"
    wants_weights = kind.endswith(("Model", "WithProjection"))
    if wants_weights:
        options["output_loading_info"] = True
    try:
        made = getattr(transformers, kind).from_pretrained(name, revision=revision, **options)
    except OSError as error:
        raise GebError(
            f"{role}: '{name}' (revision {revision}) is neither a folder with this model nor to be "
            f"had from the hub ({_first_line(error)}); {mend}"
        ) from None
    except (ValueError, KeyError, RuntimeError) as error:
        raise GebError(
            f"{role}: '{name}' cannot be read as {kind} ({_first_line(error)}); {mend}"
        ) from None
    if not wants_weights:
        return made
    model, found = made
    if found["missing_keys"] or found.get("mismatched_keys"):
        lacking = len(found["missing_keys"]) + len(found.get("mismatched_keys") or ())
        raise GebError(
            f"{role}: the weights in '{name}' are another model's: {lacking} tensors of {kind} are "
            f"not in them; {mend}"
        )
    return model


def on_device(kind: str, name: str, revision: str, precision: str, device: str, role: str) -> Any:
    """A model ready to run, shared by all adapters of this process that ask for the same one.

    The last ``_KEPT`` stay on the device: a partition need not load again what the one before it
    loaded, and a stage's models make way for those of the next.
    Raises GebError as `usable_device` and `pretrained` do.
    """
    key = (kind, name, revision, precision, device)
    with _LOADING:
        model = _LOADED.pop(key, None)
        if model is None:
            usable_device(device, role)
            while len(_LOADED) >= _KEPT:
                _LOADED.pop(next(iter(_LOADED)))
            dtype = getattr(vision("torch"), precision)
            model = pretrained(kind, name, revision, role, dtype=dtype).to(device).eval()
        _LOADED[key] = model
    return model


def checked_kind(name: str, revision: str, kind: str, role: str) -> Any:
    """The model's configuration. Raises GebError where it is of another kind of model."""
    config = pretrained("AutoConfig", name, revision, role)
    if config.model_type != kind:
        raise GebError(
            f"{role}: '{name}' is a {config.model_type} model, and this adapter runs {kind}; "
            f"set {role}.model with geb use"
        )
    return config


def batches(sizes: Sequence[int], most: int) -> list[list[int]]:
    """Places in batches of at most ``most``, padding counted: a batch's longest times its number.

    Like sizes lie together, the longest first, so that a batch that does not fit shows at once. A
    longer one than ``most`` is a batch of its own.
    """
    made: list[list[int]] = []
    for place in sorted(range(len(sizes)), key=lambda place: (-sizes[place], place)):
        if made and sizes[made[-1][0]] * (len(made[-1]) + 1) <= most:
            made[-1].append(place)
        else:
            made.append([place])
    return made


def in_batches(
    waiting: Sequence[Sequence[int]],
    run: Callable[[Sequence[int]], Sequence[Any]],
    *,
    role: str,
    option: str,
) -> list[Any]:
    """What ``run`` makes of each place, by place, a batch at a time.

    When memory does not suffice, batches are halved, once. Raises GebError naming the role's
    ``option`` to lower where that does not suffice either.
    """
    torch = vision("torch")
    queue, halved = [list(batch) for batch in waiting], False
    found: dict[int, Any] = {}
    while queue:
        batch = queue.pop(0)
        try:
            found.update(zip(batch, run(batch), strict=True))
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            if halved or len(batch) == 1:
                raise GebError(
                    f"{role}: out of memory with a batch of {len(batch)}"
                    f"{', halved already' if halved else ''}; lower {role}.{option} with geb use, "
                    "or choose a device with more memory"
                ) from None
            halved = True
            queue = [part for whole in (batch, *queue) for part in _halves(whole)]
    return [found[place] for place in sorted(found)]


def _halves(batch: list[int]) -> list[list[int]]:
    middle = (len(batch) + 1) // 2
    return [part for part in (batch[:middle], batch[middle:]) if part]


def rows_of(tensor: Any, dimension: int | None = None) -> NDArray[np.float32]:
    """Unit rows float32 ``[n, D]`` of a tensor, cut to their first ``dimension`` numbers first."""
    functional = vision("torch.nn.functional")
    kept = tensor.float() if dimension is None else tensor.float()[:, :dimension]
    return np.asarray(functional.normalize(kept, dim=1).cpu().numpy(), np.float32)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
