"""Every format through the one front door, and each bad file ending in a plain line."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from geb_assets.clock import DAY_S, Clock
from geb_assets.errors import GebError
from geb_assets.writing.lines.imported import Imported, LineKind, split_speaker
from geb_assets.writing.lines.number import number_lines
from geb_assets.writing.lines.read import in_time_order, read_lines

EGOLIFE, SECONDS = Clock.parse("egolife"), Clock.parse("seconds")


def sync_unit(day: int, *lines: tuple[int, int, str, str]) -> dict[str, Any]:
    return {
        "video_file": f"DAY{day}_A1_JAKE_11094208.mp4",
        "data": [
            {"start": start, "end": end, "text": text, "type": kind}
            for start, end, text, kind in lines
        ],
    }


def write(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def rows(imported: Imported) -> list[tuple[Any, ...]]:
    return imported.lines.select("start_s", "end_s", "kind", "speaker", "text").rows()


def read(path: Path, kind: LineKind = "caption", **given: Any) -> Imported:
    return read_lines(path, kind=kind, clock=given.pop("clock", EGOLIFE), **given)


SYNC = [
    sync_unit(
        1,
        (110943, 110944, "I'm holding my phone.", "caption"),
        (110959, 111004, "Jake: Okay, at 19:30 then.", "transcript"),
    ),
    sync_unit(2, (110943, 110943, "I wave.", "caption")),
]
SYNC_ROWS = [
    (40_183.0, 40_184.0, "caption", "", "I'm holding my phone."),
    (40_199.0, 40_204.0, "transcript", "Jake", "Okay, at 19:30 then."),
    (DAY_S + 40_183.0, DAY_S + 40_183.0, "caption", "", "I wave."),
]


def test_sync_lines_lie_on_the_day_of_their_video(tmp_path: Path) -> None:
    assert rows(read(write(tmp_path / "A1_JAKE_DAY1_11000000.json", SYNC))) == SYNC_ROWS


@pytest.mark.parametrize("packed", ["Sync", "sync.tar.gz", "sync.tar"])
def test_a_folder_and_an_archive_read_as_their_files(tmp_path: Path, packed: str) -> None:
    folder = tmp_path / "Sync"
    folder.mkdir()
    write(folder / "A1_JAKE_DAY2_11000000.json", SYNC[1:])
    write(folder / "A1_JAKE_DAY1_11000000.json", SYNC[:1])
    write(folder / "._A1_JAKE_DAY1_11000000.json", "not JSON")
    write(folder / "notes.md", "about")
    path = tmp_path / packed
    if path != folder:
        with tarfile.open(path, "w:gz" if packed.endswith("gz") else "w") as archive:
            archive.add(folder, "Sync")
    imported = read(path)
    assert rows(imported) == SYNC_ROWS
    assert imported.lines["source"].to_list()[0] == "A1_JAKE_DAY1_11000000.json"
    assert imported.notes == ["files skipped that are no .json, .srt, .csv, .tsv or .txt: 1"]


def test_a_line_past_midnight_ends_on_the_next_day(tmp_path: Path) -> None:
    unit = sync_unit(1, (235958, 3, "Late.", "caption"))
    assert rows(read(write(tmp_path / "late.json", [unit])))[0][:2] == (86_398.0, 86_403.0)


def test_failed_captions_are_dropped_aloud(tmp_path: Path) -> None:
    """Regression: 'Error generating caption.' never becomes memory (spec 12.8)."""
    failed = "Error generating caption."
    unit = sync_unit(1, (110943, 110944, failed, "caption"), (110945, 110946, "I nod.", "caption"))
    released = [
        {"start_time": "11094300", "end_time": "11095800", "text": text, "date": "DAY1"}
        for text in (failed, "I nod.")
    ]
    write(tmp_path / "DAY1.json", [unit])
    write(tmp_path / "A1_30sec.json", released)
    imported = read(tmp_path)
    assert imported.lines["text"].to_list() == imported.episodes["text"].to_list() == ["I nod."]
    assert imported.notes == ["captions left out that read 'Error generating caption.': 2"]


def test_released_captions_are_episodes_of_the_scale_in_their_name(tmp_path: Path) -> None:
    item = {"start_time": "11094300", "end_time": "11120050", "text": "I sit.", "date": "DAY2"}
    for scale in ("30sec", "3min", "10min", "1h"):
        write(tmp_path / f"A1_JAKE_{scale}.json", [item])
    imported = read(tmp_path)
    assert imported.lines.is_empty()
    assert sorted(imported.episodes.rows()) == sorted(
        (scale, DAY_S + 40_183.0, DAY_S + 40_320.5, "I sit.")
        for scale in ("30sec", "3min", "10min", "1h")
    )


def test_released_seconds(tmp_path: Path) -> None:
    path = write(tmp_path / "x_30sec.json", [{"start_time": 30, "end_time": 60.0, "text": "A."}])
    assert read(path, clock=SECONDS).episodes.rows() == [("30sec", 30.0, 60.0, "A.")]


BILINGUAL = """\ufeff1
00:09:47,100 --> 00:09:50,766
Jake: 好然后一个秒表
Jake: Okay, then we need a stopwatch.

