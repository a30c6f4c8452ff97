"""The readout's grammar, form by form (spec 9.31)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geb_assets.clock import DAY_S, Clock
from geb_assets.reading.readout import parse_readout

EGO = Clock.parse("egolife")
PLAIN = Clock.parse("seconds")


def at(text: str) -> float:
    return EGO.seconds(text)


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [
        ("What happened at DAY1 12:30?", "DAY1 12:30:00", "DAY1 12:30:00"),
        ("What happened at DAY1 12:30:44?", "DAY1 12:30:44", "DAY1 12:30:44"),
        ("day 2, 09:05:01", "DAY2 09:05:01", "DAY2 09:05:01"),
        ("Day 3 at 9:05 who spoke", "DAY3 09:05:00", "DAY3 09:05:00"),
        ("at 12:30 on DAY2", "DAY2 12:30:00", "DAY2 12:30:00"),
        ("On DAY2, what did I hold at 12:30?", "DAY2 12:30:00", "DAY2 12:30:00"),
        ("DAY1 3:30 pm", "DAY1 15:30:00", "DAY1 15:30:00"),
        ("DAY1 12:05 a.m.", "DAY1 00:05:00", "DAY1 00:05:00"),
        ("DAY12 00:00", "DAY12 00:00:00", "DAY12 00:00:00"),
    ],
)
def test_point(query: str, start: str, end: str) -> None:
    assert parse_readout(query, clock=EGO) == (at(start), at(end))


@pytest.mark.parametrize("joiner", ["-", " - ", "–", "—", " to ", " and ", " until ", " through "])
@pytest.mark.parametrize("second", ["DAY1 12:41:00", "12:41:00", "12:41"])
def test_range(joiner: str, second: str) -> None:
    query = f"What was I doing between DAY1 12:30:44{joiner}{second}?"
    assert parse_readout(query, clock=EGO) == (at("DAY1 12:30:44"), at("DAY1 12:41:00"))


def test_range_takes_the_day_that_either_end_names() -> None:
    expected = (at("DAY2 12:30:00"), at("DAY2 12:41:00"))
    assert parse_readout("between 12:30 and 12:41 on DAY2", clock=EGO) == expected
    assert parse_readout("between 12:30 and DAY2 12:41", clock=EGO) == expected
    assert parse_readout("DAY2: from 12:30 till 12:41", clock=EGO) == expected


def test_range_across_midnight() -> None:
    span = parse_readout("DAY1 23:50 to DAY2 00:10", clock=EGO)
    assert span == (at("DAY1 23:50:00"), at("DAY2 00:10:00"))


@pytest.mark.parametrize(
    "word",
    ["before", "after", "since", "until", "by", "prior to", "later than", "earlier than", "After"],
)
def test_time_bounded_on_one_side_is_an_ordinary_search(word: str) -> None:
    assert parse_readout(f"Who used the microwave {word} DAY1 20:32?", clock=EGO) is None
    assert parse_readout(f"Who used it {word} 20:32 on DAY1?", clock=EGO) is None
    assert parse_readout(f"Who used it {word} 20:32?", clock=EGO, default_day=1) is None


def test_one_sided_word_that_governs_something_else() -> None:
    assert parse_readout("after lunch, at DAY1 13:00", clock=EGO) == (at("DAY1 13:00"),) * 2
    assert (
        parse_readout("After DAY1 12:00 I rested; and at DAY1 13:00?", clock=EGO)
        == (at("DAY1 13:00"),) * 2
    )


def test_one_sided_word_before_a_range_reads_the_range() -> None:
    expected = (at("DAY1 12:00"), at("DAY1 12:10"))
    assert parse_readout("after DAY1 12:00 - 12:10", clock=EGO) == expected


def test_time_bounded_on_both_sides_is_a_range() -> None:
    expected = (at("DAY1 12:00"), at("DAY1 12:10"))
    assert parse_readout("after DAY1 12:00 and before DAY1 12:10", clock=EGO) == expected
    assert parse_readout("before DAY1 12:10 but after 12:00", clock=EGO) == expected
    assert parse_readout("after DAY1 12:00 and since DAY1 12:10", clock=EGO) is None


def test_no_day_takes_the_default_else_none() -> None:
    assert parse_readout("at 12:30", clock=EGO) is None
    assert parse_readout("at 12:30", clock=EGO, default_day=3) == (at("DAY3 12:30"),) * 2
    assert parse_readout("12:30-12:41", clock=EGO, default_day=3) == (
        at("DAY3 12:30"),
        at("DAY3 12:41"),
    )
    assert parse_readout("at DAY1 12:30", clock=EGO, default_day=3) == (at("DAY1 12:30"),) * 2


def test_reversed_is_swapped_and_long_is_cut() -> None:
    assert parse_readout("DAY1 12:41 - DAY1 12:30", clock=EGO) == (
        at("DAY1 12:30"),
        at("DAY1 12:41"),
    )
    assert parse_readout("DAY1 12:00 to DAY1 14:00", clock=EGO) == (
        at("DAY1 12:00"),
        at("DAY1 12:30"),
    )


def test_of_two_ranges_the_first() -> None:
    query = "between DAY1 12:00 and DAY1 12:10 or between DAY2 09:00 and DAY2 09:05"
    assert parse_readout(query, clock=EGO) == (at("DAY1 12:00"), at("DAY1 12:10"))


def test_seconds_clock() -> None:
    assert parse_readout("at 00:12:30", clock=PLAIN) == (750.0, 750.0)
    assert parse_readout("between 00:12:30 and 00:13:00", clock=PLAIN) == (750.0, 780.0)
    assert parse_readout("at 26:00:00", clock=PLAIN) == (93_600.0, 93_600.0)
    assert parse_readout("the score was 3:30", clock=PLAIN) is None
    assert parse_readout("before 00:12:30", clock=PLAIN) is None


@pytest.mark.parametrize(
    "query",
    [
        "",
        "Who wore a hat?",
        "DAY1 25:99",
        "DAY1 24:00",
        "DAY1 12:60",
        "DAY0 12:30",
        "DAY1",
        "the ratio is 12:345 on DAY1",
        "DAY1 12:30:61",
        "birthday1 12:30",
        "谁最先使用过螺丝刀？",
    ],
)
def test_no_time(query: str) -> None:
    assert parse_readout(query, clock=EGO) is None


def test_a_very_long_query() -> None:
    assert (
        parse_readout("and to 12 : " * 10_000 + "DAY1 12:30", clock=EGO) == (at("DAY1 12:30"),) * 2
    )


@given(
    st.integers(1, 9),
    st.integers(0, 86_399),
    st.integers(0, 1800),
    st.sampled_from(["-", " – ", " to ", " and ", " until ", " through "]),
)
def test_what_the_clock_shows_is_read_back(day: int, start: int, length: int, joiner: str) -> None:
    first = (day - 1) * DAY_S + start
    query = f"What happened {EGO.show(first)}{joiner}{EGO.show(first + length)}?"
    assert parse_readout(query, clock=EGO) == (first, first + length)


@given(st.text(max_size=200), st.sampled_from([EGO, PLAIN]), st.none() | st.integers(1, 7))
def test_any_text_gives_a_span_or_none(query: str, clock: Clock, day: int | None) -> None:
    span = parse_readout(query, clock=clock, default_day=day)
    assert span is None or 0 <= span[0] <= span[1] <= span[0] + 1800
