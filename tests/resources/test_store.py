from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from geb_assets.tables import TABLES, Table
from resources.store import (
    DeltaStore,
    Stamp,
    conform,
    data_version,
    decode_vectors,
    encode_vectors,
)

LINES, MEMBERSHIPS, CLIPS = TABLES["lines"], TABLES["memberships"], TABLES["clips"]


def lines(recording: str, texts: list[str]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "recording": [recording] * len(texts),
            "line": [f"{recording}/l{n:07d}" for n in range(len(texts))],
            "start_s": [float(n) for n in range(len(texts))],
            "end_s": [n + 0.5 for n in range(len(texts))],
            "visible_from": [n + 0.5 for n in range(len(texts))],
            "kind": ["caption"] * len(texts),
            "speaker": [""] * len(texts),
            "text": texts,
            "source": ["a.csv"] * len(texts),
        },
        schema=LINES.schema,
    )


def stamp(recording: str, rows: pl.DataFrame, **changes: object) -> Stamp:
    made = Stamp("lines", recording, "f" * 32, data_version(LINES, rows), "run", True, {"a": [1]})
    return replace(made, **changes)  # type: ignore[arg-type]


def put(store: DeltaStore, recording: str, texts: list[str], **changes: object) -> None:
    rows = lines(recording, texts)
    store.replace(LINES, {"recording": recording}, rows, stamp(recording, rows, **changes))


def texts(store: DeltaStore, recording: str) -> list[str]:
    return store.read("lines", recording=recording)["text"].to_list()


