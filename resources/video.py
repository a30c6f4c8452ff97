"""Video files: what they hold, and their frames by timestamp (PyAV)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from geb_assets.errors import GebError
from resources.images import Image

SHORTEST_S = 2.0
"""A shorter video holds no encounter: one has to be visible for two seconds (paper appendix A)."""
_CUT_OFF_S = 1.0
_CHUNK = 1 << 24


@dataclass(frozen=True)
class VideoFacts:
    """What a file really holds, counted packet by packet: headers lie."""

    duration_s: float
    """First frame to the end of the last one, s."""
    frames: int
    width: int
    """After rotation, px."""
    height: int


def probe(path: Path) -> VideoFacts:
    """Reads a video file through without decoding more than its first frame.

    Raises GebError, naming the file and the mend, where it is missing, empty, no video, cut off,
    or shorter than two seconds.
    """
    import av

    if not path.exists():
        raise GebError(f"{path} does not exist; check the path")
    if path.is_dir():
        raise GebError(f"{path} is a folder; name the video files in it")
    if path.stat().st_size == 0:
        raise GebError(f"{path} is empty; copy it again")
    try:
        with av.open(str(path)) as container:
            stream = _video_stream(container, path)
            base = stream.time_base
            claimed = float(container.duration / av.time_base) if container.duration else 0.0
            first = next(container.decode(stream), None)
            if first is None:
                raise GebError(f"{path} holds no frame that can be decoded; copy it again")
            picture = _upright(first)
            container.seek(0)
            times: list[int] = []
            last_length = 0
            for packet in container.demux(stream):
                if packet.pts is not None and not packet.is_discard:
                    times.append(packet.pts)
                    last_length = packet.duration or last_length
    except PermissionError:
        raise GebError(f"{path} cannot be read; mend its permissions") from None
    except (av.error.FFmpegError, OSError) as error:
        reason = getattr(error, "strerror", None) or error
        raise GebError(
            f"{path} is no readable video ({reason}); it may be cut off or of another kind: "
            "copy it again or convert it to MP4"
        ) from None
    duration = float((max(times) - min(times) + last_length) * base)
    if claimed - duration > max(_CUT_OFF_S, 0.02 * claimed) and _ends_early(path):
        raise GebError(
            f"{path} ends after {duration:.1f} s though its header says {claimed:.1f} s: it is cut "
            "off; copy it again, or remux what is there"
        )
    if duration < SHORTEST_S or len(times) < 2:
        raise GebError(
            f"{path} lasts {duration:.2f} s ({len(times)} frames); "
            f"an encounter takes {SHORTEST_S:.0f} s, so give a longer video"
        )
    height, width = picture.shape[:2]
    return VideoFacts(duration, len(times), width, height)


def _ends_early(path: Path) -> bool:
    """Whether no stream of the file reaches the end that its header claims."""
    import av

    with av.open(str(path)) as container:
        claimed = float((container.duration or 0) / av.time_base)
        reached = 0.0
        for packet in container.demux():
            if packet.pts is not None and packet.time_base:
                reached = max(
                    reached,
                    float((packet.pts + (packet.duration or 0)) * packet.time_base),
                )
        start = float(container.start_time / av.time_base) if container.start_time else 0.0
        if "matroska" in container.format.name:
            start = 0.0  # its header tells the last timestamp, not a length
    return claimed - (reached - start) > max(_CUT_OFF_S, 0.02 * claimed)


def _video_stream(container: Any, path: Path) -> Any:
    """The file's first moving picture; a cover picture of an audio file does not count."""
    for stream in container.streams.video:
        if not stream.disposition & type(stream.disposition).attached_pic:
            return stream
    raise GebError(f"{path} has no video in it, only sound; give the file that holds the pictures")


@dataclass(frozen=True)
class TimedFrame:
    """One decoded frame and its time since the file's first frame, s."""

    time_s: float
    read: Callable[[], Image]
    """Converts it to BGR, upright; costs more than passing it by."""


