from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from geb_assets.tables import TABLES
from geb_assets.writing.detections.asset import detection_rows
from resources.detector import Detections


@given(st.lists(st.integers(0, 3), max_size=5), st.integers(0, 2**32 - 1))
def test_a_row_for_each_box_in_the_order_of_frames(counts: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    found = [
        Detections(
            rng.random((n, 4), np.float32),
            rng.random(n, np.float32),
            tuple(rng.choice(["cup", "cat"], n).tolist()),
        )
        for n in counts
    ]
    numbers, times = [2 * n for n in range(len(counts))], [0.4 * n for n in range(len(counts))]
    rows = detection_rows("r/c", numbers, times, found)
    assert rows.schema == pl.Schema(TABLES["detections"].own_schema)
    assert rows.rows() == [
        ("r/c", number, time_s, *map(float, box), float(confidence), label)
        for number, time_s, one in zip(numbers, times, found, strict=True)
        for box, confidence, label in zip(one.boxes, one.confidence, one.labels, strict=True)
    ]
