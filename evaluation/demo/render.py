"""Render the demonstration recording: two videos, narration, and the truth of every frame."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import polars as pl
from numpy.typing import NDArray

from evaluation.demo.camera import HEIGHT, WIDTH, CameraPath, walk
from evaluation.demo.cutouts import dial, make_cutouts, read_pictures
from evaluation.demo.scene import Placement, World, build_world
from evaluation.demo.story import (
    DAY_STARTS,
    OVERLAY,
    OVERLAY_ABSENT,
    PASSING_LINES,
    VISIT_SECONDS,
    VISITS,
)
from geb_assets.clock import DAY_S, Clock
from resources.images import Image

FPS = 10
_OVERLAY_SIDE = 80
_OVERLAY_AT = (WIDTH - _OVERLAY_SIDE - 12, 8)

Progress = Callable[[int, int], None]
"""Called as ``progress(frames_done, frames_total)``."""

TRUTH_SCHEMA = pl.Schema(
    {
        "video": pl.String,
        "frame": pl.Int32,
        "time_s": pl.Float64,
        "identity": pl.String,
        "label": pl.String,
        "overlay": pl.Boolean,
        "x1": pl.Float32,
        "y1": pl.Float32,
        "x2": pl.Float32,
        "y2": pl.Float32,
        "visible": pl.Float32,
    }
)
"""One row a thing in view a frame. ``time_s`` is on the recording clock, boxes are pixels of the
frame cut at its edges, ``visible`` is the share of the whole box that lies in the frame."""


@dataclass(frozen=True)
class DemoVideo:
    """One file and the clock time of its first frame."""

    path: Path
    start: str
    start_s: float


@dataclass(frozen=True)
class DemoRecording:
    """Files of the rendered demonstration; ``overlay_box`` is x1 y1 x2 y2 in pixels."""

    seed: int
    videos: tuple[DemoVideo, ...]
    narration: Path
    truth: Path
    overlay_box: tuple[float, float, float, float]
    fps: float = FPS
    width: int = WIDTH
    height: int = HEIGHT


def render_demo(
    folder: Path,
    *,
    seed: int,
    pictures: Mapping[str, Image] | Path,
    progress: Progress | None = None,
    seconds: float | None = None,
) -> DemoRecording:
    """Render the recording of ``seed`` into ``folder``; the same seed gives the same bytes.

    ``pictures`` are the scikit-image photographs by file name (cutouts.PICTURE_FILES), or the
    folder that holds them. ``seconds`` renders only the first seconds of each day.
    Raises GebError where a photograph is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    photographs = read_pictures(pictures) if isinstance(pictures, Path) else pictures
    rng = np.random.default_rng(seed)
    cutouts = make_cutouts(photographs, red_shift=rng.uniform(-4, 4), blue_shift=rng.uniform(-6, 6))
    days = sorted(DAY_STARTS)
    lengths = {day: VISIT_SECONDS * sum(v.day == day for v in VISITS) for day in days}
    rendered = {day: round(min(seconds or np.inf, lengths[day]) * FPS) for day in days}
    clock = Clock.parse("egolife")
    videos: list[DemoVideo] = []
    truth: list[pl.DataFrame] = []
    lines: list[tuple[float, float, str]] = []
    done, total = 0, sum(rendered.values())
    for day in days:
        world = build_world(day, cutouts, photographs, rng)
        path = walk(world.picture.shape[1], lengths[day], FPS, rng)
        video = DemoVideo(
            folder / f"demo_day{day}.mp4", DAY_STARTS[day], clock.seconds(DAY_STARTS[day])
        )

        def count(frames: int, before: int = done) -> None:
            if progress:
                progress(before + frames, total)

        truth.append(_render_day(day, video, world, path, rendered[day], count))
        lines += _narrate(world, path, video.start_s, rng)
        videos.append(video)
        done += rendered[day]
    narration = folder / "narration.csv"
    with narration.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("start", "end", "text"))
        writer.writerows((_clock_text(a), _clock_text(b), text) for a, b, text in sorted(lines))
    truth_path = folder / "truth.parquet"
    pl.concat(truth).write_parquet(truth_path)
    x, y = _OVERLAY_AT
    box = (float(x), float(y), float(x + _OVERLAY_SIDE), float(y + _OVERLAY_SIDE))
    return DemoRecording(seed, tuple(videos), narration, truth_path, box)


