"""Sampled frames of a clip on disk, so that video is decoded once and read at random after."""

from __future__ import annotations

import os
import time
import zipfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from resources.images import Image

JPEG_QUALITY = 95
"""Of a working frame: what every stage sees of the video."""

_PARTIAL = ".partial"
_ABANDONED_S = 3600.0
_AHEAD = 4
"""Frames decoded before they are asked for."""

Mode = Literal["colour", "gray half"]
_MODES: Mapping[Mode, int] = {
    "colour": cv2.IMREAD_COLOR,
    "gray half": cv2.IMREAD_REDUCED_GRAYSCALE_2,
}


class KeptClip:
    """The frames of one clip, read at random."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    @property
    def times(self) -> dict[int, float]:
        """Frame number to time, s, ascending."""
        return {int(Path(e.filename).stem): float(e.comment) for e in self._archive.infolist()}

    def one(self, number: int, mode: Mode = "colour") -> NDArray[np.uint8]:
        """The frame of this number: BGR at full size, or gray at half size."""
        return decode_jpeg(self._archive.read(f"{number:06d}.jpg"), mode)

    def read(self, numbers: Iterable[int], mode: Mode = "colour") -> Iterator[NDArray[np.uint8]]:
        """The frames of these numbers, in order, decoded while the caller works on those before."""
        with ThreadPoolExecutor(1) as pool:
            ahead: deque[Future[NDArray[np.uint8]]] = deque()
            for number in numbers:
                ahead.append(pool.submit(self.one, number, mode))
                if len(ahead) > _AHEAD:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()


@dataclass(frozen=True)
class FrameCache:
    """One stored-zip of JPEG frames a clip, under one folder a segment, the oldest dropped first.

    What is dropped is decoded again when it is asked for.
    """

    folder: Path
    limit_bytes: float

    def has(self, key: str, clip: str) -> bool:
        return self._path(key, clip).exists()

    def put(self, key: str, clip: str, frames: Iterable[tuple[int, float, bytes]]) -> None:
        """Keeps a clip's frames (number, time in s, JPEG bytes): all of them, or none."""
        path = self._path(key, clip)
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}{_PARTIAL}")
        try:
            with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
                for number, time_s, jpeg in frames:
                    entry = zipfile.ZipInfo(f"{number:06d}.jpg")
                    entry.comment = repr(time_s).encode()
                    archive.writestr(entry, jpeg)
            partial.rename(path)
        finally:
            partial.unlink(missing_ok=True)

    def open(self, key: str, clip: str) -> KeptClip:
        """A kept clip for reading; it stays readable where the cache drops it meanwhile."""
        return KeptClip(zipfile.ZipFile(self._path(key, clip)))

    def trim(self, keep: str) -> None:
        """Drops the least recently written segments until the folder is within its limit."""
        if not self.folder.exists():
            return
        for path in self.folder.glob(f"*/*{_PARTIAL}"):  # of runs that were killed
            if time.time() - path.stat().st_mtime > _ABANDONED_S:
                path.unlink(missing_ok=True)
        clips = [path for path in self.folder.glob("*/*.zip") if path.parent.name != _safe(keep)]
        sizes = {path: path.stat() for path in clips if path.exists()}
        kept = sum(p.stat().st_size for p in self.folder.glob(f"{_safe(keep)}/*"))
        total = kept + sum(stat.st_size for stat in sizes.values())
        for path in sorted(sizes, key=lambda path: sizes[path].st_mtime_ns):
            if total <= self.limit_bytes:
                return
            total -= sizes[path].st_size
            path.unlink(missing_ok=True)

    def _path(self, key: str, clip: str) -> Path:
        return self.folder / _safe(key) / f"{_safe(clip.rsplit('/', 1)[-1])}.zip"


def _safe(name: str) -> str:
    return name.replace("/", "~").replace(":", "")


def encode_jpeg(image: Image, quality: int) -> bytes:
    """JPEG bytes of a picture."""
    done, buffer = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not done:
        raise ValueError(f"cannot encode a picture of shape {image.shape}")
    return buffer.tobytes()


def decode_jpeg(jpeg: bytes, mode: Mode = "colour") -> NDArray[np.uint8]:
    """BGR ``[H, W, 3]``, or gray ``[H/2, W/2]``."""
    return np.asarray(cv2.imdecode(np.frombuffer(jpeg, np.uint8), _MODES[mode]), np.uint8)


def jpeg_size(jpeg: bytes) -> tuple[int, int] | None:
    """Width and height as the header says them, px, without decoding; None for no JPEG."""
    place = 2 if jpeg[:2] == b"\xff\xd8" else len(jpeg)
    while place + 9 <= len(jpeg) and jpeg[place] == 0xFF:
        marker = jpeg[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = (int.from_bytes(jpeg[place + at : place + at + 2]) for at in (5, 7))
            return width, height
        place += 2 + int.from_bytes(jpeg[place + 2 : place + 4])
    return None


def fit(image: Image, side: int) -> Image:
    """The picture shrunk so that its long side is at most ``side``."""
    height, width = image.shape[:2]
    longest = max(height, width)
    if longest <= side:
        return image
    size = (
        max(1, round(width * side / longest)),
        max(1, round(height * side / longest)),
    )
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
