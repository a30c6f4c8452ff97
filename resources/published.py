"""What is known of the models that libraries fetch: size, licence, and whether they are here.

Nothing is fetched by this package: ultralytics and transformers fetch a model when it is first
used, into the models folder and the hub's cache.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Published:
    """One published model."""

    size: int
    """Bytes to download, about: parameters times the bytes of each."""
    licence: str


_APACHE, _AGPL = "Apache-2.0", "AGPL-3.0, or ultralytics' enterprise licence"
PUBLISHED = {
    "yoloe-26x-seg-pf.pt": Published(167_000_000, _AGPL),
    "openai/clip-vit-base-patch32": Published(605_000_000, "MIT (OpenAI's repository)"),
    "facebook/dinov2-giant": Published(4_550_000_000, _APACHE),
    "facebook/dinov2-base": Published(346_000_000, _APACHE),
    "Qwen/Qwen3-Embedding-4B": Published(8_050_000_000, _APACHE),
    "Qwen/Qwen3-Embedding-0.6B": Published(1_190_000_000, _APACHE),
    "Qwen/Qwen3-VL-Embedding-8B": Published(16_300_000_000, _APACHE),
    "Qwen/Qwen3-VL-Embedding-2B": Published(4_260_000_000, _APACHE),
}
"""Name, as an option gives it, to what is known; of another model nothing is."""


def library_of(name: str) -> str:
    """The library that fetches a model of this name; empty for a path."""
    if Path(name).is_absolute() or Path(name).exists():
        return ""
    return "transformers" if "/" in name else "ultralytics"


def is_here(name: str, models: Path) -> bool:
    """Whether the weights are on this machine, by their place: nothing is opened."""
    if Path(name).exists():
        return True
    if library_of(name) == "ultralytics":
        return (models / name).is_file()
    snapshots = hub_cache() / f"models--{name.replace('/', '--')}" / "snapshots"
    return any(snapshots.glob("*/*.safetensors")) or any(snapshots.glob("*/*.bin"))


def hub_cache() -> Path:
    """Where the Hugging Face libraries keep what they fetch."""
    given = os.environ.get("HF_HUB_CACHE")
    root = os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface"
    return Path(given) if given else Path(root) / "hub"
