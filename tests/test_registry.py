from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geb_assets.errors import GebError
from geb_assets.registry import (
    FILE,
    Recording,
    Registry,
    Video,
    check_name,
    edit,
    load,
    segment_recording,
    segment_span,
)

VIDEO = Video(
    path="/v/it's \"a\" ünï.mp4", size=1, mtime_ns=2, digest="d", start_s=0.5, duration_s=9.0,
    frames=90,
)  # fmt: skip


def adding(name: str, recording: Recording) -> None:
    edit(Path(os.environ["GEB_HOME"]), lambda r: with_(r, name, recording))


def with_(registry: Registry, name: str, recording: Recording) -> Registry:
    return registry.model_copy(update={"recordings": {**registry.recordings, name: recording}})


@pytest.mark.parametrize("name", ["ego", "A1_JAKE", "2024-05-01", "a.b", "x" * 64])
def test_plain_names_serve(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "a/b", "it's", 'say"so"', "küche", "..", ".hidden", "-x", "a b", "a\n", "x" * 65, "a~b",
     "a|b", "a\\b", "日"],
)  # fmt: skip
def test_names_that_would_be_no_folder_or_key_are_refused(name: str) -> None:
    with pytest.raises(GebError, match="cannot name a recording; use letters"):
        check_name(name)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    recording = Recording(
        clock="egolife",
        cast=("Jake", "Änne"),
        wearer="Jake",
        videos=(VIDEO, VIDEO.model_copy(update={"start_s": 20.0})),
        parameters={"association": {"theta_match": 0.9}, "observations": {
            "overlay_regions": ((0.0, 0.0, 0.1, 0.1),)}},
    )  # fmt: skip
    after = edit(tmp_path, lambda r: with_(r, "a", recording))
    assert load(tmp_path).recording("a").videos == recording.videos
    assert load(tmp_path).model_dump(mode="json") == after.model_dump(mode="json")
    edit(tmp_path, lambda r: r.model_copy(update={"recordings": {}}))
    assert load(tmp_path) == Registry()
    assert not list(tmp_path.glob("*.partial"))


HAND_WRITTEN = """\
# my recordings
profile = "embedded" # the only one

[recordings.a]  # the kitchen
clock = "seconds"
# nobody else
cast = ["Jake"]

[recordings.a.parameters.association]
theta_match = 0.9 # by inspection

# the garden
[recordings.b]
clock = "egolife"
"""


def test_comments_and_order_survive_an_edit(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(HAND_WRITTEN)
    changed = {"association": {"theta_match": 0.91}}
    edit(
        tmp_path,
        lambda r: with_(r, "a", r.recording("a").model_copy(update={"parameters": changed})),
    )
    text = (tmp_path / FILE).read_text()
    for comment in ("# my recordings", "# the only one", "# the kitchen", "# nobody else",
                    "# the garden", "# by inspection"):  # fmt: skip
        assert comment in text, text
    assert load(tmp_path).recording("a").parameters == changed
    assert load(tmp_path).recording("b").clock == "egolife"


@pytest.mark.parametrize(
    "text",
    [
        "[recordings.a]\nclock = 'egolife'\n",
        "recordings.a.clock = 'egolife'\nrecordings.b.clock = 'seconds'\n",
        "recordings = {a = {clock = 'egolife'}}\n",
        "[recordings.a]\nclock='egolife'\n[recordings.b]\n[recordings.a.parameters.graph]\n"
        "same_instance=0.4\n",
        "[recordings]\n[recordings.b]\nvideos = []\n",
        "# only a comment\n",
        "",
    ],
)
def test_any_way_of_writing_it_can_be_edited(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text)
    before = load(tmp_path)
    recording = Recording(videos=(VIDEO,), parameters={"graph": {"same_instance": 0.3}})
    edit(tmp_path, lambda r: with_(r, "new", recording))
    after = load(tmp_path)
    assert after.recording("new").videos == (VIDEO,)
    for name, kept in before.recordings.items():
        assert after.recording(name) == kept


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[recordings.a\n", "is no valid TOML"),
        ("profile = 3\n", "profile: Input should be a valid string"),
        ("[recordings.a]\nclok = 'egolife'\n", "recordings.a.clok: Extra inputs"),
        ("[recordings.a]\nclock = 'wall'\n", "recordings.a.clock"),
    ],
)
def test_a_mistake_by_hand_is_one_line_that_names_the_file(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(GebError) as caught:
        load(tmp_path)
    assert message in str(caught.value)
    assert str(tmp_path / FILE) in str(caught.value)
    assert "\n" not in str(caught.value)
    with pytest.raises(GebError):
        edit(tmp_path, lambda r: r)
    assert (tmp_path / FILE).read_text() == text


def test_bytes_that_are_no_text_are_said_so(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"profile = '\xff'\n")
    with pytest.raises(GebError, match="is no valid TOML"):
        load(tmp_path)


def test_edits_at_once_lose_nothing(tmp_path: Path) -> None:
    def add(number: int) -> None:
        edit(tmp_path, lambda r: with_(r, f"r{number}", Recording()))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(16)))
    assert set(load(tmp_path).recordings) == {f"r{n}" for n in range(16)}


def test_edits_of_two_processes_lose_nothing(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom tests.test_registry import adding, Recording\n"
        "for n in range(5): adding(f'{sys.argv[1]}{n}', Recording())"
    )
    environment = {**os.environ, "GEB_HOME": str(tmp_path)}
    started = [
        subprocess.Popen([sys.executable, "-c", script, name], env=environment) for name in "ab"
    ]
    assert [process.wait(120) for process in started] == [0, 0]
    assert len(load(tmp_path).recordings) == 10


def test_an_edit_that_fails_changes_nothing(tmp_path: Path) -> None:
    edit(tmp_path, lambda r: with_(r, "a", Recording()))
    before = (tmp_path / FILE).read_bytes()

    def broken(registry: Registry) -> Registry:
        raise GebError("no")

    with pytest.raises(GebError, match="no"):
        edit(tmp_path, broken)
    assert (tmp_path / FILE).read_bytes() == before


def test_a_home_that_is_no_folder_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GebError, match=r"file/home is no folder.*GEB_HOME"):
        edit(tmp_path / "file" / "home", lambda r: r)


@settings(deadline=None)
@given(start=st.floats(0, 10**6), length=st.floats(2.0, 9000.0))
def test_segments_are_the_hours_with_footage(start: float, length: float) -> None:
    video = VIDEO.model_copy(update={"start_s": start, "duration_s": length})
    registry = Registry(recordings={"r": Recording(videos=(video,))})
    spans = [segment_span(key) for key in registry.segments("r")]
    assert spans == sorted(spans)
    assert [segment_recording(key) for key in registry.segments("r")] == ["r"] * len(spans)
    assert all(end - begin == 3600.0 for begin, end in spans)
    covered = sum(min(end, start + length) - max(begin, start) for begin, end in spans)
    assert covered == pytest.approx(length, abs=0.05)


def test_a_recording_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(GebError, match=r"no recording 'b' here \(a\); add it with: geb add b"):
        Registry(recordings={"a": Recording()}).recording("b")


def test_an_hour_that_a_file_only_touches_is_no_segment() -> None:
    for start, length in ((3590.0, 10.002), (3599.99, 20.0)):
        video = VIDEO.model_copy(update={"start_s": start, "duration_s": length})
        (segment,) = Registry(recordings={"r": Recording(videos=(video,))}).segments("r")
        assert segment == ("r/d001-00h" if start < 3595 else "r/d001-01h")
