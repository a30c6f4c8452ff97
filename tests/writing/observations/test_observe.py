"""Crops, and a clip from its tracks to its rows, on drawn pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import cv2
import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from geb_assets.parameters import Observations
from geb_assets.tables import TABLES
from geb_assets.writing.observations.crops import (
    crop_window,
    representative_crops,
    sharpness,
    shortlist,
    view_scores,
)
from geb_assets.writing.observations.filters import ClipFacts, reasons
from geb_assets.writing.observations.observe import group_clip, observe_clip
from geb_assets.writing.observations.subjects import Subject
from resources.images import Image

CLIP = ClipFacts("r/d001-00:00:30.00", 30.0, 60.0, 10.0, 320, 240, 3.0)
PARAMETERS = Observations(regroup_floor=0.9, regroup_match=0.95)
RED, BLUE = (0, 0, 220), (220, 0, 0)


def picture(*things: tuple[tuple[int, int, int], tuple[int, int, int, int]]) -> Image:
    image = np.full((240, 320, 3), 128, np.uint8)
    for colour, (x1, y1, x2, y2) in things:
        cv2.rectangle(image, (x1, y1), (x2 - 1, y2 - 1), colour, -1)
    return image


class Frames:
    """A clip: a red box, on the left for 3 s and on the right from second 4, and a blue one."""

    def __init__(self) -> None:
        self.read: Counter[int] = Counter()

    def box(self, frame: int) -> tuple[int, int, int, int]:
        return (20, 60, 80, 140) if frame < 40 else (200, 60, 260, 140)

    def __call__(self, frame: int) -> Image:
        self.read[frame] += 1
        return picture((RED, self.box(frame)), (BLUE, (120, 60, 180, 140)))


def rows(
    track: str, frames: Sequence[int], box: Callable[[int], tuple[int, ...]]
) -> list[dict[str, object]]:
    return [
        {
            "clip": CLIP.clip, "track": f"{CLIP.clip}/{track}",
            "frame": frame, "time_s": 30 + frame / 10,
            **dict(zip(("x1", "y1", "x2", "y2"), map(float, box(frame)), strict=True)),
            "confidence": 0.5 + 0.001 * frame, "label": "cup",
        }
        for frame in frames
    ]  # fmt: skip


def mean_colour(crops: Sequence[Image]) -> NDArray[np.float32]:
    means = np.array([crop.reshape(-1, 3).mean(axis=0) for crop in crops], np.float32)
    return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), np.float32)


def cosine(means: NDArray[np.float32]) -> NDArray[np.float32]:
    unit = means / np.linalg.norm(means, axis=1, keepdims=True)
    return np.asarray(unit @ unit.T, np.float32)


def tracks() -> tuple[Frames, pl.DataFrame]:
    frames = Frames()
    table = pl.DataFrame(
        rows("t000", range(15), frames.box)
        + rows("t001", range(0, 90, 2), lambda _: (120, 60, 180, 140))
        + rows("t002", range(45, 65), frames.box)
        + rows("t003", range(3, 6), lambda _: (0, 200, 30, 230))
    )
    return frames, table


def test_a_clip_from_tracks_to_rows() -> None:
    frames, table = tracks()
    groups = group_clip(table, CLIP, PARAMETERS, read=frames, embed=mean_colour, similarity=cosine)
    assert max(frames.read.values()) == 1
    assert [[t[-4:] for t in g.tracks] for g in groups] == [["t000", "t002"], ["t001"], ["t003"]]

    frames.read.clear()
    stored = pl.DataFrame({"frame": range(0, 300, 10), "time_s": [30.0 + s for s in range(30)]})
    found = observe_clip(
        groups, reasons([groups], [CLIP], PARAMETERS)[0], CLIP, stored, PARAMETERS, read=frames
    )
    assert max(frames.read.values()) == 1
    assert len(frames.read) <= 2 * 12
    for name in ("observations", "crops", "discards"):
        expected = [c for c in TABLES[name].schema if c not in ("recording", "segment")]
        assert getattr(found, name).columns == expected
    observations = found.observations
    assert observations["observation"].to_list() == [f"{CLIP.clip}/o000", f"{CLIP.clip}/o001"]
    red = observations.row(0, named=True)
    assert red["start_s"] == 30.0
    assert abs(red["end_s"] - 36.5) < 1e-9
    assert red["visible_s"] == 3.5  # 35 frames, not the 6.5 s from first to last
    assert red["visible_from"] == red["end_s"]
    assert (red["context_start_s"], red["context_end_s"]) == (-10.0, red["end_s"] + 40)
    assert red["scene_frames"][0] == 0
    assert found.crops["rank"].to_list() == [0, 1, 2, 3] * 2
    assert found.crops.filter(pl.col("rank") == 3)["frame"][0] >= 45
    for crop in found.crops.iter_rows(named=True):
        image = cv2.imdecode(np.frombuffer(crop["jpeg"], np.uint8), cv2.IMREAD_COLOR)
        assert max(image.shape) <= PARAMETERS.crop_side
        centre = image[image.shape[0] // 2, image.shape[1] // 2].astype(int)
        colour = RED if crop["observation"].endswith("o000") else BLUE
        assert np.abs(centre - colour).max() < 12
    assert found.discards.select("reason", "frames").rows() == [("brief", 3)]


def test_rows_do_not_depend_on_the_order_of_the_tracks() -> None:
    frames, table = tracks()
    one = group_clip(table, CLIP, PARAMETERS, read=frames, embed=mean_colour, similarity=cosine)
    two = group_clip(
        table.sample(fraction=1, shuffle=True, seed=3), CLIP, PARAMETERS,
        read=frames, embed=mean_colour, similarity=cosine,
    )  # fmt: skip
    for a, b in zip(one, two, strict=True):
        assert a.tracks == b.tracks
        np.testing.assert_array_equal(a.boxes, b.boxes)


def test_a_clip_without_tracks() -> None:
    frames, table = tracks()
    groups = group_clip(
        table.clear(), CLIP, PARAMETERS, read=frames, embed=mean_colour, similarity=cosine
    )
    stored = pl.DataFrame({"frame": [0], "time_s": [30.0]})
    found = observe_clip(groups, [], CLIP, stored, PARAMETERS, read=frames)
    assert (found.observations.height, found.crops.height, found.discards.height) == (0, 0, 0)


def test_the_sharpest_view_of_a_bin_is_kept() -> None:
    noise = np.random.default_rng(0).integers(0, 255, (240, 320, 3), dtype=np.uint8)
    blurred = np.asarray(cv2.GaussianBlur(noise, (0, 0), 3), np.uint8)
    subject = Subject(
        tracks=("t",), frames=np.arange(12, dtype=np.int32), times=np.arange(12) / 10,
        boxes=np.tile(np.array([50, 50, 120, 120], np.float32), (12, 1)),
        confidence=np.full(12, 0.5, np.float32), labels=np.array(["cup"] * 12),
    )  # fmt: skip
    sharp = {1, 5, 6, 11}
    [crops] = representative_crops(
        [subject], lambda f: noise if f in sharp else blurred, PARAMETERS, width=320, height=240
    )
    assert [crop.frame for crop in crops] == [1, 5, 6, 11]


def test_sharpness_compares_across_sizes() -> None:
    noise = np.random.default_rng(1).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    large = np.asarray(cv2.resize(noise, (256, 256), interpolation=cv2.INTER_CUBIC), np.uint8)
    even = np.full((64, 64, 3), 90, np.uint8)
    assert sharpness(even) == 0
    assert 0.3 < sharpness(large) / sharpness(noise) < 3


def test_a_cut_off_view_counts_half() -> None:
    boxes = np.array([[0, 10, 40, 50], [10, 10, 50, 50], [280, 10, 320, 50]], np.float32)
    subject = Subject(
        ("t",), np.arange(3, dtype=np.int32), np.arange(3.0), boxes,
        np.array([0.5, 0.5, 0.8], np.float32), np.array(["cup"] * 3),
    )  # fmt: skip
    np.testing.assert_allclose(view_scores(subject, 320, 240), [10, 20, 16], rtol=1e-6)


@given(st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0]), min_size=1, max_size=60), st.integers(1, 6))
def test_the_shortlist_takes_the_best_of_each_third(scores: list[float], bins: int) -> None:
    found = shortlist(np.array(scores), bins)
    edges = [0]
    count = min(bins, len(scores))
    for number in range(count):
        edges.append(edges[-1] + len(scores) // count + (number < len(scores) % count))
    assert len(found) == count
    for places, start, end in zip(found, edges, edges[1:], strict=False):
        assert 1 <= len(places) <= 3
        assert all(start <= place < end for place in places)
        assert max(scores[p] for p in places) == max(scores[start:end])
        assert places.tolist() == sorted(set(places.tolist()))


@given(
    st.tuples(*[st.floats(-50, 400)] * 4), st.floats(0, 0.5)
)  # fmt: skip
def test_a_crop_lies_inside_the_frame(box: tuple[float, float, float, float], pad: float) -> None:
    left, top, right, bottom = crop_window(np.array(box, np.float32), 320, 240, pad=pad)
    assert 0 <= left < right <= 320
    assert 0 <= top < bottom <= 240


def test_a_crop_is_padded_by_a_tenth() -> None:
    assert crop_window(np.array([100, 100, 150, 140], np.float32), 320, 240, pad=0.1) == (
        95,
        96,
        155,
        144,
    )
