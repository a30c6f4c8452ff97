from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geb_assets.clock import DAY_S, Clock, day_of, stamp
from geb_assets.errors import GebError

EGOLIFE, SECONDS = Clock.parse("egolife"), Clock.parse("seconds")


@settings(deadline=None)
@given(day=st.integers(1, 30), second=st.integers(0, 86_399))
def test_a_shown_time_reads_back_as_itself(day: int, second: int) -> None:
    time = (day - 1) * DAY_S + second
    assert EGOLIFE.seconds(EGOLIFE.show(time)) == time
    assert SECONDS.seconds(SECONDS.show(second)) == second
    assert day_of(time) == day


@settings(deadline=None)
@given(st.lists(st.integers(0, 30 * 8_640_000), min_size=2, unique=True))
def test_stamps_sort_in_time_order(centis: list[int]) -> None:
    times = [value / 100 for value in centis]
    assert sorted(times, key=stamp) == sorted(times)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DAY1 13:20:38", 48_038.0),
        ("day 2 00:00:01.5", 86_401.5),
        ("DAY3, 00:10", 2 * DAY_S + 600),
    ],
)
def test_egolife_times(text: str, expected: float) -> None:
    assert EGOLIFE.seconds(text) == expected


def test_a_time_without_its_day_takes_the_default() -> None:
    assert EGOLIFE.seconds("00:00:05", default_day=2) == DAY_S + 5
    with pytest.raises(GebError, match="names no day"):
        EGOLIFE.seconds("00:00:05")


@pytest.mark.parametrize(
    "text", ["", "soon", "DAY1", "DAY1 25:00:00", "DAY1 10:61:00", "DAY0 10:00"]
)
def test_what_is_no_time_is_said_so(text: str) -> None:
    with pytest.raises(GebError, match="write it like 'DAY1 13:20:38'"):
        EGOLIFE.seconds(text)


def test_plain_seconds_belong_to_the_seconds_clock() -> None:
    assert SECONDS.seconds("12.5") == 12.5
    assert SECONDS.seconds("26:00:00") == 93_600.0
    with pytest.raises(GebError):
        EGOLIFE.seconds("12.5")


def test_an_unknown_clock_is_refused() -> None:
    with pytest.raises(GebError, match="egolife, seconds"):
        Clock.parse("wall")


def test_a_stamp_carries_hundredths() -> None:
    assert stamp(48_038.0) == "d001-13:20:38.00"
    assert stamp(86_399.999) == "d002-00:00:00.00"
