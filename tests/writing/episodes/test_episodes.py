from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geb_assets.clock import DAY_S, Clock
from geb_assets.tables import TABLES
from geb_assets.writing.episodes.build import build_episodes
from geb_assets.writing.episodes.from_lines import episodes_from_lines
from geb_assets.writing.lines.imported import EPISODES, LINES
from geb_assets.writing.lines.number import number_lines
from geb_assets.writing.lines.read import in_time_order, read_lines

WORDS = {"3min": 20, "10min": 30, "1h": 100}


def lines(*told: tuple[float, float, str], speaker: str | None = None) -> pl.DataFrame:
    kind = "caption" if speaker is None else "transcript"
    rows = [(start, end, kind, speaker or "", text, "test") for start, end, text in told]
    frame = in_time_order([pl.DataFrame(rows, schema=LINES, orient="row")])
    return number_lines(frame, "ego")


def clip(start: float, end: float, length: int = 30) -> dict[str, Any]:
    return {
        "clip": f"ego/{start}", "start_s": start, "end_s": end, "cell": int(start // length),
        "grid_s": length, "status": "ok",
    }  # fmt: skip


def described(clip: str, start: float, end: float, name: str, **told: Any) -> dict[str, Any]:
    return {
        "clip": clip, "observation": f"{clip}/{start}", "start_s": start, "end_s": end,
        "visible_from": end, "status": "ok", "object_name": name, "location": "unclear",
        "action": "none", **told,
    }  # fmt: skip


def table(name: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    schema = TABLES[name].schema
    if not rows:
        return TABLES[name].empty()
    return pl.DataFrame(rows, schema={key: schema[key] for key in rows[0]})


def build(
    told: pl.DataFrame | None = None,
    released: list[tuple[str, float, float, str]] | None = None,
    clips: list[dict[str, Any]] | None = None,
    descriptions: list[dict[str, Any]] | None = None,
) -> pl.DataFrame:
    return build_episodes(
        "ego",
        lines=lines() if told is None else told,
        released=pl.DataFrame(released or [], schema=EPISODES, orient="row"),
        clips=table("clips", clips or []),
        descriptions=table("descriptions", descriptions or []),
        words=WORDS,
    )


def of_scale(episodes: pl.DataFrame, scale: str) -> list[tuple[Any, ...]]:
    chosen = episodes.filter(pl.col("scale") == scale)
    return chosen.select("episode", "start_s", "end_s", "visible_from", "text", "source").rows()


def test_narration_and_dialogue_in_one_readable_text() -> None:
    told = pl.concat(
        [
            lines((40_183.0, 40_184.0, "I nod"), (40_190.0, 40_191.0, "I sit.")),
            lines((40_185.0, 40_187.0, 'Okay, "then".'), speaker="Jake"),
            lines((40_188.0, 40_189.0, "Yes"), speaker=""),
        ]
    )
    (row,) = of_scale(build(told), "30sec")
    assert row == (
        "ego/30sec/d001-11:09:30.00", 40_183.0, 40_191.0, 40_191.0,
        "I nod. Jake: \"Okay, 'then'.\" \"Yes\" I sit.", "lines",
    )  # fmt: skip


def test_a_line_across_an_edge_is_told_once_and_not_before_its_end() -> None:
    """Regression: lines that cross a 30 s edge are lost in the released captions (spec 12.9)."""
    first, second = of_scale(build(lines((28.0, 33.0, "I pour."), (40.0, 41.0, "I sit."))), "30sec")
    assert first[1:5] == (28.0, 30.0, 33.0, "I pour.")
    assert second[1:5] == (40.0, 41.0, 41.0, "I sit.")


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 90)), max_size=25),
    st.sampled_from([0.0, DAY_S - 200]),
)
def test_every_line_is_in_exactly_the_unit_of_its_start(
    spans: list[tuple[int, int]], offset: float
) -> None:
    told = [
        (offset + start, offset + start + length, f"line {place} here.")
        for place, (start, length) in enumerate(spans)
    ]
    episodes = episodes_from_lines(lines(*told))
    for start, end, text in told:
        holding = episodes.filter(pl.col("text").str.contains(text, literal=True))
        assert holding.height == 1
        (row,) = holding.rows(named=True)
        unit = start // 30
        assert row["start_s"] // 30 == unit and row["end_s"] <= (unit + 1) * 30
        assert row["start_s"] <= row["end_s"] and row["visible_from"] >= end


def test_equal_lines_are_told_once() -> None:
    (row,) = of_scale(build(lines((1.0, 2.0, "I nod."), (1.0, 2.0, "I nod."))), "30sec")
    assert row[4] == "I nod."


