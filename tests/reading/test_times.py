"""Times as people say them."""

from __future__ import annotations

import pytest

from geb_assets.clock import Clock
from geb_assets.reading.times import named_times, parse_when

EGO = Clock.parse("egolife")
AT = EGO.seconds("DAY4 16:00")


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("About four hours ago", 4),
        ("About an hour ago", 1),
        ("Half an hour ago", 0.5),
        ("about an hour and a half ago.", 1.5),
        ("5 and a half hours ago", 5.5),
        ("15 minutes ago", 0.25),
        ("2 days 3 hours ago", 51),
        ("Three days ago", 72),
        ("Half a day ago", 12),
        ("One day ago", 24),
    ],
)
def test_lengths(text: str, hours: float) -> None:
    when = parse_when(text, clock=EGO, at=AT)
    assert when is not None
    assert when.start_s < AT - hours * 3600 < when.end_s <= AT
    assert when.fits(AT - hours * 3600) == 1.0


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("Yesterday afternoon", "DAY3 15:00", "DAY4 15:00"),
        ("The afternoon before yesterday", "DAY2 15:00", "DAY3 15:00"),
        ("The day before yesterday at noon", "DAY2 12:00", "DAY2 18:00"),
        ("Last night", "DAY3 21:00", "DAY4 09:00"),
        ("The night before yesterday", "DAY2 21:00", "DAY3 21:00"),
        ("This morning", "DAY4 09:00", "DAY3 09:00"),
        ("Today at noon", "DAY4 12:00", "DAY4 08:00"),
        ("today afternoon", "DAY4 15:00", "DAY4 09:00"),
        ("Yesterday", "DAY3 09:00", "DAY4 09:00"),
        ("DAY2 10:30", "DAY2 10:30", "DAY2 11:30"),
    ],
)
def test_days_and_their_parts(text: str, inside: str, outside: str) -> None:
    when = parse_when(text, clock=EGO, at=AT)
    assert when is not None
    assert when.fits(EGO.seconds(inside)) == 1.0
    assert when.fits(EGO.seconds(outside)) < 0.9


def test_no_time() -> None:
    for text in ("Alice", "On the table", "2", "before the meal", ""):
        assert parse_when(text, clock=EGO, at=AT) is None
    assert parse_when("Yesterday morning", clock=Clock.parse("seconds"), at=100_000.0) is None
    assert parse_when("10 minutes ago", clock=Clock.parse("seconds"), at=1000.0) is not None


def test_every_time_that_a_query_names_is_found() -> None:
    query = (
        "When was the oven used? Yesterday afternoon The night before yesterday "
        "About two hours and a half ago this morning before lunch"
    )
    spoken = ["yesterday afternoon", "night before yesterday", "two hours and a half ago"]
    expected = [parse_when(one, clock=EGO, at=AT) for one in [*spoken, "this morning"]]
    assert named_times(query, clock=EGO, at=AT) == expected
    assert named_times("Who is this person, and who came earlier?", clock=EGO, at=AT) == []