2
00:09:54,700 --> 00:09:55,700
 Shure：  时间戳呗
"""


def test_hourly_bilingual_subtitles_keep_the_last_line(tmp_path: Path) -> None:
    path = write(tmp_path / "A1_JAKE_DAY2_11000000.srt", BILINGUAL)
    assert rows(read(path, "transcript", start_s=5.0)) == [
        (pytest.approx(DAY_S + 40_187.1), pytest.approx(DAY_S + 40_190.766), "transcript", "Jake",
         "Okay, then we need a stopwatch."),
        (pytest.approx(DAY_S + 40_194.7), pytest.approx(DAY_S + 40_195.7), "transcript", "Shure",
         "时间戳呗"),
    ]  # fmt: skip


def test_plain_subtitles_count_from_the_start_and_keep_every_line(tmp_path: Path) -> None:
    text = (
        "1\r\n00:00:01.5 --> 00:00:04,000 X1:40\r\n<i>The kettle</i>\r\nboils.\r\n\r\n"
        "00:05,000 --> 00:04,000\r\nBack\r\n"
    )
    path = write(tmp_path / "kitchen.srt", text)
    imported = read(path, clock=SECONDS, start_s=10.0)
    assert rows(imported) == [
        (11.5, 14.0, "caption", "", "The kettle boils."),
        (15.0, 15.0, "caption", "", "Back"),
    ]
    assert imported.notes == ["lines that end before they start, kept as instants: 1"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "lines.csv",
            "start,end,text,kind,speaker\n1,2.5,I nod.,,\n"
            '00:00:03,00:00:04,"Hello, you",transcript,Jake\n\n6,7,Ann: Yes.,dialogue,\n',
        ),
        (
            "lines.txt",
            "start_s;end_s;text;kind\n1;2.5;I nod.;\n3;4;Jake: Hello, you;transcript\n"
            "6;7;Ann: Yes.;transcript",
        ),
        (
            "lines.json",
            [
                {"start": 6, "end": 7, "text": "Ann: Yes.", "kind": "transcript"},
                {"start": "1", "end": 2.5, "text": " I\n nod. "},
                {"start": "00:00:03", "end": "00:00:04", "text": "Hello, you", "speaker": "Jake",
                 "kind": "transcript"},
            ],
        ),
    ],
)  # fmt: skip
def test_plain_tables(tmp_path: Path, name: str, content: object) -> None:
    assert rows(read(write(tmp_path / name, content), clock=SECONDS)) == [
        (1.0, 2.5, "caption", "", "I nod."),
        (3.0, 4.0, "transcript", "Jake", "Hello, you"),
        (6.0, 7.0, "transcript", "Ann", "Yes."),
    ]


@pytest.mark.parametrize(
    ("start_s", "row", "expected"),
    [
        (DAY_S + 100.0, "5,6,a", DAY_S + 105.0),
        (DAY_S + 100.0, "00:01:00,00:01:05,a", DAY_S + 60.0),
        (None, "DAY3 00:01:00,DAY3 00:01:05,a", 2 * DAY_S + 60.0),
    ],
)
def test_days_of_plain_times(
    tmp_path: Path, start_s: float | None, row: str, expected: float
) -> None:
    path = write(tmp_path / "lines.csv", f"start,end,text\n{row}\n")
    assert rows(read(path, start_s=start_s))[0][0] == expected


def test_a_day_column(tmp_path: Path) -> None:
    path = write(
        tmp_path / "l.csv", "day,start,end,text\n2,00:01:00,00:01:05,a\nDAY1,00:01:00,00:02:00,b"
    )
    assert [row[0] for row in rows(read(path))] == [60.0, DAY_S + 60.0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Jake: Okay.", ("Jake", "Okay.")),
        ("Shure's GF：Hm: what?", ("Shure's GF", "Hm: what?")),
        ("(Lyrics): La", ("(Lyrics)", "La")),
        ("At 19:30 we go", ("", "At 19:30 we go")),
        ("I wanted to tell you this: no", ("", "I wanted to tell you this: no")),
        ("Well:", ("", "Well:")),
        ("18: yes", ("", "18: yes")),
    ],
)
def test_who_speaks(text: str, expected: tuple[str, str]) -> None:
    assert split_speaker(text) == expected


def test_equal_lines_are_kept_and_numbered_in_time_order(tmp_path: Path) -> None:
    line = (110943, 110944, "I nod.", "caption")
    write(tmp_path / "b_DAY1.json", [sync_unit(1, line, line)])
    write(tmp_path / "a_DAY1.json", [sync_unit(1, (110000, 110001, "I sit.", "caption"), line)])
    imported = read(tmp_path)
    numbered = number_lines(in_time_order([imported.lines]), "ego")
    assert numbered["line"].to_list() == [f"ego/l000000{place}" for place in range(4)]
    assert numbered["text"].to_list() == ["I sit.", "I nod.", "I nod.", "I nod."]
    assert numbered["visible_from"].equals(numbered["end_s"])


SRT_OK = "1\n00:00:01,000 --> 00:00:02,000\nHi\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.json", "", "empty.json is empty"),
        ("none.json", "[]", "none.json is empty"),
        ("broken.json", '[\n{"start": 1,\n}]', "broken.json line 3 is no valid JSON"),
        ("keyed.json", {"0_30": "#C C opens"}, "give a JSON list of {start, end, text}"),
        ("untimed.json", [{"text": "I nod."}], "untimed.json item 1 has no start"),
        ("numbers.json", [1, 2], "item 1 is no object"),
        ("wordless.json", [{"start": 1, "end": 2}], "wordless.json item 1 has no text"),
        ("endless.csv", "start,end,text\n1,,a\n", "endless.csv line 2 has no end"),
        ("untimed.txt", "I nod.\nI sit.\n", "no column start, end, text"),
        ("ragged.csv", "start,end,text\n1,2,a, b\n", "ragged.csv line 2 has 4 columns"),
        ("odd.csv", "start,end,text\n1,soon,a\n", "odd.csv line 2: 'soon' is no time"),
        ("before.csv", "start,end,text\n-1,2,a\n", "before.csv line 2: start -1 is no time"),
        ("kind.csv", "start,end,text,kind\n1,2,a,song\n", "kind 'song' is neither"),
        ("cue.srt", SRT_OK + "\n2\n00:00:03 --> soon\nYou\n", "cue.srt line 6"),
        ("head.srt", "Some words\n" + SRT_OK, "text without times before the first cue"),
        ("captions.json", [{"start_time": "1", "end_time": "2", "text": "a"}], "says no scale"),
        ("x_1h.json", [{"start_time": "a", "end_time": "2", "text": "a"}], "'a' is not written"),
        ("s.json", [{"video_file": "x.mp4", "data": []}], "carries a DAYn"),
        ("s.json", [sync_unit(1, (119999, 120000, "a", "caption"))], "unit 1 line 1: 119999"),
        ("s.json", [sync_unit(1, (110000, 110001, "a", "song"))], "'song' is neither"),
        ("s.json", [{"video_file": "DAY1", "data": [{"text": "a"}]}], "no start and end"),
    ],
)
def test_bad_files_name_the_file_and_the_mend(
    tmp_path: Path, name: str, content: object, message: str
) -> None:
    with pytest.raises(GebError) as error:
        read(write(tmp_path / name, content), clock=SECONDS)
    assert message in str(error.value) and name in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("video.mp4", b"\0\0\0\x18ftypmp42", "is no UTF-8 text"),
        ("latin.csv", "start,end,text\n1,2,caf\u00e9".encode("latin-1"), "line 2 is no UTF-8"),
        ("utf16.srt", SRT_OK.encode("utf-16"), "is no UTF-8 text"),
        ("cut.tar.gz", b"\x1f\x8b\x08\0\0\0\0\0", "is no whole tar archive"),
        ("text.tar.gz", b"hello", "is no whole tar archive"),
    ],
)
def test_bad_bytes(tmp_path: Path, name: str, data: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(GebError, match=message):
        read(tmp_path / name)


def test_a_truncated_archive(tmp_path: Path) -> None:
    write(tmp_path / "A_DAY1.json", SYNC * 500)
    with tarfile.open(tmp_path / "whole.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "A_DAY1.json", "A_DAY1.json")
    data = (tmp_path / "whole.tar.gz").read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(data[: len(data) // 2])
    with pytest.raises(GebError, match="is no whole tar archive"):
        read(tmp_path / "cut.tar.gz")


def test_missing_and_hollow_paths(tmp_path: Path) -> None:
    with pytest.raises(GebError, match="no file"):
        read(tmp_path / "absent.json")
    with pytest.raises(GebError, match=r"holds no \.json, \.srt or \.csv file"):
        read(tmp_path)
    with pytest.raises(GebError, match="holds no lines"):
        read(write(tmp_path / "a.csv", "start,end,text\n"))


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that cannot be read")
def test_a_file_of_a_folder_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").symlink_to("/proc/self/mem")
    with pytest.raises(GebError, match=r"a\.csv cannot be read \(.+\); mend it"):
        read_lines(tmp_path, kind="caption", clock=Clock("seconds"))


def test_times_from_the_start_need_a_start(tmp_path: Path) -> None:
    for name, text in (("a.srt", SRT_OK), ("a.csv", "start,end,text\n1,2,a\n")):
        with pytest.raises(GebError, match="give the recording's start"):
            read(write(tmp_path / name, text))


def test_two_subtitle_files_cannot_both_start_at_the_start(tmp_path: Path) -> None:
    for name in ("a.srt", "b.srt"):
        write(tmp_path / name, SRT_OK)
    with pytest.raises(GebError, match=r"a\.srt and b\.srt"):
        read(tmp_path, start_s=0.0)


def egolife() -> Path:
    if "GEB_DATA" not in os.environ:
        pytest.skip("GEB_DATA is not set: the EgoLife week is not here")
    return Path(os.environ["GEB_DATA"]) / "egolife"


@pytest.mark.slow
def test_the_week() -> None:
    imported = read(egolife() / "sync_A1_JAKE_week.tar.gz")
    kinds = dict(imported.lines["kind"].value_counts().iter_rows())
    assert kinds == {"caption": 69_256, "transcript": 55_600}
    transcripts = read(egolife() / "transcript_A1_JAKE_week.tar.gz", "transcript")
    assert transcripts.lines.height == 56_640


def test_the_released_day() -> None:
    episodes = read(egolife() / "multiscale_A1_JAKE_DAY1.tar.gz").episodes
    assert dict(episodes["scale"].value_counts().iter_rows()) == {
        "30sec": 329, "3min": 57, "10min": 18, "1h": 3,
    }  # fmt: skip
