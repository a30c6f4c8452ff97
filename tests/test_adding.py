"""Taking files in: what is there already, what lies elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from geb_assets.adding import add_videos
from geb_assets.errors import GebError
from geb_assets.home import Home
from tests.films import numbered, steady, write_video


@pytest.fixture
def film(tmp_path: Path) -> Path:
    return write_video(tmp_path / "a.mp4", numbered(), steady(4))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def starts(home: Home) -> list[float]:
    return [video.start_s for video in home.registry().recording("r").videos]


def test_the_same_footage_is_not_taken_twice_by_chance(home: Home, film: Path) -> None:
    copy = Path(shutil.copy(film, film.with_name("b.mp4")))
    with pytest.raises(GebError, match="the same footage"):
        add_videos(home, "r", [film, copy])
    add_videos(home, "r", [film])
    with pytest.raises(GebError, match="the same footage"):
        add_videos(home, "r", [copy])
    add_videos(home, "r", [copy], starts=["10"])
    assert starts(home) == [0.0, 10.0]


def test_another_spelling_of_a_path_is_the_same_file(home: Home, film: Path) -> None:
    add_videos(home, "r", [film])
    add_videos(home, "r", [film.parent / "home" / ".." / film.name])
    assert starts(home) == [0.0]


def test_a_file_that_moved_keeps_its_time(home: Home, film: Path) -> None:
    add_videos(home, "r", [film], starts=["7"])
    moved = film.rename(film.with_name("elsewhere.mp4"))
    add_videos(home, "r", [moved])
    assert starts(home) == [7.0]
    assert home.registry().recording("r").videos[0].path == str(moved)


@pytest.mark.parametrize(("start", "noted"), [(1, False), (43, False), (5000, True)])
def test_lines_far_from_all_footage_are_told_of(
    home: Home, film: Path, start: int, noted: bool
) -> None:
    said = film.with_name("said.csv")
    said.write_text(f"start,end,text\n{start},{start + 2},hello\n")
    added = add_videos(home, "r", [film], captions=[said])
    assert any("near the footage" in note for note in added.notes) == noted


def test_the_same_lines_are_not_taken_twice(home: Home, film: Path) -> None:
    said = film.with_name("said.csv")
    said.write_text("start,end,text\n1,2,hello\n")
    with pytest.raises(GebError, match="given twice, as captions and transcripts"):
        add_videos(home, "r", [film], captions=[said], transcripts=[said])
    add_videos(home, "r", [film], captions=[said])
    add_videos(home, "r", [], captions=[said])
    (film.parent / "copy").mkdir()
    copy = Path(shutil.copy(said, film.parent / "copy"))
    with pytest.raises(GebError, match="the same lines"):
        add_videos(home, "r", [], transcripts=[copy])
    assert [file.path for file in home.registry().recording("r").lines] == [str(said)]
