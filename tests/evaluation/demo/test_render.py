from __future__ import annotations

import csv
import itertools
from pathlib import Path

import cv2
import numpy as np
import polars as pl
import pytest

from evaluation.demo.camera import HEIGHT, WIDTH, walk
from evaluation.demo.cutouts import make_cutouts, read_pictures
from evaluation.demo.render import FPS, TRUTH_SCHEMA, DemoRecording, render_demo
from evaluation.demo.scene import build_world
from evaluation.demo.story import OVERLAY, PASSING_LINES, ROOMS, SUBJECTS, VISITS
from geb_assets.clock import Clock
from geb_assets.errors import GebError
from resources.images import Image
from resources.packages import DEMO_PICTURES
from tests.models import fetched

SECONDS = 1.5


@pytest.fixture(scope="module")
def pictures() -> dict[str, Image]:
    return read_pictures(fetched(DEMO_PICTURES))


@pytest.fixture(scope="module")
def recording(
    pictures: dict[str, Image], tmp_path_factory: pytest.TempPathFactory
) -> DemoRecording:
    return render_demo(tmp_path_factory.mktemp("demo"), seed=3, pictures=pictures, seconds=SECONDS)


def test_same_seed_same_bytes(
    recording: DemoRecording, pictures: dict[str, Image], tmp_path: Path
) -> None:
    again = render_demo(tmp_path / "a", seed=3, pictures=pictures, seconds=SECONDS)
    other = render_demo(tmp_path / "b", seed=4, pictures=pictures, seconds=SECONDS)
    for one, same, else_ in zip(recording.videos, again.videos, other.videos, strict=True):
        assert one.path.read_bytes() == same.path.read_bytes()
        assert one.path.read_bytes() != else_.path.read_bytes()
    assert recording.narration.read_bytes() == again.narration.read_bytes()
    assert recording.truth.read_bytes() == again.truth.read_bytes()


def test_truth_describes_every_frame(recording: DemoRecording) -> None:
    truth = pl.read_parquet(recording.truth)
    assert truth.schema == TRUTH_SCHEMA
    for video in recording.videos:
        rows = truth.filter(pl.col("video") == video.path.name)
        capture = cv2.VideoCapture(str(video.path))
        assert capture.get(cv2.CAP_PROP_FPS) == FPS
        frames = 0
        while capture.read()[0]:
            frames += 1
        assert frames == SECONDS * FPS
        assert rows["frame"].unique().sort().to_list() == list(range(frames))
        assert np.allclose(rows["time_s"], video.start_s + rows["frame"] / FPS)
    assert truth["x1"].min() >= 0 and truth["x2"].max() <= WIDTH  # type: ignore[operator]
    assert truth["y1"].min() >= 0 and truth["y2"].max() <= HEIGHT  # type: ignore[operator]
    assert truth.filter((pl.col("x2") <= pl.col("x1")) | (pl.col("visible") > 1)).is_empty()
    overlay = truth.filter("overlay")
    assert overlay["identity"].unique().to_list() == [OVERLAY]
    x1, y1, x2, y2 = recording.overlay_box
    assert (x2 - x1) * (y2 - y1) < 0.05 * WIDTH * HEIGHT


def test_boxes_hold_the_pixels(recording: DemoRecording) -> None:
    """The stop sign is the only saturated red octagon: its pixels lie in its box and fill it."""
    truth = pl.read_parquet(recording.truth).filter(
        pl.col("identity") == "stop sign", pl.col("visible") == 1
    )
    for video in recording.videos:
        capture = cv2.VideoCapture(str(video.path))
        for row in truth.filter(pl.col("video") == video.path.name).iter_rows(named=True):
            capture.set(cv2.CAP_PROP_POS_FRAMES, row["frame"])
            hsv = cv2.cvtColor(capture.read()[1], cv2.COLOR_BGR2HSV)
            x1, y1, x2, y2 = (round(row[k]) for k in ("x1", "y1", "x2", "y2"))
            red = (hsv[..., 1] > 150) & ((hsv[..., 0] < 8) | (hsv[..., 0] > 172))
            assert red[y1:y2, x1:x2].mean() > 0.4


def test_narration_is_read_by_the_clock(recording: DemoRecording) -> None:
    with recording.narration.open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["start", "end", "text"]
    clock = Clock.parse("egolife")
    times = [(clock.seconds(a), clock.seconds(b)) for a, b, _ in rows[1:]]
    assert times == sorted(times) and all(a < b for a, b in times)
    texts = [text for _, _, text in rows[1:]]
    assert all(line in texts for visit in VISITS for _, line in visit.lines)


@pytest.mark.parametrize("seed", range(4))
def test_nobody_is_in_two_places_at_once(pictures: dict[str, Image], seed: int) -> None:
    rng = np.random.default_rng(seed)
    cutouts = make_cutouts(pictures, red_shift=0, blue_shift=0)
    worlds = [build_world(day, cutouts, pictures, rng) for day in (1, 2)]
    together = 0
    for world in worlds:
        for one, two in itertools.combinations(world.placements, 2):
            gap = abs(two.centre - one.centre)
            names = {one.subject.identity, two.subject.identity}
            assert len(names) == 2 or gap > WIDTH + 400
            if names == {"red cup", "blue cup"} and gap < WIDTH + 400:
                together += 1
            widths = one.layer.shape[1] / 2 + two.layer.shape[1] / 2
            assert gap > widths + 10  # nothing hides another
    assert together == 1


@pytest.mark.parametrize("seed", range(3))
def test_the_camera_passes_everything_alike(pictures: dict[str, Image], seed: int) -> None:
    """The first and the last of a day too: what is told of them has to be seen."""
    rng = np.random.default_rng(seed)
    cutouts = make_cutouts(pictures, red_shift=0, blue_shift=0)
    for day in (1, 2):
        world = build_world(day, cutouts, pictures, rng)
        x = walk(world.picture.shape[1], 150, FPS, rng).x
        for placement in world.placements:
            assert (abs(x - placement.centre) < WIDTH / 2).sum() / FPS > 4


def test_story_names_only_what_exists() -> None:
    names = {s.identity for s in SUBJECTS}
    rooms = {r.name for r in ROOMS}
    assert set(PASSING_LINES) == names
    for visit in VISITS:
        assert visit.room in rooms
        assert set(visit.subjects) <= names and len(set(visit.subjects)) == len(visit.subjects)
        assert set(visit.together) <= set(visit.subjects)
        assert {who for who, _ in visit.lines} <= set(visit.subjects)
    # The motorbike leaves on day 1 and is back on day 2.
    bike = [("motorbike" in v.subjects) for v in VISITS if v.day == 1]
    assert bike == [False, True, True, False, False]
    assert any("motorbike" in v.subjects for v in VISITS if v.day == 2)


def test_a_missing_picture_is_named(tmp_path: Path) -> None:
    with pytest.raises(GebError, match=r"coffee\.png"):
        read_pictures(tmp_path)
