from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from geb_assets.adding import add_videos, set_parameters
from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.reading.memory import Memory
from geb_assets.reading.rows import COLUMNS, VECTORS
from geb_assets.reading.settings import SearchSettings
from tests import homes
from tests.models import fetched

SPOKEN = ["I put the red cup on the table.", "Lucia washes a pan.", "Shure takes the red cup."]


START_S = 36_000.0


def subtitles(folder: Path, count: int = 24) -> Path:
    """One line every 20 s from 10 o'clock."""
    path = folder / "A1_JAKE_DAY1_10000000.srt"
    cues = (
        f"{n + 1}\n{_cue(n * 20)} --> {_cue(n * 20 + 8)}\n{SPOKEN[n % 3]} {n}\n"
        for n in range(count)
    )
    path.write_text("\n".join(cues))
    return path


def _cue(seconds: int) -> str:
    return f"00:{seconds // 60:02d}:{seconds % 60:02d},000"


@pytest.fixture(scope="module")
def _told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("told")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEB_MODELS", str(fetched()))
        home = Home(folder / "home")
        add_videos(home, "talk", [], captions=[subtitles(folder)])
        homes.up_to_date(home)
    return home.path


@pytest.fixture
def told(_told: Path, models: Path, tmp_path: Path) -> Home:
    """A home with a built recording ``talk`` that has captions alone."""
    return homes.copy(_told, tmp_path / "geb_home")


def shelf(home: Home) -> list[str]:
    return sorted(path.name for path in (home.cache / "index" / "talk").iterdir())


def test_it_opens_from_the_tables_and_maps_its_index_afterwards(told: Home) -> None:
    first = Memory.open(told, "talk")
    index = shelf(told)
    assert len(index) == 1
    again = Memory.open(told.path, "talk")
    assert shelf(told) == index
    rows = {name: told.store.read(name, recording="talk") for name in (*COLUMNS, *VECTORS)}
    profile = told.profile()
    embedder = profile.roles["text_embedder"](told.models, None)
    in_ram = Memory.from_tables(
        rows, embedder, settings=SearchSettings(**profile.parameters["reading"])
    )
    for at in (None, START_S + 100.0, START_S + 333.0):
        units = first.search("who took the red cup", at=at)
        assert units and units == again.search("who took the red cup", at=at)
        assert units == in_ram.search("who took the red cup", at=at)
        assert all(at is None or unit.end_s <= at for unit in units)
    assert first.absent == ()


def test_a_memory_that_is_not_built_says_so(models: Path, tmp_path: Path) -> None:
    home = Home(tmp_path / "geb_home")
    with pytest.raises(GebError, match="no recording 'talk'"):
        Memory.open(home, "talk")
    add_videos(home, "talk", [], captions=[subtitles(tmp_path)])
    with pytest.raises(GebError, match=r"not built; run: geb build talk"):
        Memory.open(home, "talk")


def test_a_stale_memory_says_what_changed_and_a_new_index_replaces_the_old(told: Home) -> None:
    before = Memory.open(told, "talk")
    old = shelf(told)
    answer = before.search("red cup")
    set_parameters(told, "talk", {"graph.containment": 0.25})
    with pytest.raises(GebError, match=r"stale: graph of talk \(parameter containment .*geb build"):
        Memory.open(told, "talk")
    homes.up_to_date(told)
    after = Memory.open(told, "talk")
    assert len(shelf(told)) == 1 and shelf(told) != old
    assert after.search("red cup") != answer
    # Whoever still has the old one mapped goes on reading it.
    assert before.search("red cup") == answer


def test_variants_and_tokens_have_indexes_of_their_own(told: Home) -> None:
    Memory.open(told, "talk")
    Memory.open(told, "talk", variant="no_timeline_edges")
    Memory.open(told, "talk", settings=SearchSettings(tokens="whitespace"))
    assert len(shelf(told)) == 3


def test_an_unfinished_index_is_written_anew(told: Home) -> None:
    answer = Memory.open(told, "talk").search("pan")
    folder = told.cache / "index" / "talk" / shelf(told)[0]
    (folder / "index.json").unlink()
    (folder / "text.vectors.npy").write_bytes(b"")
    assert Memory.open(told, "talk").search("pan") == answer


def test_two_may_open_it_for_the_first_time_at_once(told: Home) -> None:
    with ThreadPoolExecutor(3) as pool:
        opened = list(pool.map(lambda _: Memory.open(told, "talk").search("cup"), range(3)))
    assert opened[0] and opened[0] == opened[1] == opened[2]
    assert len(shelf(told)) == 1


def test_failed_model_calls_do_not_close_a_memory(told: Home) -> None:
    entry = told.ledger.entries()["graph", "talk"]
    told.ledger.record([dataclasses.replace(entry, complete=False, failed=2)])
    assert Memory.open(told, "talk").search("cup")


def test_a_recording_with_video(home: Home) -> None:
    memory = Memory.open(home, "r")
    units = memory.search("a stop sign")
    kinds = {unit.kind for unit in units}
    assert {"observation", "episode", "clip"} <= kinds
    seen = next(unit for unit in units if unit.kind == "observation")
    assert seen.entity is not None
    rows = memory.appearances([seen.entity])
    assert seen.id in rows["observation"].to_list()
    assert memory.appearances([seen.entity], at=seen.start_s).filter(observation=seen.id).is_empty()
    clip = next(unit for unit in units if unit.kind == "clip")
    frames = memory.frames(clip.id, at=clip.start_s + 0.5)
    assert frames and all(frame.time_s <= clip.start_s + 0.5 for frame in frames)
    assert len(memory.frames(clip.id)) > len(frames)
    assert all(frame.jpeg[:2] == b"\xff\xd8" for frame in frames)
