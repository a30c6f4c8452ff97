"""Taking files into the registry: probed, digested and checked against what is there already."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from geb_assets.clock import Clock, ClockKind
from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.parameters import SECTIONS, Lines, effective
from geb_assets.registry import LineFile, Recording, Registry, SourceFile, Video, check_name, edit
from geb_assets.stage import Progress
from geb_assets.writing.chains.released import read_chains
from geb_assets.writing.lines.footage import near_footage
from geb_assets.writing.lines.imported import LineKind
from geb_assets.writing.lines.read import read_lines
from resources.profiles import configured, profile
from resources.video import file_digest, probe

VIDEO_SUFFIXES = (".mp4", ".mov", ".mkv", ".avi", ".webm", ".m4v")

_EGOLIFE_NAME = re.compile(r"DAY(\d+)_.*?_(\d{2})(\d{2})(\d{2})\d{2}(?:\D|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Added:
    """What an addition took in."""

    videos: int
    lines: int
    notes: tuple[str, ...] = ()
    """What an importer left out, and said so."""


def add_videos(
    home: Home,
    name: str,
    videos: Sequence[Path],
    *,
    starts: Sequence[str] = (),
    clock: ClockKind | None = None,
    captions: Sequence[Path] = (),
    transcripts: Sequence[Path] = (),
    chains: Sequence[Path] = (),
    cast: Sequence[str] = (),
    wearer: str = "",
    clip_seconds: int | None = None,
) -> Added:
    """Adds files to a recording, which begins to exist with its first ones.

    ``starts`` are the clock times of the videos' first frames; without them a name such as
    ``DAY1_A1_JAKE_11094208.mp4`` tells, else a file follows the one before it. A file that is there
    already is taken in anew, also where it was moved to. Raises GebError, leaving everything as it
    was, for a name that cannot be used, a file that cannot be read, files that overlap, or a time
    that is none.
    """
    check_name(name)
    if starts and len(starts) != len(videos):
        raise GebError(f"{len(videos)} videos but {len(starts)} start times; give one --start each")
    known = home.registry().recordings.get(name)
    if known is None and not (videos or captions or transcripts):
        raise GebError(f"recording '{name}' has nothing in it; give a video or --captions")
    kind = _clock_kind(known, clock, starts, videos, [*captions, *transcripts])
    reader = Clock.parse(kind)
    before = known.videos if known else ()
    taken = [os.path.abspath(path) for path in videos]
    kept = [video for video in before if video.path not in taken]
    fresh = _videos(home.progress, reader, videos, starts, before, kept)
    kept = [video for video in kept if not _moved(video, fresh)]
    everything = sorted([*kept, *fresh], key=lambda video: video.start_s)
    _refuse_overlap(everything, reader)
    line_files, counted, notes = _line_files(
        home.progress, reader, captions, transcripts, everything
    )
    paths = {file.path for file in line_files}
    lines = [
        file
        for file in (known.lines if known else ())
        if file.path not in paths and not _moved(file, line_files)
    ]
    _refuse_repeated([*lines, *line_files])
    parameters = {k: dict(v) for k, v in (known.parameters if known else {}).items()}
    if clip_seconds is not None:
        parameters.setdefault("clips", {})["clip_seconds"] = clip_seconds
    recording = Recording(
        clock=kind,
        wearer=wearer or (known.wearer if known else ""),
        cast=tuple(cast) or (known.cast if known else ()),
        videos=tuple(everything),
        lines=(*lines, *line_files),
        chains=_chain_files(chains, reader) or (known.chains if known else ()),
        parameters=parameters,
    )
    _check_parameters(home.registry(), parameters)

    def change(registry: Registry) -> Registry:
        if registry.recordings.get(name) != known:
            raise GebError(f"recording '{name}' was changed meanwhile; run the command again")
        return _with(registry, name, recording)

    edit(home.path, change)
    return Added(len(fresh), counted, tuple(notes))


def _chain_files(paths: Sequence[Path], clock: Clock) -> tuple[SourceFile, ...]:
    """Released chains, each read once so that a wrong file is refused before anything is kept."""
    files = []
    for path in paths:
        read_chains(path, clock)
        stat = path.stat()
        files.append(
            SourceFile(
                path=os.path.abspath(path),
                size=stat.st_size,
                mtime_ns=stat.st_mtime_ns,
                digest=file_digest(path),
            )
        )
    return tuple(files)


def set_parameters(home: Home, name: str, assignments: Mapping[str, Any]) -> None:
    """Overrides parameters (``section.name`` to value) of a recording, all together or none.

    Raises GebError for an unknown parameter or a value out of range.
    """
    values: dict[str, dict[str, Any]] = {}
    for assignment, value in assignments.items():
        section, dot, parameter = assignment.partition(".")
        if not dot or section not in SECTIONS:
            raise GebError(
                f"no parameter '{assignment}'; write SECTION.NAME=VALUE with a section of "
                f"{', '.join(SECTIONS)}"
            )
        values.setdefault(section, {})[parameter] = value

    def change(registry: Registry) -> Registry:
        recording = registry.recording(name)
        parameters = {k: dict(v) for k, v in recording.parameters.items()}
        for section, own in values.items():
            parameters.setdefault(section, {}).update(own)
        _check_parameters(registry, parameters)
        return _with(registry, name, recording.model_copy(update={"parameters": parameters}))

    home.registry().recording(name)  # a home without it stays untouched
    edit(home.path, change)


def use_profile(home: Home, name: str, assignments: Mapping[str, Any]) -> None:
    """Chooses the models of a home, and sets options (``role.option`` to value) of that profile.

    All together or nothing. Raises GebError for what does not exist, and where a recording's own
    parameters do not go with the profile's.
    """
    values: dict[str, dict[str, Any]] = {}
    for assignment, value in assignments.items():
        role, dot, option = assignment.partition(".")
        if not dot:
            raise GebError(f"no option '{assignment}'; write ROLE.OPTION=VALUE")
        values.setdefault(role, {})[option] = value

    def change(registry: Registry) -> Registry:
        own = {role: dict(options) for role, options in registry.options.get(name, {}).items()}
        for role, options in values.items():
            own.setdefault(role, {}).update(options)
        options_after = {**registry.options, **({name: own} if own else {})}
        configured(name, options_after)
        after = registry.model_copy(update={"profile": name, "options": options_after})
        for recording in after.recordings.values():
            _check_parameters(after, recording.parameters)
        return after

    edit(home.path, change)


def _with(registry: Registry, name: str, recording: Recording) -> Registry:
    return registry.model_copy(update={"recordings": {**registry.recordings, name: recording}})


def _check_parameters(registry: Registry, parameters: Mapping[str, Mapping[str, Any]]) -> None:
    defaults = profile(registry.profile).parameters
    for section in parameters:
        effective(section, defaults, parameters)


def _clock_kind(
    known: Recording | None,
    asked: ClockKind | None,
    starts: Sequence[str],
    videos: Sequence[Path],
    lines: Sequence[Path],
) -> ClockKind:
    """The recording's clock: what it already has, what was asked for, or what the times show."""
    if known is not None:
        if asked is not None and asked != known.clock:
            raise GebError(
                f"this recording already has the clock '{known.clock}'; leave --clock out"
            )
        return known.clock
    if asked is not None:
        return asked
    if starts:
        return "egolife" if any("day" in start.lower() for start in starts) else "seconds"
    if videos:
        return "egolife" if all(_EGOLIFE_NAME.search(v.name) for v in videos) else "seconds"
    # Captions alone: theirs is the clock on which they can be read.
    return "egolife"


