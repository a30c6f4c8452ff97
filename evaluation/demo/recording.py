"""The demonstration recording of a home: rendered once a seed, then found again."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path

from evaluation.demo.render import DemoRecording, DemoVideo, render_demo
from geb_assets.adding import add_videos
from geb_assets.errors import GebError
from geb_assets.home import Home
from resources.packages import DEMO_PICTURES, fetch_all

DEFAULT_SEED = 7

_INDEX = "recording.json"


def name_of(seed: int) -> str:
    """The recording's name: `demo`, or `demo-N` for another seed."""
    return "demo" if seed == DEFAULT_SEED else f"demo-{seed}"


def rendered(home: Home, seed: int) -> DemoRecording:
    """The rendered files of a seed under the home, made where they are not there yet."""
    folder = home.path / "demo" / f"seed-{seed}"
    if (folder / _INDEX).exists():
        return _read(folder)
    fetch_all(DEMO_PICTURES, home.models, progress=home.progress)
    partial = folder.with_suffix(".partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        made = render_demo(
            partial,
            seed=seed,
            pictures=home.models,
            progress=lambda done, total: home.progress("rendering", done, total),
        )
        (partial / _INDEX).write_text(json.dumps(asdict(made), default=str))
        partial.rename(folder)
    except OSError as error:
        raise GebError(
            f"the demonstration cannot be written under {home.path}: {error.strerror}; "
            "free some space or choose another home with GEB_HOME"
        ) from None
    return _read(folder)


def _read(folder: Path) -> DemoRecording:
    """A rendered recording, its paths taken from where the folder lies now."""
    values = json.loads((folder / _INDEX).read_text())
    videos = tuple(
        DemoVideo(**{**video, "path": folder / Path(video["path"]).name})
        for video in values["videos"]
    )
    places = {key: folder / Path(values[key]).name for key in ("narration", "truth")}
    return DemoRecording(
        **{**values, **places, "videos": videos, "overlay_box": tuple(values["overlay_box"])}
    )


def add(home: Home, seed: int) -> DemoRecording:
    """Adds the demonstration to the home's registry, once."""
    recording = rendered(home, seed)
    if name_of(seed) not in home.registry().recordings:
        add_videos(
            home,
            name_of(seed),
            [video.path for video in recording.videos],
            starts=[video.start for video in recording.videos],
            captions=[recording.narration],
        )
    return recording