def test_a_write_replaces_its_own_partition_alone(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    assert store.read("lines").is_empty()
    assert store.stamps("lines") == {}
    assert store.delete("lines", recording="a") == 0
    put(store, "a", ["one", "two"])
    put(store, "b", ["three"])
    put(store, "a", ["four"])
    assert texts(store, "a") == ["four"]
    assert texts(store, "b") == ["three"]
    assert store.read("lines").schema == pl.Schema(LINES.schema)
    assert store.read("lines", ["text"]).columns == ["text"]


@pytest.mark.parametrize(
    "text", ["it's", 'say "no"', "a';--", "ünï☃", "line\nbreak", "' OR '1'='1"]
)
def test_any_text_comes_back_and_any_key_is_only_a_key(tmp_path: Path, text: str) -> None:
    store = DeltaStore(tmp_path)
    put(store, text, [text])
    put(store, "other", ["stays"])
    put(store, text, [text, text])
    assert texts(store, text) == [text, text]
    assert store.delete("lines", recording=text) == 2
    assert texts(store, "other") == ["stays"]


def test_an_empty_partition_is_written_stamped_and_forgotten(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    put(store, "a", ["one"])
    put(store, "a", [])
    assert texts(store, "a") == []
    assert set(store.stamps("lines")) == {"a"}
    assert store.delete("lines", recording="a") == 0
    assert store.stamps("lines") == {}


def test_the_newest_stamp_of_each_partition_is_read_from_the_commits(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    put(store, "a", ["one"], run_id="first")
    put(store, "b", ["two"], complete=False, failed=3)
    put(store, "a", ["three"], run_id="second")
    found = store.stamps("lines")
    assert found["a"] == stamp("a", lines("a", ["three"]), run_id="second")
    assert (found["b"].complete, found["b"].failed) == (False, 3)
    store.delete("lines", recording="a")
    assert set(store.stamps("lines")) == {"b"}
    put(store, "a", ["again"], run_id="third")
    assert store.stamps("lines")["a"].run_id == "third"


def test_stamps_outlive_checkpoints_and_vacuum(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    put(store, "b", ["kept"])
    for number in range(55):
        put(store, "a", [str(number)])
    removed = store.vacuum("lines", retention_hours=0)
    assert removed > 40
    assert texts(store, "a") == ["54"]
    assert set(store.stamps("lines")) == {"a", "b"}
    settings_ = DeltaTable(store.uri("lines")).metadata().configuration
    assert settings_["delta.enableExpiredLogCleanup"] == "false"


def test_rows_of_a_segment_can_be_deleted_alone(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    for hour in ("r/d001-10h", "r/d001-11h"):
        rows = CLIPS.empty().clear()
        row = {c.name: {pl.String(): "x", pl.Float64(): 1.0}.get(c.dtype, 1) for c in CLIPS.columns}
        rows = pl.DataFrame([{**row, "recording": "r", "segment": hour}], schema=CLIPS.schema)
        made = Stamp("clips", hour, "f", "v", "run", True, {})
        store.replace(CLIPS, {"recording": "r", "segment": hour}, rows, made)
    assert store.delete("clips", recording="r", segment="r/d001-10h") == 1
    assert store.read("clips")["segment"].to_list() == ["r/d001-11h"]
    assert set(store.stamps("clips")) == {"r/d001-11h"}


def test_sixteen_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    """The table does not exist yet: whoever comes first makes it, for all."""
    store = DeltaStore(tmp_path)
    names = [f"r{n}" for n in range(16)]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda name: put(store, name, [name] * 20), names))
    assert {name: len(texts(store, name)) for name in names} == dict.fromkeys(names, 20)
    assert set(store.stamps("lines")) == set(names)


def test_writers_of_one_partition_leave_the_rows_of_one_of_them(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    put(store, "other", ["stays"])
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: put(store, "a", [str(n)] * (n + 1), run_id=str(n)), range(4)))
    found = texts(store, "a")
    assert found == [found[0]] * (int(found[0]) + 1)
    assert store.stamps("lines")["a"].run_id == found[0]
    assert texts(store, "other") == ["stays"]


def test_writers_of_two_processes_get_along(tmp_path: Path) -> None:
    script = (
        "import sys; from tests.resources.test_store import put, DeltaStore\n"
        "for n in range(4): put(DeltaStore(sys.argv[1]), sys.argv[2], [str(n)])"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", script, str(tmp_path), name]) for name in "ab"
    ]
    assert [process.wait(120) for process in started] == [0, 0]
    assert [texts(DeltaStore(tmp_path), name) for name in "ab"] == [["3"], ["3"]]


def test_rows_that_do_not_belong_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    store = DeltaStore(tmp_path)
    put(store, "a", ["one"])
    rows = lines("b", ["two"])
    with pytest.raises(ValueError, match="rows of another recording than a"):
        store.replace(LINES, {"recording": "a"}, rows, stamp("a", rows))
    with pytest.raises(ValueError, match=r"missing \['text'\], unknown \['words'\]"):
        conform(LINES, rows.rename({"text": "words"}))
    with pytest.raises(ValueError, match=r"null in \['text'\]"):
        conform(LINES, rows.with_columns(text=pl.lit(None, pl.String)))
    assert texts(store, "a") == ["one"]


def memberships(entities: list[int]) -> pl.DataFrame:
    count = len(entities)
    return pl.DataFrame(
        {
            "recording": ["r"] * count,
            "observation": [f"r/o{n:03d}" for n in range(count)],
            "entity": [f"r/e{n}" for n in entities],
            "start_s": [float(n) for n in range(count)],
            "started": [True] * count,
            "min_similarity": [0.5] * count,
            "mean_similarity": [None] * count,
            "max_similarity": [0.7] * count,
            "anchored": [False] * count,
            "runner_up": [""] * count,
            "runner_up_mean": [None] * count,
            "runner_up_lost": [""] * count,
        },
        schema=MEMBERSHIPS.schema,
    )


@settings(deadline=None, max_examples=40)
@given(entities=st.lists(st.integers(0, 5), min_size=1, max_size=12), seed=st.integers(0, 99))
def test_a_data_version_is_the_content_that_matters(entities: list[int], seed: int) -> None:
    rows = memberships(entities)
    version = data_version(MEMBERSHIPS, rows)
    assert data_version(MEMBERSHIPS, rows.sample(fraction=1, shuffle=True, seed=seed)) == version
    split = pl.concat([rows.head(1), rows.tail(-1)], rechunk=False)
    assert data_version(MEMBERSHIPS, split) == version
    explained = rows.with_columns(
        min_similarity=pl.lit(0.9, pl.Float32), runner_up=pl.lit("r/e9"), anchored=pl.lit(True)
    )
    assert data_version(MEMBERSHIPS, explained) == version
    assert data_version(MEMBERSHIPS, rows.with_columns(start_s=pl.col("start_s") + 1)) != version
    other = memberships([n + 1 for n in entities])
    assert data_version(MEMBERSHIPS, other) != version
    assert data_version(MEMBERSHIPS, rows.head(0)) != version


@settings(deadline=None, max_examples=40)
@given(count=st.integers(0, 6), dim=st.integers(1, 40), seed=st.integers(0, 10**6))
def test_vectors_come_back_as_unit_rows(count: int, dim: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, dim)).astype(np.float32)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
    holes = rng.random(count) < 0.3
    rows[holes] = np.nan
    blobs = encode_vectors(rows)
    assert [len(blob) for blob in blobs] == [0 if hole else 2 * dim for hole in holes]
    found = decode_vectors(pl.Series(blobs, dtype=pl.Binary), dim)
    assert found.dtype == np.float32
    assert found.shape == (count, dim)
    assert (np.isnan(found).all(axis=1) == holes).all()
    np.testing.assert_allclose(np.linalg.norm(found[~holes], axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(found[~holes], rows[~holes], atol=2e-3)


def test_vectors_survive_the_table(tmp_path: Path) -> None:
    store, table = DeltaStore(tmp_path), TABLES["episode_embeddings"]
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5, 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    frame = pl.DataFrame(
        {
            "recording": ["r"] * 5, "episode": list("abcde"), "kind": ["text"] * 5,
            "start_s": [0.0, 1.0, 2.0, 3.0, 4.0], "visible_from": [9.0] * 5,
            "vector": encode_vectors(rows), "dim": [384] * 5, "dtype": ["float16"] * 5,
            "model": ["m"] * 5,
        },
        schema=table.schema,
    )  # fmt: skip
    made = Stamp("episodes", "r", "f", data_version(table, frame), "run", True, {})
    store.replace(table, {"recording": "r"}, frame, made)
    back = store.read("episode_embeddings")
    assert back["vector"].to_list() == frame["vector"].to_list()
    assert data_version(table, back) == made.data_version
    np.testing.assert_array_equal(decode_vectors(back["vector"]), decode_vectors(frame["vector"]))


def test_a_column_that_is_new_is_null_in_older_rows(tmp_path: Path) -> None:
    store, table = DeltaStore(tmp_path), TABLES["scores"]

    def write(table: Table, variant: str) -> pl.DataFrame:
        values = {"benchmark": "b", "variant": variant, "metric": "m", "slice": "all", "n": 1,
                  "value": 0.5, "low": 0.4, "high": 0.6, "anchor": 0.7, "note": ""}  # fmt: skip
        rows = pl.DataFrame([{n: values[n] for n in table.schema}], schema=table.schema)
        made = Stamp("scores", f"b/{variant}", "f" * 32, data_version(table, rows), "r", True, {})
        store.replace(table, {"benchmark": "b", "variant": variant}, rows, made)
        return rows

    new = ("anchor", "note")
    older = replace(table, columns=tuple(c for c in table.columns if c.name not in new))
    write(older, "full")
    assert store.read("scores").select(new).rows() == [(None, None)]
    write(table, "less")
    assert store.read("scores").select("variant", *new).sort("variant").rows() == [
        ("full", None, None), ("less", 0.7, ""),
    ]  # fmt: skip


def test_measured_times_are_no_part_of_the_data_version() -> None:
    table = TABLES["scores"]

    def version(seconds: float, accuracy: float) -> str:
        rows = pl.DataFrame(
            {"metric": ["accuracy", "seconds a question"], "value": [accuracy, seconds]}
        ).with_columns(
            **{name: pl.lit("") for name in ("benchmark", "variant", "slice", "note")},
            **{name: pl.lit(0.0) for name in ("low", "high", "anchor", "n")},
        )
        return data_version(table, rows)

    assert version(1.0, 0.5) == version(2.0, 0.5) != version(1.0, 0.6)