def frames(
    path: Path,
    start_s: float,
    end_s: float,
    *,
    held: Callable[[float], None] = lambda time_s: None,
) -> Iterator[TimedFrame]:
    """Frames of a file with ``start_s <= time < end_s``, in order, but for what cannot be decoded.

    Times come from the frames' own timestamps, counted from the file's first frame. ``held`` is
    told the time of every frame that the file holds, decodable or not, before it is given out.
    Raises GebError where the file cannot be opened or the frame size changes.
    """
    import av

    try:
        container = av.open(str(path))
    except (av.error.FFmpegError, OSError) as error:
        reason = getattr(error, "strerror", None) or error
        raise GebError(f"{path} cannot be opened ({reason}); put it back or add it again") from None
    with container:
        stream = _video_stream(container, path)
        stream.thread_type = "AUTO"
        base = float(stream.time_base)
        origin = _first_pts(path)
        if start_s > 0:
            container.seek(max(0, int((start_s - 1.0) / base) + origin), stream=stream)
        size: tuple[int, int] | None = None
        for frame in _decoded(container, stream, lambda pts: held((pts - origin) * base)):
            if frame.pts is None:
                continue
            time_s = (frame.pts - origin) * base
            if size is None:
                size = (frame.width, frame.height)
            if (frame.width, frame.height) != size:
                raise GebError(
                    f"{path} changes its frame size from {size[0]}x{size[1]} to "
                    f"{frame.width}x{frame.height} at {time_s:.1f} s; re-encode it to one size"
                )
            if time_s >= end_s:
                return
            if time_s >= start_s:
                yield TimedFrame(time_s, lambda frame=frame: _upright(frame))  # type: ignore[misc]


def _first_pts(path: Path) -> int:
    """The smallest timestamp of the file's first frames; a file need not start at 0."""
    import av

    with av.open(str(path)) as container:
        stream = _video_stream(container, path)
        first: list[int] = []
        for packet in container.demux(stream):
            # Frames that lead up to a cut are in the file, but are not shown.
            if packet.pts is not None and not packet.is_discard:
                first.append(packet.pts)
            if len(first) == 32:  # more than any reordering reaches
                break
    return min(first, default=0)


def _decoded(container: Any, stream: Any, held: Callable[[int], None]) -> Iterator[Any]:
    """Decoded frames; what cannot be read or decoded is passed over.

    After a loss the decoder makes pictures up until the next key frame: those are left out too.
    """
    import av

    packets = container.demux(stream)
    damaged = False
    while True:
        try:
            packet = next(packets)
        except (StopIteration, av.error.EOFError, av.error.InvalidDataError):
            return
        if packet.pts is not None and not packet.is_discard:
            held(packet.pts)
        try:
            for frame in packet.decode():
                if frame.is_corrupt:
                    damaged = True
                elif frame.key_frame:
                    damaged = False
                if not damaged:
                    yield frame
        except av.error.FFmpegError:
            damaged = True


def _upright(frame: Any) -> Image:
    """The frame as BGR with its rotation metadata applied."""
    picture = np.asarray(frame.to_ndarray(format="bgr24"), np.uint8)
    turns = round(frame.rotation / 90) % 4
    return np.ascontiguousarray(np.rot90(picture, turns)) if turns else picture


def file_digest(
    path: Path, progress: Callable[[str, int, int], None] = lambda what, done, total: None
) -> str:
    """Content digest of a file, or of a folder's files by name."""
    digest = hashlib.blake2b(digest_size=16)
    parts = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    total = sum(part.stat().st_size for part in parts)
    done = 0
    for part in parts:
        if path.is_dir():
            digest.update(str(part.relative_to(path)).encode())
        with part.open("rb") as handle:
            while chunk := handle.read(_CHUNK):
                digest.update(chunk)
                done += len(chunk)
                progress(f"reading {path.name}", done, total)
    return digest.hexdigest()
