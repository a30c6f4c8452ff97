from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from geb_assets.errors import GebError
from resources.video import frames, probe
from tests.films import number_of, numbered, steady, write_sound, write_video


def read(path: Path, start_s: float = 0.0, end_s: float = 1e9) -> list[tuple[int, float]]:
    """Number and time of every frame of a numbered video."""
    return [(number_of(f.read()), round(f.time_s, 3)) for f in frames(path, start_s, end_s)]


def test_every_frame_keeps_its_own_time(tmp_path: Path) -> None:
    """A variable frame rate: quick, then slow, then a long hold."""
    times = [0.0, 0.04, 0.08, 0.12, 0.5, 1.3, 1.34, 2.9, 3.0, 3.1, 5.0]
    path = write_video(tmp_path / "a.mp4", numbered(), times)
    assert read(path) == list(enumerate(times))
    assert read(path, 1.3, 3.0) == [(5, 1.3), (6, 1.34), (7, 2.9)]
    facts = probe(path)
    assert facts.frames == len(times)
    assert 5.0 < facts.duration_s < 5.2


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".mov", ".ts", ".avi"])
def test_containers(tmp_path: Path, suffix: str) -> None:
    codec = "mpeg4" if suffix == ".avi" else "libx264"
    path = write_video(tmp_path / f"a{suffix}", numbered(), steady(3), codec=codec)
    assert probe(path).frames == 30
    assert probe(path).duration_s == pytest.approx(3.0, abs=0.11)
    found = read(path)
    assert [number for number, _ in found] == list(range(30))
    assert [time for _, time in found] == pytest.approx(steady(3), abs=2e-3)


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".ts"])
def test_a_file_may_begin_at_any_timestamp(tmp_path: Path, suffix: str) -> None:
    path = write_video(tmp_path / f"a{suffix}", numbered(), [7.5 + t for t in steady(3)])
    assert probe(path).duration_s == pytest.approx(3.0, abs=0.11)
    assert read(path)[0] == (0, 0.0)
    assert read(path, 2.0, 2.3) == [(20, 2.0), (21, 2.1), (22, 2.2)]


def test_frames_that_lead_up_to_a_cut_do_not_count(tmp_path: Path) -> None:
    """A file cut without re-encoding holds frames before its start, hidden by an edit list."""
    times = [t - 1.0 for t in steady(4)]
    path = write_video(
        tmp_path / "a.mp4", numbered(), times, options={"avoid_negative_ts": "disabled"}
    )
    capture = cv2.VideoCapture(str(path))
    shown = capture.read()[1]
    found = read(path)
    assert found[0] == (number_of(np.asarray(shown, np.uint8)), 0.0)
    assert probe(path).frames == len(found)
    assert found[-1][0] - found[0][0] == round(10 * found[-1][1])


def test_a_wrong_frame_count_in_the_header_shifts_nothing(tmp_path: Path) -> None:
    """The header tells of thousands of frames; the timestamps say the truth."""
    path = write_video(tmp_path / "a.avi", numbered(), steady(4), codec="mpeg4")
    content = bytearray(path.read_bytes())
    at = content.find(b"avih") + 8 + 16  # total frames
    struct.pack_into("<I", content, at, 40_000)
    path.write_bytes(content)
    facts = probe(path)
    assert facts.frames == 40
    assert facts.duration_s == pytest.approx(4.0, abs=0.11)
    assert read(path, 3.8, 9.0) == [(38, 3.8), (39, 3.9)]


def turned(path: Path, matrix: tuple[int, ...]) -> Path:
    """The file with this display matrix in its track header."""
    content = bytearray(path.read_bytes())
    at = content.find(b"tkhd") + 4 + 4 + 20 + 16
    a, b, c, d, x, y = matrix
    values = [a << 16, b << 16, 0, c << 16, d << 16, 0, x << 16, y << 16, 1 << 30]
    content[at : at + 36] = struct.pack(">9i", *values)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "matrix", [(0, 1, -1, 0, 48, 0), (0, -1, 1, 0, 0, 64), (-1, 0, 0, -1, 64, 48)]
)
def test_rotation_is_that_of_opencv(tmp_path: Path, matrix: tuple[int, ...]) -> None:
    corner = np.zeros((48, 64, 3), np.uint8)
    corner[:20, :30] = (40, 80, 200)
    path = turned(write_video(tmp_path / "a.mp4", lambda _: corner, steady(3)), matrix)
    expected = np.asarray(cv2.VideoCapture(str(path)).read()[1])
    image = next(frames(path, 0.0, 1.0)).read()
    assert image.shape == expected.shape
    assert np.abs(image.astype(int) - expected.astype(int)).mean() < 3
    facts = probe(path)
    assert (facts.height, facts.width) == expected.shape[:2]


