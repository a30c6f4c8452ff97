from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geb_assets.registry import SHORTEST_S, Recording, Registry, Video, segment_span
from geb_assets.writing.clips.grid import ClipSpan, Span, clip_spans, first_tick, tick

GRIDS = [2, 4, 10, 30, 60, 3600]


def footage(pieces: list[tuple[float, float]]) -> list[Span]:
    """Files by gap before and length, s; a gap may be slightly negative, as rounding makes it."""
    files, at = list[Span](), 0.0
    for number, (gap, length) in enumerate(pieces):
        at = max(0.0, at + gap)
        files.append(Span(number, at, at + length))
        at += length
    return files


PIECES = st.lists(
    st.tuples(
        st.sampled_from([-0.05, -0.001, 0.0, 0.002, 0.5]) | st.floats(0.0, 4000.0),
        st.floats(2.0, 4000.0) | st.sampled_from([2.0, 30.0, 30.001, 30.03, 60.002, 3600.004]),
    ),
    min_size=1,
    max_size=6,
)


@settings(deadline=None, max_examples=300)
@given(pieces=PIECES, grid=st.sampled_from(GRIDS), offset=st.floats(0.0, 90_000.0))
def test_every_instant_lies_in_exactly_one_clip(
    pieces: list[tuple[float, float]], grid: int, offset: float
) -> None:
    files = [Span(f.video, f.start_s + offset, f.end_s + offset) for f in footage(pieces)]
    recording = Recording(
        videos=tuple(
            Video(path=f"{f.video}", size=1, mtime_ns=1, digest="", start_s=f.start_s,
                  duration_s=f.end_s - f.start_s, frames=9)
            for f in files
        )
    )  # fmt: skip
    segments = Registry(recordings={"r": recording}).segments("r")
    by_segment = [clip_spans("r", files, grid, segment_span(key)) for key in segments]
    assert all(by_segment)  # no hour without a clip
    spans = [span for own in by_segment for span in own]

    assert len({span.clip for span in spans}) == len(spans)
    assert [span.clip for span in spans] == sorted(span.clip for span in spans)
    assert all(a.end_s <= b.start_s for a, b in pairwise(spans))
    for span in spans:
        assert span.cell * grid <= span.start_s < span.end_s <= (span.cell + 1) * grid
        file = files[span.video]
        assert file.start_s <= span.start_s < span.end_s <= file.end_s
    # A clip is cut by the grid, the hour and the file alone.
    for span in spans:
        edges = {files[span.video].start_s, span.cell * grid}
        assert span.start_s in edges
    ends = [f.end_s for f in files]
    covered = sum(span.end_s - span.start_s for span in spans)
    union = sum(
        min(f.end_s, after.start_s if after else math.inf) - f.start_s
        for f, after in zip(files, [*files[1:], None], strict=True)
    )
    assert union - covered <= 2 * SHORTEST_S * len(ends) + 1e-6
    assert covered <= union + 1e-6


@pytest.mark.parametrize("second", [2.002, 2.01])
def test_a_piece_too_short_for_a_frame_makes_no_clip_of_its_own(second: float) -> None:
    """A file that runs 2 ms over the grid, and one that follows it at once, share no clip id."""
    files = [Span(0, 0.0, second), Span(1, second, 6.0)]
    spans = clip_spans("r", files, 2, (0.0, 3600.0))
    assert [(span.start_s, span.end_s) for span in spans] == [
        (0.0, 2.0), (second, 4.0), (4.0, 6.0)
    ]  # fmt: skip


def test_clips_of_the_readme() -> None:
    spans = clip_spans("ego", [Span(0, 48_038.0, 48_109.1)], 30, (46_800.0, 50_400.0))
    assert spans == [
        ClipSpan("ego/d001-13:20:38.00", 1601, 0, 48_038.0, 48_060.0),
        ClipSpan("ego/d001-13:21:00.00", 1602, 0, 48_060.0, 48_090.0),
        ClipSpan("ego/d001-13:21:30.00", 1603, 0, 48_090.0, 48_109.1),
    ]


@settings(deadline=None)
@given(
    cell=st.integers(0, 5000),
    grid=st.sampled_from(GRIDS),
    fps=st.sampled_from([1.0, 4.97, 5.0, 10.0, 29.97]) | st.floats(0.2, 60.0),
    share=st.floats(0.0, 1.0, exclude_max=True),
)
def test_frames_of_a_clip_are_counted_from_nought(
    cell: int, grid: int, fps: float, share: float
) -> None:
    time_s = (cell + share) * grid
    number = tick(time_s, fps) - first_tick(cell, grid, fps)
    assert 0 <= number <= math.ceil(grid * fps)


@settings(deadline=None)
@given(number=st.integers(0, 10**7), fps=st.sampled_from([1.0, 5.0, 10.0, 12.5, 29.97, 30.0]))
def test_a_tick_begins_at_its_own_time_however_it_was_rounded(number: int, fps: float) -> None:
    assert tick(number / fps, fps) == number
    assert tick(round(number / fps, 6), fps) == number
