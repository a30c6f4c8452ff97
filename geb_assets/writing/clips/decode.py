"""Decodes files once and samples their frames clip by clip."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from geb_assets.errors import GebError
from geb_assets.registry import Recording, Video, segment_span
from geb_assets.writing.clips.grid import ClipSpan, Span, clip_spans, first_tick, tick
from geb_assets.writing.clips.motion import displacement, shrink
from resources.frames import JPEG_QUALITY, encode_jpeg, fit
from resources.images import Image
from resources.video import frames as video_frames


@dataclass(frozen=True)
class Sampling:
    """How frames are sampled and stored."""

    grid_s: int
    """Clip length, s."""
    fps: float
    """Most frames sampled per second."""
    side: int = 768
    """Long side of a stored frame, px."""
    quality: int = 90
    """JPEG quality of a stored frame."""


def segment_clips(
    name: str, recording: Recording, segment: str, clip_seconds: int
) -> list[ClipSpan]:
    """The clips of a segment, in time order."""
    files = [Span(i, video.start_s, video.end_s) for i, video in enumerate(recording.videos)]
    return clip_spans(name, files, clip_seconds, segment_span(segment))


def effective_fps(video: Video, sample_fps: float) -> float:
    """Frames sampled per second: never more than the file has."""
    return min(sample_fps, video.frames / video.duration_s)


@dataclass
class SampledClip:
    """A clip and its sampled frames, encoded in the background while more come in."""

    span: ClipSpan
    fps: float
    jpegs: list[tuple[int, float, Future[bytes]]] = field(default_factory=list)
    stored: list[tuple[int, float, Future[tuple[int, int, bytes]]]] = field(default_factory=list)
    moves: list[float] = field(default_factory=list)
    held: set[int] = field(default_factory=set)
    """Ticks at which the file holds a frame, decodable or not."""
    size: tuple[int, int] = (0, 0)
    before: NDArray[np.float32] | None = None

    @property
    def expected(self) -> int:
        """Frames that are sampled at least where all that the file holds can be decoded."""
        first, end = self.span.start_s * self.fps - 1e-3, self.span.end_s * self.fps + 1e-3
        ticks = sum(first <= place and place + 1 <= end for place in self.held)
        # A stretch without a single frame counts as lost, however slow the file.
        return ticks or int(end - first >= 1)

    @property
    def digest(self) -> str:
        """Of the sampled frames' numbers and JPEG bytes."""
        digest = hashlib.sha256()
        for number, _, jpeg in self.encoded():
            digest.update(number.to_bytes(4, "big"))
            digest.update(jpeg)
        return digest.hexdigest()[:32]

    def encoded(self) -> Iterator[tuple[int, float, bytes]]:
        """Number, time and JPEG bytes of each sampled frame."""
        return ((number, time_s, job.result()) for number, time_s, job in self.jpegs)


def _store(image: Image, side: int, quality: int) -> tuple[int, int, bytes]:
    small = fit(image, side)
    return small.shape[1], small.shape[0], encode_jpeg(small, quality)


def decode_clips(
    recording: Recording,
    spans: list[ClipSpan],
    sampling: Sampling,
    pool: ThreadPoolExecutor,
) -> Iterator[SampledClip]:
    """Decodes the files under these clips once; yields each clip when its frames are complete."""
    for number in dict.fromkeys(span.video for span in spans):
        video = recording.videos[number]
        own = deque(span for span in spans if span.video == number)
        fps = effective_fps(video, sampling.fps)
        held: set[int] = set()
        begin, end = own[0].start_s - video.start_s, own[-1].end_s - video.start_s
        current, last = SampledClip(own.popleft(), fps, held=held), -1

        def hold(time_s: float, video: Video = video, fps: float = fps, h: set[int] = held) -> None:
            h.add(tick(video.start_s + time_s, fps))

        for frame in video_frames(Path(video.path), max(0.0, begin - 1 / fps), end, held=hold):
            place = tick(video.start_s + frame.time_s, fps)
            time_s = max(video.start_s + frame.time_s, place / fps)
            while time_s >= current.span.end_s and own:
                yield current
                # A clip's frames depend on the clip alone, not on where decoding began.
                current, last = SampledClip(own.popleft(), fps, held=held), -1
            if place == last or not current.span.start_s <= time_s < current.span.end_s:
                continue
            last = place
            _take(current, place, time_s, frame.read(), sampling, pool)
        yield current
        yield from (SampledClip(span, fps, held=held) for span in own)


def _take(
    clip: SampledClip,
    place: int,
    time_s: float,
    image: Image,
    sampling: Sampling,
    pool: ThreadPoolExecutor,
) -> None:
    number = place - first_tick(clip.span.cell, sampling.grid_s, clip.fps)
    clip.size = image.shape[1], image.shape[0]
    clip.jpegs.append((number, time_s, pool.submit(encode_jpeg, image, JPEG_QUALITY)))
    if not clip.stored or time_s - clip.stored[-1][1] >= 1 - 0.5 / clip.fps:
        job = pool.submit(_store, image, sampling.side, sampling.quality)
        clip.stored.append((number, time_s, job))
    small = shrink(image)
    if clip.before is not None:
        clip.moves.append(displacement(clip.before, small, max(clip.size)))
    clip.before = small
    if len(clip.jpegs) > 8:
        clip.jpegs[-8][2].result()  # bounds the pictures in flight


def check_unchanged(recording: Recording, spans: Sequence[ClipSpan]) -> None:
    """Raises GebError where a file under these clips is gone or is no longer the one added."""
    for span in {span.video: span for span in spans}.values():
        video, name = recording.videos[span.video], span.clip.split("/")[0]
        path = Path(video.path)
        if not path.exists():
            raise GebError(f"{path} is gone; put it back, or add the video again where it is now")
        stat = path.stat()
        if stat.st_size != video.size or stat.st_mtime_ns != video.mtime_ns:
            raise GebError(
                f"{path} changed since it was added; take it in with: geb add {name} {path}"
            )