def _render_day(
    day: int,
    video: DemoVideo,
    world: World,
    path: CameraPath,
    frames: int,
    count: Callable[[int], None],
) -> pl.DataFrame:
    """Write one day's video and return its truth."""
    import av

    overlay = dial(_OVERLAY_SIDE)
    rows: list[tuple[int, str, str, bool, float, float, float, float, float]] = []
    centres = np.array([p.centre for p in world.placements])
    with av.open(str(video.path), "w", format="mp4", options={"fflags": "+bitexact"}) as output:
        stream = output.add_stream("libx264", rate=FPS)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        # One thread: the bytes must not depend on the number of cores.
        stream.codec_context.thread_count = 1
        stream.codec_context.options = {"preset": "ultrafast", "crf": "27", "threads": "1"}
        for frame in range(frames):
            to_screen = path.matrix(frame)
            picture = _background(world.picture, path.x[frame], to_screen)
            for index in np.flatnonzero(np.abs(centres - path.x[frame]) < WIDTH):
                placement = world.placements[index]
                found = _draw(picture, placement, to_screen, frame / FPS)
                if found is not None:
                    subject = placement.subject
                    rows.append((frame, subject.identity, subject.label, False, *found))
            if not _without_overlay(day, frame / FPS):
                x, y = _OVERLAY_AT
                x2, y2 = x + _OVERLAY_SIDE, y + _OVERLAY_SIDE
                picture[y:y2, x:x2] = overlay
                rows.append((frame, OVERLAY, "clock", True, x, y, x2, y2, 1.0))
            output.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="bgr24")))
            count(frame + 1)
        output.mux(stream.encode())
    names = ("frame", "identity", "label", "overlay", "x1", "y1", "x2", "y2", "visible")
    return (
        pl.DataFrame(rows, schema=names, orient="row")
        .with_columns(video=pl.lit(video.path.name), time_s=video.start_s + pl.col("frame") / FPS)
        .select(pl.col(name).cast(kind) for name, kind in TRUTH_SCHEMA.items())
    )


def _background(world: Image, x: float, to_screen: NDArray[np.float64]) -> Image:
    """The view of the empty sets around world ``x``."""
    start = max(0, int(x) - WIDTH)
    part = world[:, start : int(x) + WIDTH]
    matrix = to_screen.copy()
    matrix[:, 2] += matrix[:, 0] * start
    return np.asarray(
        cv2.warpAffine(part, matrix, (WIDTH, HEIGHT), borderMode=cv2.BORDER_REPLICATE), np.uint8
    )


def _draw(
    picture: Image, placement: Placement, to_screen: NDArray[np.float64], second: float
) -> tuple[float, float, float, float, float] | None:
    """Blend a placement into ``picture``; its box there and the visible share, None out of view."""
    swing = 2 * np.pi * placement.rate * second + placement.phase
    origin = np.array(
        [
            placement.x + placement.sway * np.sin(swing),
            placement.y + placement.sway * 0.4 * np.sin(2 * swing),
        ]
    )
    matrix = to_screen.copy()
    matrix[:, 2] += to_screen[:, :2] @ origin
    outline = placement.outline @ matrix[:, :2].T + matrix[:, 2]
    low, high = outline.min(0), outline.max(0)
    size = np.array([WIDTH, HEIGHT])
    cut_low, cut_high = np.clip(low, 0, size), np.clip(high, 0, size)
    visible = float(np.prod(cut_high - cut_low) / np.prod(high - low))
    if visible <= 0:
        return None
    x, y = np.maximum(np.floor(low).astype(int) - 4, 0)
    x2, y2 = np.minimum(np.ceil(high).astype(int) + 4, size)
    matrix[:, 2] -= (x, y)
    layer = cv2.warpAffine(placement.layer, matrix, (int(x2 - x), int(y2 - y)))
    colours = cv2.cvtColor(layer, cv2.COLOR_BGRA2BGR)
    behind = cv2.cvtColor(255 - cv2.extractChannel(layer, 3), cv2.COLOR_GRAY2BGR)
    part = picture[y:y2, x:x2]
    part[:] = cv2.add(cv2.multiply(part, behind, scale=1 / 255), colours)
    return float(cut_low[0]), float(cut_low[1]), float(cut_high[0]), float(cut_high[1]), visible


def _without_overlay(day: int, second: float) -> bool:
    return any(day == d and start <= second < end for d, start, end in OVERLAY_ABSENT)


def _narrate(
    world: World, path: CameraPath, start_s: float, rng: np.random.Generator
) -> list[tuple[float, float, str]]:
    """Start, end and text of a day's lines, each said while the camera faces its subject."""
    lines: list[tuple[float, float, str]] = []
    for placement in world.placements:
        identity = placement.subject.identity
        said = dict(placement.visit.lines).get(identity)
        passing = PASSING_LINES[identity].format(room=placement.visit.room)
        begin = path.second_at(placement.centre, FPS) + rng.uniform(-1.2, 0.2)
        spoken = rng.uniform(1.8, 2.8)
        if said or rng.random() < 0.6:
            begin = start_s + round(max(begin, 0.0), 1)
            lines.append((begin, begin + round(spoken, 1), said or passing))
    return lines


def _clock_text(time_s: float) -> str:
    """``DAY1 10:00:03.5`` of a time on the recording clock."""
    tenths = round(time_s * 10)
    day, rest = divmod(tenths, round(DAY_S * 10))
    minutes, rest = divmod(rest, 600)
    hours, minutes = divmod(minutes, 60)
    return f"DAY{day + 1} {hours:02d}:{minutes:02d}:{rest // 10:02d}.{rest % 10}"
