from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from geb_assets.writing.lines.footage import near_footage

SPANS = st.lists(
    st.tuples(st.integers(0, 500), st.integers(0, 80)).map(lambda span: (span[0], sum(span))),
    max_size=12,
)


@settings(deadline=None)
@given(lines=SPANS, footage=SPANS, margin=st.integers(0, 60))
def test_lines_within_the_margin_of_any_footage(
    lines: list[tuple[int, int]], footage: list[tuple[int, int]], margin: int
) -> None:
    frame = pl.DataFrame(lines, schema={"start_s": pl.Float64, "end_s": pl.Float64}, orient="row")
    spans = np.array(footage, dtype=np.float64).reshape(-1, 2)
    expected = [
        line
        for line in lines
        if not footage
        or any(line[0] <= end + margin and line[1] >= start - margin for start, end in footage)
    ]
    assert near_footage(frame, spans, margin).rows() == expected
