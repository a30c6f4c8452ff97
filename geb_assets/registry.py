"""``recordings.toml``: recordings, their files, clocks, casts and parameter overrides."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from geb_assets import toml_file
from geb_assets.clock import Clock, ClockKind, stamp
from geb_assets.errors import GebError

SEGMENT_S = 3600.0
SHORTEST_S = 0.02
"""A shorter piece of footage, left over where a file meets the hour, holds no frame of its own."""
FILE = "recordings.toml"
_HEADING = "# Recordings of this home. Edited by `geb`, or by hand.\n"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SourceFile(_Value):
    """A file of the user's, with what tells whether it is still the same."""

    path: str
    size: int
    mtime_ns: int
    digest: str


class Video(SourceFile):
    """One video file of a recording."""

    start_s: Annotated[float, Field(ge=0.0)]
    """Recording clock at the file's first frame, s."""
    duration_s: Annotated[float, Field(gt=0.0)]
    frames: Annotated[int, Field(gt=0)]
    """Frames counted in the file."""

    @property
    def end_s(self) -> float:
        return self.start_s + self.duration_s


class LineFile(SourceFile):
    """Narration or dialogue: a file, or a folder of files."""

    kind: Literal["caption", "transcript"]
    start_s: float | None = None
    """Recording clock at the file's time 0, where its times are counted from there."""


class Recording(_Value):
    """One continuous timeline with one clock."""

    clock: ClockKind = "seconds"
    wearer: str = ""
    cast: tuple[str, ...] = ()
    videos: tuple[Video, ...] = ()
    lines: tuple[LineFile, ...] = ()
    chains: tuple[SourceFile, ...] = ()
    """Released topic and event chains, taken instead of a model's."""
    parameters: Mapping[str, Mapping[str, Any]] = {}

    def show(self, seconds: float) -> str:
        return Clock.parse(self.clock).show(seconds)

    def footage(self) -> list[tuple[float, float]]:
        """Start and end of each video on the recording clock, s, in time order."""
        return sorted((video.start_s, video.end_s) for video in self.videos)


class Registry(_Value):
    """All that is known of a home's recordings."""

    profile: str = "embedded"
    """Which models serve the roles (``geb use``)."""
    options: Mapping[str, Mapping[str, Mapping[str, Any]]] = {}
    """Profile to role to option to value, where this home differs from the profile."""
    frame_cache_gb: Annotated[float, Field(ge=0.0)] = 20.0
    """Sampled frames kept under ``cache/`` so that no stage decodes video twice, GB."""
    recordings: Mapping[str, Recording] = {}

    def recording(self, name: str) -> Recording:
        """Raises GebError for a recording that was never added."""
        if name not in self.recordings:
            known = ", ".join(self.recordings) or "none yet"
            raise GebError(
                f"no recording '{name}' here ({known}); add it with: geb add {name} VIDEO"
            )
        return self.recordings[name]

    def segments(self, name: str) -> list[str]:
        """The keys of a recording's segments: the hours of its clock that hold footage."""
        hours: set[int] = set()
        for start, end in self.recording(name).footage():
            for hour in range(int(start // SEGMENT_S), int(end // SEGMENT_S) + 1):
                within = min(end, (hour + 1) * SEGMENT_S) - max(start, hour * SEGMENT_S)
                if within >= SHORTEST_S:
                    hours.add(hour)
        return [f"{name}/{stamp(hour * SEGMENT_S)[:7]}h" for hour in sorted(hours)]


def segment_recording(segment: str) -> str:
    """The recording a segment belongs to."""
    return segment.rsplit("/", 1)[0]


def segment_span(segment: str) -> tuple[float, float]:
    """Start and end of a segment's hour on the recording clock, s."""
    key = segment.rsplit("/", 1)[1]
    start = (int(key[1:4]) - 1) * 86_400.0 + int(key[5:7]) * SEGMENT_S
    return start, start + SEGMENT_S


def check_name(name: str) -> str:
    """The name of a recording; raises GebError where it would not serve as folder and key."""
    if not _NAME.fullmatch(name):
        raise GebError(
            f"'{name}' cannot name a recording; use letters a-z, digits, '.', '_' and '-' "
            "(at most 64, a letter or digit first)"
        )
    return name


def load(home: Path) -> Registry:
    """The registry of a home; an absent file is an empty registry.

    Raises GebError naming the file and the fault where it cannot be read.
    """
    return toml_file.load(home / FILE, Registry)


def edit(home: Path, change: Callable[[Registry], Registry]) -> Registry:
    """Applies a change to the registry and writes it whole, or not at all."""
    return toml_file.edit(home / FILE, Registry, change, heading=_HEADING)