def whole(path: Path) -> bytes:
    return write_video(path, numbered(), steady(4), keyframes=5).read_bytes()


def cut_with_index_first(path: Path) -> Path:
    write_video(path, numbered(), steady(8), options={"movflags": "faststart"})
    content = path.read_bytes()
    assert content.find(b"moov") < content.find(b"mdat")
    path.write_bytes(content[: content.find(b"mdat") + (len(content) - content.find(b"mdat")) // 2])
    return path


def cut_without_index(path: Path) -> Path:
    content = whole(path)
    path.write_bytes(content[: content.find(b"moov") - 200])
    return path


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


BROKEN: dict[str, tuple[str, Callable[[Path], Path], str]] = {
    "missing": ("a.mp4", lambda path: path, "does not exist"),
    "empty": ("a.mp4", lambda path: written(path, b""), "is empty; copy it again"),
    "cut off, index first": ("a.mp4", cut_with_index_first, "cut off.*copy it again"),
    "cut off, index last": ("a.mp4", cut_without_index, "cut off.*copy it again"),
    "sound alone": ("a.m4a", lambda path: write_sound(path, 3.0), "has no video in it, only sound"),
    "text": ("a.mp4", lambda path: written(path, b"milk, eggs\n" * 99), "no readable video"),
    "half a second": (
        "a.mp4",
        lambda path: write_video(path, numbered(), steady(0.5)),
        "lasts 0.50 s .*give a longer video",
    ),
    "one frame": (
        "a.mp4",
        lambda path: write_video(path, numbered(), [0.0]),
        r"\(1 frames\).*give a longer video",
    ),
    "folder": ("folder", lambda path: path.mkdir() or path, "is a folder"),  # type: ignore[func-returns-value]
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_file_that_is_no_use_is_refused_in_one_line_that_names_it(
    tmp_path: Path, kind: str
) -> None:
    name, make, message = BROKEN[kind]
    path = make(tmp_path / name)
    with pytest.raises(GebError, match=message) as caught:
        probe(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_frame_size_that_changes_is_refused(tmp_path: Path) -> None:
    parts = [
        write_video(tmp_path / f"{width}.ts", numbered(width, 48), times)
        for width, times in ((64, steady(3)), (128, [3 + t for t in steady(3)]))
    ]
    path = tmp_path / "both.ts"
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    with pytest.raises(GebError, match=r"changes its frame size from 64x48 to 128x48 at 2.8 s"):
        list(frames(path, 0.0, 100.0))


def test_what_cannot_be_decoded_is_left_out_and_the_rest_keeps_its_time(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", numbered(), steady(8), keyframes=10)
    content = bytearray(path.read_bytes())
    begin = content.find(b"mdat") + 4
    length = content.find(b"moov") - begin
    middle = slice(begin + int(length * 0.4), begin + int(length * 0.55))
    content[middle] = bytes(len(content[middle]))
    path.write_bytes(content)
    held: list[float] = []
    found = [(f.time_s, number_of(f.read())) for f in frames(path, 0.0, 9.0, held=held.append)]
    assert sorted(round(time_s, 1) for time_s in held) == steady(8)
    numbers = [number for _, number in found]
    assert [round(10 * time_s) for time_s, _ in found] == numbers  # nothing is made up
    assert numbers[:15] == list(range(15))
    assert numbers[-40:] == list(range(40, 80))
    assert len(numbers) < 60


def test_a_damaged_container_is_read_on_behind_the_damage(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mkv", numbered(), steady(10), keyframes=10)
    content = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    third = len(content) // 3
    content[third : third + 900] = rng.bytes(900)
    path.write_bytes(content)
    found = read(path)
    assert found[-1] == (99, 9.9)
    assert all(number / 10 == time_s for number, time_s in found)
    assert 40 < len(found) < 100


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(GebError, match=r"gone.mp4 cannot be opened .*put it back"):
        list(frames(tmp_path / "gone.mp4", 0.0, 1.0))
