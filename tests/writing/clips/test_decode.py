from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geb_assets.adding import add_videos
from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.registry import Recording, Video
from geb_assets.run import run_partition
from geb_assets.stages import STAGES
from geb_assets.writing.clips.decode import (
    SampledClip,
    Sampling,
    check_unchanged,
    decode_clips,
    segment_clips,
)
from resources.frames import decode_jpeg
from resources.video import probe
from tests.films import number_of, numbered, steady, write_video

CLIPS = next(stage for stage in STAGES if stage.asset == "clips")


def recording(path: Path, start_s: float) -> Recording:
    facts = probe(path)
    video = Video(path=str(path), size=1, mtime_ns=1, digest="", start_s=start_s,
                  duration_s=facts.duration_s, frames=facts.frames)  # fmt: skip
    return Recording(videos=(video,))


def sampled(
    path: Path, start_s: float, fps: float, *, only: slice = slice(None)
) -> list[SampledClip]:
    known = recording(path, start_s)
    spans = segment_clips("r", known, "r/d001-00h", 4)[only]
    with ThreadPoolExecutor(1) as pool:
        return list(decode_clips(known, spans, Sampling(4, fps), pool))


def seen(clip: SampledClip) -> list[tuple[int, float, int]]:
    """Number, time and painted number of each sampled frame."""
    return [(n, round(t, 3), number_of(decode_jpeg(j))) for n, t, j in clip.encoded()]


def test_frames_are_sampled_by_their_time_on_the_clock(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", numbered(), steady(10))
    clips = sampled(path, 2.0, 5.0)
    assert [(c.span.start_s, c.span.end_s) for c in clips] == [(2, 4), (4, 8), (8, 12)]
    assert seen(clips[0]) == [(10 + k, 2 + k / 5, 2 * k) for k in range(10)]
    assert seen(clips[1]) == [(k, 4 + k / 5, 20 + 2 * k) for k in range(20)]
    assert [time for _, time, _ in clips[1].stored] == [4.0, 5.0, 6.0, 7.0]


def test_a_variable_frame_rate_keeps_its_times(tmp_path: Path) -> None:
    """Nothing between 1.1 s and 3.0 s: the frames there are missing, the later ones unmoved."""
    times = [*steady(1.2), *[3.0 + t for t in steady(3)]]
    path = write_video(tmp_path / "a.mp4", numbered(), times)
    first, second = sampled(path, 0.0, 5.0)
    assert [n for n, _, _ in seen(first)] == [0, 1, 2, 3, 4, 5, 15, 16, 17, 18, 19]
    assert seen(second)[0] == (0, 4.0, 22)
    assert first.expected == len(first.jpegs)


@settings(deadline=None, max_examples=15)
@given(
    start=st.floats(0.0, 7.0), fps=st.sampled_from([2.0, 4.97, 5.0, 9.3]), first=st.integers(0, 3)
)
def test_a_clip_is_the_same_wherever_decoding_begins(
    tmp_path_factory: pytest.TempPathFactory, start: float, fps: float, first: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "steady.mp4"
    if not path.exists():
        write_video(path, numbered(), steady(14), keyframes=25)
    whole = sampled(path, start, fps)
    resumed = sampled(path, start, fps, only=slice(first, None))
    assert [seen(clip) for clip in resumed] == [seen(clip) for clip in whole[first:]]
    for clip in whole:
        numbers = [number for number, _, _ in seen(clip)]
        assert numbers == sorted(set(numbers))
        assert all(number >= 0 for number in numbers)
        assert all(clip.span.start_s <= t < clip.span.end_s for _, t, _ in clip.jpegs)
        assert len(numbers) >= clip.expected


def damaged(path: Path, begin: float, end: float) -> None:
    """Blanks a share of the pictures' bytes."""
    content = bytearray(path.read_bytes())
    first = content.find(b"mdat") + 4
    length = content.find(b"moov") - first
    part = slice(first + int(length * begin), first + int(length * end))
    content[part] = bytes(len(content[part]))
    path.write_bytes(content)


def test_a_clip_that_cannot_be_decoded_is_recorded_and_the_rest_goes_on(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", numbered(), steady(12), keyframes=10)
    damaged(path, 0.34, 0.62)
    home = Home(tmp_path / "home")
    add_videos(home, "r", [path], clip_seconds=4)
    run_partition(home, STAGES, CLIPS, "r/d001-00h", "run")
    rows = home.store.read("clips")
    assert rows["status"].to_list() == ["ok", "failed", "ok"]
    assert rows["error"][1].endswith("of 20 frames could be decoded")
    assert rows["frames"][1] == 0
    assert set(home.store.read("frames")["clip"]) == {rows["clip"][0], rows["clip"][2]}
    assert rows["frames"][2] == 20


def test_a_last_clip_shorter_than_a_frame_has_not_failed(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", numbered(), [t + 0.13 for t in steady(4)], rate=10)
    home = Home(tmp_path / "home")
    add_videos(home, "r", [path], clip_seconds=4, starts=["4.03"])
    run_partition(home, STAGES, CLIPS, "r/d001-00h", "run")
    assert home.store.read("clips")["status"].to_list() == ["ok", "ok"]


@pytest.mark.parametrize("change", ["gone", "other"])
def test_a_file_that_is_no_longer_the_one_added_is_named(tmp_path: Path, change: str) -> None:
    path = write_video(tmp_path / "a.mp4", numbered(), steady(3))
    home = Home(tmp_path / "home")
    add_videos(home, "r", [path])
    known = home.registry().recording("r")
    spans = segment_clips("r", known, "r/d001-00h", 30)
    check_unchanged(known, spans)
    path.unlink()
    if change == "other":
        write_video(path, numbered(), steady(4))
    with pytest.raises(GebError, match=r"a\.mp4 (is gone; put it back|changed since)"):
        run_partition(home, STAGES, CLIPS, "r/d001-00h", "run")
