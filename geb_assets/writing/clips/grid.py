"""Where clips and sampled frames lie: multiples of the clip length and of the sampling period."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from geb_assets.clock import stamp

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
    a file may be shorter. ``window`` has to lie on the grid.
    """
    spans: list[ClipSpan] = []
    for file in sorted(files, key=lambda file: file.start_s):
        start, end = max(file.start_s, window[0]), min(file.end_s, window[1])
        if start >= end:
            continue
        for cell in range(int(start // clip_seconds), math.ceil(end / clip_seconds)):
            begin = max(start, float(cell * clip_seconds))
            spans.append(
                ClipSpan(
                    f"{recording}/{stamp(begin)}",
                    cell,
                    file.video,
                    begin,
                    min(end, float((cell + 1) * clip_seconds)),
                )
            )
    return spans


def tick(time_s: float, fps: float) -> int:
    """The sampling tick that a time belongs to: ``k`` covers ``[k / fps, (k + 1) / fps)``."""
    return math.floor(time_s * fps + _EPSILON)


def first_tick(cell: int, clip_seconds: int, fps: float) -> int:
    """The first tick of a grid cell."""
    return math.ceil(cell * clip_seconds * fps - _EPSILON)
