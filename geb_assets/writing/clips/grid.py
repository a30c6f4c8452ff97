"""Where clips and sampled frames lie: multiples of the clip length and of the sampling period."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from geb_assets.clock import stamp
from geb_assets.registry import SHORTEST_S

_EPSILON = 1e-3
"""Share of a tick by which a timestamp may fall short through rounding."""


@dataclass(frozen=True)
class Span:
    """A stretch of one video file on the recording clock, s."""

    video: int
    """The file's place among the recording's videos."""
    start_s: float
    end_s: float


@dataclass(frozen=True)
class ClipSpan:
    """One clip: the part of a grid cell that one file covers."""

    clip: str
    cell: int
    video: int
    start_s: float
    end_s: float


def clip_spans(
    recording: str,
    files: Sequence[Span],
    clip_seconds: int,
    window: tuple[float, float],
) -> list[ClipSpan]:
    """The clips of a window of the clock, in time order (design "Partitions").

    Clips lie on the grid of ``clip_seconds`` since the recording's day 1; the first and the last of
    a file may be shorter. A file ends where the next one starts. ``window`` has to lie on the grid.
    """
    spans: list[ClipSpan] = []
    ordered = sorted(files, key=lambda file: file.start_s)
    for file, following in zip_longest(ordered, ordered[1:]):
        until = min(file.end_s, following.start_s) if following else file.end_s
        start, end = max(file.start_s, window[0]), min(until, window[1])
        for cell in range(int(start // clip_seconds), math.ceil(end / clip_seconds)):
            begin = max(start, float(cell * clip_seconds))
            finish = min(end, float((cell + 1) * clip_seconds))
            if finish - begin >= SHORTEST_S:
                clip = f"{recording}/{stamp(begin)}"
                spans.append(ClipSpan(clip, cell, file.video, begin, finish))
    return spans


def tick(time_s: float, fps: float) -> int:
    """The sampling tick that a time belongs to: ``k`` covers ``[k / fps, (k + 1) / fps)``."""
    return math.floor(time_s * fps + _EPSILON)


def first_tick(cell: int, clip_seconds: int, fps: float) -> int:
    """The first tick that reaches into a grid cell."""
    return tick(cell * clip_seconds, fps)
