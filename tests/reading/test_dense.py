from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geb_assets.reading import dense
from geb_assets.reading.dense import (
    DenseIndex,
    VectorRows,
    build_dense,
    read_codes,
    write_codes,
)


def index_of(vectors: np.ndarray, visible: np.ndarray) -> DenseIndex:
    ids = [f"n{n:04d}" for n in range(len(vectors))]
    nodes = pl.DataFrame({"id": ids, "visible_from": visible}).sort("visible_from", "id")
    nodes = nodes.with_row_index("place").cast({"place": pl.Int64})
    rows = pl.DataFrame(
        {"id": ids, "visible_from": visible, "vector": [row.tobytes() for row in vectors]}
    )
    built = build_dense(nodes, VectorRows([rows.lazy()]), lambda name, *of: np.zeros(*of))
    assert built is not None
    arrays, codes = built
    return DenseIndex(
        arrays["vectors"], arrays["from_s"], arrays["place"], float(arrays["error"][0]), codes
    )


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32 - 1),
    dim=st.integers(1, 40),
    count=st.integers(1, 9),
    copies=st.booleans(),
)
def test_the_top_is_exact_as_of_any_time(seed: int, dim: int, count: int, copies: bool) -> None:
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 900))
    # Few kinds that lie close together are what a coarse code gets wrong.
    kinds = rng.standard_normal((max(1, rows // 20), dim))
    vectors = kinds[rng.integers(0, len(kinds), rows)]
    if not copies:
        vectors = vectors + 0.02 * rng.standard_normal((rows, dim))
    vectors = vectors.astype(np.float16)
    visible = rng.integers(0, 20, rows).astype(float)
    index = index_of(vectors, visible)
    query = rng.standard_normal(dim).astype(np.float32)
    at = float(rng.integers(-1, 21))
    found, cosines = index.top(query, count, at)

    own = index.vectors.astype(np.float64)
    norms = np.linalg.norm(own, axis=1)
    wide = query.astype(np.float64)
    every = own @ wide / np.linalg.norm(wide) / np.where(norms > 0, norms, 1)
    seen = np.flatnonzero(index.from_s <= at)
    assert len(seen) == (visible <= at).sum()
    best = np.sort(every[seen])[::-1][:count]
    assert np.sort(cosines)[::-1][: len(best)] == pytest.approx(best, abs=1e-12)
    assert cosines == pytest.approx(every[found], abs=1e-12)
    assert set(found) <= set(seen)
    if len(best):
        assert set(seen[every[seen] > best[-1] + 1e-9]) <= set(found)
        assert (cosines >= best[-1] - 1e-9).all()


def test_slices_screened_in_parallel_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((4000, 32)).astype(np.float16)
    index = index_of(vectors, np.arange(4000.0))
    query = rng.standard_normal(32).astype(np.float32)
    monkeypatch.setattr(dense, "_SCREENED", 16)
    for at in (1500.0, 3999.0):
        whole = index.top(query, 5, at)
        monkeypatch.setattr(dense, "_SLICE", 100)
        monkeypatch.setattr(dense.os, "cpu_count", lambda: 3)
        sliced = index.top(query, 5, at)
        assert np.array_equal(whole[0], sliced[0]) and np.array_equal(whole[1], sliced[1])
        monkeypatch.setattr(dense, "_SLICE", 1 << 16)


def test_equal_vectors_have_equal_cosines() -> None:
    rng = np.random.default_rng(0)
    one = rng.standard_normal(384).astype(np.float16)
    index = index_of(np.tile(one, (50, 1)), np.arange(50.0))
    query = rng.standard_normal(384).astype(np.float32)
    rows, cosines = index.top(query, 5, 40.0)
    assert len(rows) == 41 and len(set(cosines.tolist())) == 1
    assert set(index.cosines(query, np.array([3])).tolist()) == set(cosines.tolist())


def test_codes_are_mapped_from_a_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    index = index_of(rng.standard_normal((500, 16)).astype(np.float16), np.arange(500.0))
    write_codes(index.codes, tmp_path / "codes")
    mapped = DenseIndex(
        index.vectors, index.from_s, index.place, index.error, read_codes(tmp_path / "codes")
    )
    query = rng.standard_normal(16).astype(np.float32)
    for at in (20.0, 300.0, 1e9):
        one, other = index.top(query, 5, at), mapped.top(query, 5, at)
        assert np.array_equal(one[0], other[0]) and np.array_equal(one[1], other[1])


def test_empty_and_unknown_vectors_are_left_out() -> None:
    nodes = pl.DataFrame({"id": ["a", "b"], "visible_from": [0.0, 5.0], "place": [0, 1]})
    row = np.ones(4, np.float16).tobytes()
    rows = pl.DataFrame(
        {"id": ["b", "a", "stranger"], "visible_from": [1.0, 1.0, 1.0], "vector": [row, b"", row]}
    )
    built = build_dense(nodes, VectorRows([rows.lazy()]), lambda name, *of: np.zeros(*of))
    assert built is not None
    assert built[0]["place"].tolist() == [1] and built[0]["from_s"].tolist() == [5.0]
    none = VectorRows([rows.lazy().filter(pl.col("id") == "stranger")])
    assert build_dense(nodes, none, lambda name, *of: np.zeros(*of)) is None