def _videos(
    progress: Progress,
    clock: Clock,
    paths: Sequence[Path],
    starts: Sequence[str],
    known: Sequence[Video],
    kept: Sequence[Video],
) -> list[Video]:
    before = {video.path: video.start_s for video in known}
    gone = {video.digest: video.start_s for video in known if not Path(video.path).exists()}
    after = max((video.end_s for video in kept), default=0.0)
    there = {video.digest: video for video in kept}
    fresh: list[Video] = []
    for number, path in enumerate(paths):
        facts = probe(path)
        digest = file_digest(path, progress)
        absolute = os.path.abspath(path)
        named = _EGOLIFE_NAME.search(path.name)
        if starts:
            start = clock.seconds(starts[number])
        elif absolute in before:
            start = before[absolute]
        elif digest in gone:
            start = gone[digest]
        elif digest in there:
            raise GebError(
                f"{path} is the same footage as {there[digest].path}, which is there already; "
                "leave it out, or give it a --start of its own"
            )
        elif named and clock.kind == "egolife":
            day, hours, minutes, seconds = (int(part) for part in named.groups())
            start = clock.seconds(f"DAY{day} {hours:02d}:{minutes:02d}:{seconds:02d}")
        else:
            start = after
        stat = path.stat()
        fresh.append(
            Video(
                path=absolute,
                size=stat.st_size,
                mtime_ns=stat.st_mtime_ns,
                digest=digest,
                start_s=start,
                duration_s=facts.duration_s,
                frames=facts.frames,
            )
        )
        there[digest] = fresh[-1]
        after = start + facts.duration_s
    return fresh


