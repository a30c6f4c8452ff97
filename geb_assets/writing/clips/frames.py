"""The sampled frames of a segment's clips, for every stage that looks at pixels."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from geb_assets.registry import Recording, segment_span
from geb_assets.stage import Work
from geb_assets.writing.clips.decode import (
    Sampling,
    check_unchanged,
    decode_clips,
    segment_clips,
)
from resources.frames import KeptClip


def cache_key(recording: Recording, segment: str, grid_s: int, fps: Sequence[float]) -> str:
    """Where a segment's frames are kept: changes with its files and its sampling."""
    start, end = segment_span(segment)
    files = [(v.digest, v.start_s) for v in recording.videos if v.start_s < end and v.end_s > start]
    content = json.dumps([files, grid_s, list(fps)])
    return f"{segment}~{hashlib.sha256(content.encode()).hexdigest()[:10]}"


class ClipFrames:
    """Random access to the sampled frames; what the cache dropped is decoded again."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._clips = work.read("clips")
        self._key = cache_key(
            work.recording,
            work.partition,
            int(self._clips["grid_s"][0]),
            self._clips["fps"].to_list(),
        )

    def open(self, clip: str) -> KeptClip:
        """The sampled frames of a clip."""
        self._ensure(clip)
        try:
            return self._work.frames.open(self._key, clip)
        except FileNotFoundError:  # another run trimmed the cache in between
            self._ensure(clip)
            return self._work.frames.open(self._key, clip)

    def _ensure(self, clip: str) -> None:
        work = self._work
        if work.frames.has(self._key, clip):
            return
        grid_s = int(self._clips["grid_s"][0])
        spans = [
            span
            for span in segment_clips(work.name, work.recording, work.partition, grid_s)
            if not work.frames.has(self._key, span.clip)
        ]
        check_unchanged(work.recording, spans)
        with ThreadPoolExecutor(2) as pool:
            sampling = Sampling(grid_s, float(self._clips["fps"].max()))  # type: ignore[arg-type]
            for sampled in decode_clips(work.recording, spans, sampling, pool):
                work.frames.put(self._key, sampled.span.clip, sampled.encoded())
        work.frames.trim(self._key)
