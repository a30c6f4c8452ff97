"""A tiny built home, made once a session by the real pipeline; tests work on copies of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from uuid import uuid4

from geb_assets.adding import add_videos
from geb_assets.building import Built, build
from geb_assets.home import Home
from geb_assets.parameters import effective
from geb_assets.run import run_partition
from geb_assets.stages import STAGES
from resources.profiles import EMBEDDED
from tests.films import cutouts, steady, walk, write_video

RECORDINGS = {
    # A stop sign that returns an hour later, beside other things.
    "r": {
        "r_ten.mp4": ("DAY1 10:00:00", ("stop sign", "astronaut"), 6),
        "r_eleven.mp4": ("DAY1 11:00:02", ("dotted cup", "stop sign"), 6),
    },
    "s": {
        "s_one.mp4": ("DAY2 09:00:00", ("cameraman", "cup with saucer"), 3),
        "s_two.mp4": ("DAY2 09:00:08", ("stop sign", "cameraman"), 3),
    },
}
"""Recording to its files: start, what is seen, seconds."""

SPARE = {
    "early.mp4": ("DAY1 09:00:00", ("dotted cup", "astronaut"), 3),
    "late.mp4": ("DAY1 12:00:00", ("astronaut", "dotted cup"), 3),
}
"""Videos of other hours, to be added by tests."""


def render(models: Path, folder: Path) -> None:
    """Writes every video of the recordings, and the spare ones."""
    folder.mkdir(parents=True, exist_ok=True)
    things = cutouts(models)
    for files in (*RECORDINGS.values(), SPARE):
        for name, (_, seen, seconds) in files.items():
            write_video(folder / name, walk([things[one] for one in seen]), steady(seconds))


def add_all(home: Home, videos: Path, *names: str) -> None:
    """Adds the named recordings, or all of them."""
    for name in names or RECORDINGS:
        files = RECORDINGS[name]
        add_videos(
            home,
            name,
            [videos / file for file in files],
            starts=[start for start, _, _ in files.values()],
            clip_seconds=4,
        )


def make(models: Path, folder: Path) -> Path:
    """Renders and builds everything under a folder; returns the home."""
    render(models, folder / "videos")
    home = Home(folder / "home")
    add_all(home, folder / "videos")
    built(home)
    return home.path


def built(home: Home, *recordings: str, to: str | None = None) -> Built:
    """Builds what is stale; nothing may fail."""
    done = build(home, recordings=recordings or None, to=to)
    assert not done.faults, done.faults
    return done


def up_to_date(home: Home, *recordings: str) -> list[tuple[str, bool]]:
    """The same without Dagster, and sooner; asset and whether it changed, in order."""
    ran: list[tuple[str, bool]] = []
    while True:
        planner = home.planner(STAGES)
        stale = [step for step in planner.plan(recordings or None) if step.state == "stale"]
        ready = [s for s in stale if not planner.missing(planner.stages[s.asset], s.partition)]
        if not ready:
            assert not stale, stale
            return ran
        for step in (one for one in ready if one.asset == ready[0].asset):
            stage = planner.stages[step.asset]
            outcome = run_partition(home, STAGES, stage, step.partition, uuid4().hex)
            ran.append((step.asset, outcome.changed))


def default(parameter: str) -> Any:
    """The value of ``section.name`` where no recording overrides it."""
    section, name = parameter.split(".")
    return getattr(effective(section, EMBEDDED.parameters), name)


def copy(home: Path, to: Path) -> Home:
    """A home of its own with the same content."""
    shutil.copytree(home, to)
    return Home(to)


def versions(home: Home) -> dict[tuple[str, str], dict[str, str]]:
    """Data versions of every table, by (asset, partition)."""
    return {key: dict(entry.versions) for key, entry in home.ledger.entries().items()}