def _moved(file: SourceFile, fresh: Sequence[SourceFile]) -> bool:
    """Whether a file that is gone is there under another name now."""
    return not Path(file.path).exists() and any(one.digest == file.digest for one in fresh)


def _refuse_repeated(files: Sequence[LineFile]) -> None:
    there: dict[tuple[str, str], LineFile] = {}
    for file in files:
        # A name may tell where its cues begin: the same words under two names can be two files.
        first = there.setdefault((Path(file.path).name, file.digest), file)
        if first is file:
            continue
        if first.path == file.path:
            raise GebError(
                f"{file.path} is given twice, as {first.kind}s and {file.kind}s; give it once: "
                "a file that tells captions from dialogue is read for both"
            )
        raise GebError(f"{file.path} holds the same lines as {first.path}; leave it out")


def _refuse_overlap(videos: Sequence[Video], clock: Clock) -> None:
    for earlier, later in pairwise(videos):
        # Container durations are rounded to a frame; files cut back to back may touch by one.
        if later.start_s < earlier.end_s - 0.05:
            raise GebError(
                f"{later.path} starts at {clock.show(later.start_s)} while {earlier.path} runs to "
                f"{clock.show(earlier.end_s)}: they overlap; mend the --start of one of them"
            )


def _line_files(
    progress: Progress,
    clock: Clock,
    captions: Sequence[Path],
    transcripts: Sequence[Path],
    videos: Sequence[Video],
) -> tuple[list[LineFile], int, list[str]]:
    """Reads each file once, so that what cannot be read is refused now."""
    origin = videos[0].start_s if videos else None
    spans = np.array([(video.start_s, video.end_s) for video in videos], np.float64).reshape(-1, 2)
    files: list[LineFile] = []
    count = 0
    notes: list[str] = []
    kinds: list[tuple[LineKind, Sequence[Path]]] = [
        ("caption", captions),
        ("transcript", transcripts),
    ]
    for kind, paths in kinds:
        for path in paths:
            if not path.exists():
                raise GebError(f"{path} does not exist; check the path")
            imported = read_lines(path, kind=kind, clock=clock, start_s=origin)
            count += imported.lines.height + imported.episodes.height
            notes.extend(imported.notes)
            told = pl.concat(
                [one.select("start_s", "end_s") for one in (imported.lines, imported.episodes)]
            )
            if videos and near_footage(told, spans, Lines().footage_margin_s).is_empty():
                notes.append(
                    f"none of the {told.height} lines of {path.name} lies near the footage; "
                    "mend the --start of the videos or the clock of the lines"
                )
            stat = path.stat()
            files.append(
                LineFile(
                    path=os.path.abspath(path),
                    size=stat.st_size,
                    mtime_ns=stat.st_mtime_ns,
                    digest=file_digest(path, progress),
                    kind=kind,
                    start_s=origin,
                )
            )
    return files, count, notes
