from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geb_assets.reading import lexical
from geb_assets.reading.lexical import LexicalIndex, build_lexical, words_of

rank_bm25 = pytest.importorskip("rank_bm25", reason="rank-bm25 is in the dev extra")

TEXTS = st.lists(
    st.lists(st.sampled_from(list("abcdefgh")), max_size=8).map(" ".join),
    min_size=1,
    max_size=20,
)


def index_of(docs: pl.DataFrame) -> LexicalIndex:
    return LexicalIndex.of(
        build_lexical(docs, "unicode"), k1=1.5, b=0.75, epsilon=0.25, tokens="unicode"
    )


def timed(texts: list[str], rng: np.random.Generator) -> pl.DataFrame:
    """Texts that begin, and some that end, at random whole seconds."""
    begin = np.sort(rng.integers(0, 10, len(texts))).astype(float)
    until = np.where(rng.random(len(texts)) < 0.5, begin + rng.integers(1, 8, len(texts)), np.inf)
    return pl.DataFrame({"from_s": begin, "until_s": until, "searched": texts})


@settings(deadline=None, max_examples=80)
@given(
    texts=TEXTS,
    query=st.lists(st.sampled_from(list("abcdz")), min_size=1, max_size=5),
    seed=st.integers(0, 2**32 - 1),
    at=st.one_of(st.integers(-1, 20).map(float), st.just(np.inf)),
)
def test_scores_are_rank_bm25s_over_what_holds(
    texts: list[str], query: list[str], seed: int, at: float
) -> None:
    docs = timed(texts, np.random.default_rng(seed))
    holds = (docs["from_s"].to_numpy() <= at) & (docs["until_s"].to_numpy() > min(at, 1e9))
    live = [text.split() for text, alive in zip(texts, holds, strict=True) if alive]
    expected = np.zeros(len(texts))
    if any(live):
        expected[holds] = rank_bm25.BM25Okapi(live).get_scores(query)
    found = np.zeros(len(texts))
    places, scores = index_of(docs).scores(" ".join(query), at)
    found[places] = scores
    assert found == pytest.approx(expected, abs=1e-12)


def test_counts_survive_many_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(list("abcdefgh"), 6)) for _ in range(60)]
    docs = timed(texts, rng)
    whole = index_of(docs)
    expected = [whole.scores("a b", at) for at in range(18)]
    monkeypatch.setattr(lexical, "_SNAPSHOT", 16)
    split = index_of(docs)
    for at, (places, scores) in enumerate(expected):
        again = split.scores("a b", at)
        assert np.array_equal(places, again[0]) and np.array_equal(scores, again[1])


def test_words() -> None:
    texts = pl.Series(["Don't PUT it—down, Zoë!", "谁 拿走了"])
    assert pl.select(words_of(pl.lit(texts), "unicode")).to_series().to_list() == [
        ["don", "t", "put", "it", "down", "zoë"],
        ["谁", "拿走了"],
    ]
    spaced = pl.select(words_of(pl.lit(texts), "whitespace")).to_series()
    assert spaced[0].to_list() == ["don't", "put", "it—down,", "zoë!"]
    told = pl.Series(["Don’t PUT the screws down: Zoë's screwing!", "", "who was it"])
    stems = pl.select(words_of(pl.lit(told), "stems")).to_series().to_list()
    assert stems == [["screw", "zoë", "screw"], [], []]


def test_a_stem_counts_once_in_a_query() -> None:
    docs = pl.DataFrame({"from_s": [0.0, 0.0], "until_s": [np.inf] * 2, "searched": ["cup", "pan"]})
    index = LexicalIndex.of(
        build_lexical(docs, "stems"), k1=1.5, b=0.75, epsilon=0.25, tokens="stems"
    )
    once, again = index.scores("cup", np.inf), index.scores("cups and the cup", np.inf)
    assert np.array_equal(once[0], again[0]) and np.array_equal(once[1], again[1])