def test_a_clip_without_lines_tells_what_it_shows() -> None:
    clips = [clip(30.0, 60.0), clip(60.0, 71.0)]
    told = [
        described("ego/30.0", 31.0, 40.0, "Red cup", location="on the table", action="lifted."),
        described("ego/30.0", 35.0, 44.0, "red cup", action="lifted", visible_from=80.0),
        described("ego/30.0", 41.0, 43.0, "person", action="walks"),
        described("ego/30.0", 42.0, 43.0, "ghost", status="failed"),
        described("ego/60.0", 61.0, 64.0, "unclear"),
    ]
    first, second = of_scale(build(clips=clips, descriptions=told), "30sec")
    assert first == (
        "ego/30sec/d001-00:00:30.00", 30.0, 60.0, 80.0,
        "Seen: Red cup (on the table), person. Red cup: lifted. Person: walks.", "observations",
    )  # fmt: skip
    assert second[1:5] == (60.0, 71.0, 71.0, "Nothing that could be named is seen.")


def test_a_unit_takes_its_released_caption_then_its_lines_then_its_clips() -> None:
    clips = [clip(0.0, 30.0), clip(30.0, 60.0), clip(60.0, 90.0)]
    shown = [described(f"ego/{at}", at + 1, at + 5, "cup") for at in (0.0, 30.0, 60.0)]
    told = lines((2.0, 3.0, "I nod."), (32.0, 33.0, "I sit."))
    episodes = build(told, [("30sec", 1.0, 29.0, "I rest.")], clips, shown)
    assert [row[4:] for row in of_scale(episodes, "30sec")] == [
        ("I rest.", "released"),
        ("I sit.", "lines"),
        ("Seen: cup.", "observations"),
    ]


def test_ten_second_clips_share_their_units_episode() -> None:
    clips = [clip(at, at + 10, 10) for at in (30.0, 40.0, 50.0)]
    shown = [described("ego/30.0", 31.0, 34.0, "cup"), described("ego/50.0", 52.0, 55.0, "pan")]
    (row,) = of_scale(build(clips=clips, descriptions=shown), "30sec")
    assert row[1:5] == (30.0, 60.0, 60.0, "Seen: cup, pan.")


def test_coarser_scales_are_composed_day_by_day() -> None:
    told = [
        (day * DAY_S + at, day * DAY_S + at + 5, f"Day {day} at {at}.")
        for day in range(3)
        for at in range(75_600, 76_320, 60)
    ]
    episodes = build(lines(*told))
    assert dict(episodes["scale"].value_counts().iter_rows()) == {
        "30sec": 36, "3min": 12, "10min": 3, "1h": 3,
    }  # fmt: skip
    for row in episodes.iter_rows(named=True):
        day = int(row["start_s"] // DAY_S)
        assert f"Day {day} " in row["text"]
        assert all(f"Day {other} " not in row["text"] for other in range(3) if other != day)
        assert len(row["text"].split()) <= WORDS.get(row["scale"], 10**6)
    assert episodes["episode"].n_unique() == episodes.height
    assert (episodes["visible_from"] >= episodes["end_s"]).all()


def test_a_coarse_caption_waits_for_the_last_line_it_may_quote() -> None:
    coarse = of_scale(build(lines((170.0, 200.0, "I talk on and on."))), "3min")
    assert [row[1:4] for row in coarse] == [(170.0, 180.0, 200.0)]


def test_a_later_line_never_changes_an_earlier_caption() -> None:
    early = [(float(at), at + 2.0, f"I see thing {at % 7} now.") for at in range(0, 600, 5)]
    before = build(lines(*early))
    after = build(lines(*early, *[(at + 7200.0, end + 7200.0, text) for at, end, text in early]))
    assert after.filter(pl.col("visible_from") <= 600.0).equals(
        before.filter(pl.col("visible_from") <= 600.0)
    )


def test_released_coarse_captions_win_where_they_lie() -> None:
    told = [(float(at), at + 2.0, "I nod.") for at in range(0, 720, 30)]
    coarse = of_scale(build(lines(*told), [("3min", 180.0, 360.0, "I nod much.")]), "3min")
    assert [(row[1], row[2], row[5]) for row in coarse] == [
        (0.0, 180.0, "composed"),
        (180.0, 360.0, "released"),
        (360.0, 540.0, "composed"),
        (540.0, 720.0, "composed"),
    ]


def test_nothing_gives_nothing() -> None:
    assert build().equals(TABLES["episodes"].empty())


@pytest.mark.slow
def test_the_week_has_its_units() -> None:
    if "GEB_DATA" not in os.environ:
        pytest.skip("GEB_DATA is not set: the EgoLife week is not here")
    path = Path(os.environ["GEB_DATA"]) / "egolife" / "sync_A1_JAKE_week.tar.gz"
    imported = read_lines(path, kind="caption", clock=Clock.parse("egolife"))
    episodes = episodes_from_lines(number_lines(imported.lines, "week"))
    assert episodes.height == 6_223
