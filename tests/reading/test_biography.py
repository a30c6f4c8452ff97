"""Biography excerpts (spec 9.20, 9.35-9.38)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from geb_assets.reading.biography import AlsoSeen, Block, display_names, excerpts, merged
from geb_assets.reading.units import APPEARANCES


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    base = {
        "entity": "ego/e000001",
        "label": "cup",
        "object_name": "red cup",
        "summary": "The red cup stood there.",
    }
    full = []
    for number, row in enumerate(rows):
        row = {**base, "observation": f"o{number}", **row}
        row.setdefault("visible_from", row["end_s"])
        row.setdefault("described_from", row["end_s"])
        full.append(row)
    return pl.DataFrame(full, schema=APPEARANCES)


def test_header_covers_what_no_search_selected() -> None:
    rows = frame(
        {"start_s": 300.0, "end_s": 310.0},
        {"start_s": 100.0, "end_s": 110.0, "summary": "I drank."},
        {"start_s": 900.0, "end_s": 905.0},
    )
    [excerpt] = excerpts(rows, {"o1"})
    assert (excerpt.entity, excerpt.name) == ("ego/e000001", "red cup")
    assert (excerpt.start_s, excerpt.end_s) == (100.0, 905.0)
    assert excerpt.blocks == (Block("o1", 100.0, 110.0, "I drank."),)
    assert excerpt.also == AlsoSeen(2, ((300.0, 310.0), (900.0, 905.0)))


def test_blocks_are_in_time_order_over_all_rounds() -> None:
    rows = frame(
        {"start_s": 300.0, "end_s": 310.0},
        {"start_s": 100.0, "end_s": 110.0},
        {"start_s": 50.0, "end_s": 60.0, "entity": "ego/e000002"},
    )
    later, earlier = excerpts(rows, {"o0", "o1", "o2"})[::-1]
    assert [block.observation for block in later.blocks] == ["o1", "o0"]
    assert later.also is None
    assert earlier.entity == "ego/e000002"


def test_unselected_entities_and_later_rows_are_left_out() -> None:
    rows = frame(
        {"start_s": 100.0, "end_s": 110.0},
        {"start_s": 200.0, "end_s": 210.0},
        {"start_s": 120.0, "end_s": 130.0, "entity": "ego/e000002"},
    )
    [excerpt] = excerpts(rows, {"o0", "o1"}, at=209.0)
    assert (excerpt.end_s, len(excerpt.blocks), excerpt.also) == (110.0, 1, None)


def test_also_seen_merges_counts_and_limits() -> None:
    starts = [100.0, 140.0] + [1000.0 + 100.0 * number for number in range(20)]
    rows = frame(
        {"start_s": 10.0, "end_s": 20.0}, *({"start_s": s, "end_s": s + 10.0} for s in starts)
    )
    also = excerpts(rows, {"o0"})[0].also
    assert also is not None
    assert also.appearances == 22
    assert also.times[0] == (100.0, 150.0)
    assert len(also.times) == 12
    assert (also.more, also.more_until) == (9, 2910.0)
    assert excerpts(rows, {"o0"}, also_seen=False)[0].also is None


def test_a_description_that_is_not_visible_yet() -> None:
    rows = frame({"start_s": 100.0, "end_s": 110.0, "described_from": 140.0})
    [before] = excerpts(rows, {"o0"}, at=120.0)
    assert (before.name, before.blocks[0].text) == ("cup", "")
    [after] = excerpts(rows, {"o0"}, at=140.0)
    assert (after.name, after.blocks[0].text) == ("red cup", "The red cup stood there.")
    failed = frame({"start_s": 100.0, "end_s": 110.0, "described_from": None, "object_name": ""})
    assert excerpts(failed, {"o0"})[0].name == "cup"


def test_display_name() -> None:
    rows = frame(
        {"start_s": 1.0, "end_s": 2.0, "object_name": "Mug"},
        {"start_s": 3.0, "end_s": 4.0, "object_name": "Red  cup"},
        {"start_s": 5.0, "end_s": 6.0, "object_name": "red cup"},
        {"start_s": 7.0, "end_s": 8.0, "object_name": "mug"},
        {"start_s": 9.0, "end_s": 10.0, "object_name": "red cup"},
    )
    assert display_names(rows) == {"ego/e000001": "red cup"}
    assert display_names(rows, at=8.0) == {"ego/e000001": "mug"}, "of two as frequent, the earlier"
    assert display_names(rows, at=8.0, cast={"ego/e000001": "Tasha"}) == {"ego/e000001": "Tasha"}


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 90)), max_size=30))
def test_merged_spans_cover_the_same_times(drawn: list[tuple[int, int]]) -> None:
    spans = [(float(start), float(start + length)) for start, length in drawn]
    joined = merged(spans)
    assert all(later[0] - earlier[1] > 30 for earlier, later in pairwise(joined))
    assert all(any(a <= start and end <= b for a, b in joined) for start, end in spans)
    edges = {edge for span in spans for edge in span}
    assert all(edge in edges for span in joined for edge in span)
