"""What writing a memory costs beside its bare parts: decode, detector, tracker, features.

``python -m evaluation.bench.writing --json [--video FILE] [--minutes N]`` builds the memory of a
video in a process of its own and times the parts alone on the same video in the same run.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import dagster as dg
import numpy as np
from numpy.typing import NDArray

from geb_assets.adding import add_videos
from geb_assets.building import instance_folder
from geb_assets.home import Home
from geb_assets.stages import STAGES
from geb_assets.writing.clips.grid import tick
from resources.detector import Detections
from resources.images import Image
from resources.profiles import Roles
from resources.video import frames, probe

RECORDING = "bench"


@dataclass(frozen=True)
class Parts:
    """Seconds that each part takes alone, on the frames and crops that the memory was made of."""

    decode: float
    detector: float
    tracker: float
    features: float

    @property
    def total(self) -> float:
        return self.decode + self.detector + self.tracker + self.features


def _sampled(video: Path, fps: float) -> Iterator[Image]:
    last = -1
    for frame in frames(video, 0.0, float("inf")):
        place = tick(frame.time_s, fps)
        if place != last:
            last = place
            yield frame.read()


def _roles(home: Home, asset: str) -> Roles:
    planner = home.planner(STAGES)
    stage = planner.stages[asset]
    return Roles(
        planner.profile, home.models, planner.section(stage, RECORDING), stage.roles, home.calls()
    )


def _gray(image: Image) -> NDArray[np.uint8]:
    import cv2

    return np.asarray(cv2.cvtColor(image[::2, ::2], cv2.COLOR_BGR2GRAY), np.uint8)


def time_parts(home: Home, video: Path, repeats: int) -> Parts:
    """Times the bare parts on one copy of the video, times ``repeats``."""
    clips = home.store.read("clips", recording=RECORDING)
    fps = float(clips["fps"][0])
    detector, tracker = _roles(home, "detections").detector(), _roles(home, "tracks").tracker()
    appearance = _roles(home, "observations").appearance()
    blank = np.zeros((64, 64, 3), np.uint8)
    detector.detect([blank])
    appearance.embed([blank])

    started = time.perf_counter()
    count = sum(1 for _ in _sampled(video, fps))
    decode = time.perf_counter() - started

    found: list[Detections] = []
    gray: list[NDArray[np.uint8]] = []
    crops: list[Image] = []
    detecting = 0.0
    for image in _sampled(video, fps):
        started = time.perf_counter()
        found += detector.detect([image])
        detecting += time.perf_counter() - started
        gray.append(_gray(image))
        if len(crops) < 256:
            crops += [image[:160, :120].copy()]

    started = time.perf_counter()
    per_clip = max(1, round(fps * int(clips["grid_s"][0])))
    for begin in range(0, count, per_clip):
        part = slice(begin, begin + per_clip)
        tracker.track(found[part], gray[part], fps, scale=2.0)
    tracking = time.perf_counter() - started

    started = time.perf_counter()
    appearance.embed(crops)
    each = (time.perf_counter() - started) / max(1, len(crops))
    features = each * _embedded_crops(home)
    return Parts(decode * repeats, detecting * repeats, tracking * repeats, features)


def _embedded_crops(home: Home) -> int:
    """How many crops the pipeline embedded: those compared when regrouping, and the stored ones."""
    with dg.DagsterInstance.from_config(str(instance_folder(home))) as instance:
        key = dg.AssetKey("observations")
        events = instance.fetch_materializations(key, limit=1000).records
    compared = [
        event.asset_materialization.metadata["crops compared"].value
        for event in events
        if event.asset_materialization is not None
    ]
    stored = home.store.read("crops", ["rank"], recording=RECORDING).height
    return sum(int(str(count)) for count in compared) + stored


def _build(home: Path) -> tuple[float, float, list[dict[str, object]]]:
    """Builds in a process of its own; returns wall seconds, peak memory (GB), and what ran."""
    command = [sys.executable, "-m", "geb_assets.cli", "build", RECORDING, "--json"]
    started = time.perf_counter()
    done = subprocess.run(
        command,
        env={**os.environ, "GEB_HOME": str(home)},
        stdout=subprocess.PIPE,
        check=True,
    )
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    return seconds, peak, json.loads(done.stdout)["ran"]


def measure(video: Path, minutes: float) -> dict[str, object]:
    """Builds a recording of at least that many minutes out of copies of a video, and times it."""
    with tempfile.TemporaryDirectory() as folder:
        models = os.environ.setdefault("GEB_MODELS", str(Home.of_environment().models))
        home = Home(Path(folder) / "home")
        length = probe(video).duration_s
        copies = max(1, int(np.ceil(minutes * 60 / length)))
        parts = [Path(folder) / f"part-{number:03d}{video.suffix}" for number in range(copies)]
        for part in parts:
            part.symlink_to(video.absolute())
        starts = [str(number * length) for number in range(copies)]
        add_videos(home, RECORDING, parts, starts=starts)
        wall, peak, ran = _build(home.path)
        writing = sum(float(str(one["seconds"])) for one in ran)
        alone = time_parts(home, video, copies)
        return {
            "video": video.name,
            "minutes": round(copies * length / 60, 2),
            "parts_alone_s": {**asdict(alone), "total": alone.total},
            "writing_s": writing,
            "by_asset_s": _by_asset(ran),
            "dagster_s": wall - writing,
            "ratio": writing / alone.total,
            "peak_memory_gb": peak,
            "models": models,
        }


def _by_asset(ran: list[dict[str, object]]) -> dict[str, float]:
    totals: dict[str, float] = {}
    for one in ran:
        name = str(one["asset"])
        totals[name] = totals.get(name, 0.0) + float(str(one["seconds"]))
    return totals


def _demo_video() -> Path:
    from evaluation.demo.recording import rendered

    return rendered(Home.of_environment(), seed=7).videos[0].path


@click.command()
@click.option("--video", type=click.Path(exists=True, path_type=Path), default=None)
@click.option("--minutes", type=float, default=0.0, help="Repeat the video up to this length.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(video: Path | None, minutes: float, as_json: bool) -> None:
    """Times writing against decode + detector + tracker + features alone."""
    figures = measure(video or _demo_video(), minutes)
    if as_json:
        click.echo(json.dumps(figures))
    else:
        for name, value in figures.items():
            click.echo(f"{name}: {value}")


if __name__ == "__main__":
    main()
