"""BM25 over the texts that hold at t, without building anything anew for t (spec 1.4, 9.29).

Scores are those of the Okapi formula with the usual repair: a term in more than half of the texts,
whose weight would be negative, gets ``epsilon`` times the mean weight of all terms. Postings lie in
the order in which texts begin to hold, so that what holds at t is a prefix, less the texts whose
time is over; document counts and lengths follow from both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from geb_assets.reading.packed import PackedStrings
from geb_assets.reading.settings import Tokens
from geb_assets.reading.words import WORD, content_stem

_PATTERNS: Mapping[Tokens, str] = {"unicode": r"\w+", "whitespace": r"\S+", "stems": WORD}
_SNAPSHOT = 1 << 18
"""Postings between two stored document counts of all terms."""

Arrays = Mapping[str, NDArray[Any]]


def words_of(text: pl.Expr, tokens: Tokens) -> pl.Expr:
    """Each text's words in order, lower-cased: lists."""
    found = text.str.to_lowercase().str.extract_all(_PATTERNS[tokens])
    if tokens != "stems":
        return found
    return found.map_batches(_stems, return_dtype=pl.List(pl.String))


def _stems(lists: pl.Series) -> pl.Series:
    """The stems of the words that carry meaning; each distinct word is stemmed once."""
    distinct = lists.explode().drop_nulls().unique().to_list()
    stems = {word: found for word in distinct if (found := content_stem(word)) is not None}
    stemmed = pl.element().replace_strict(stems, default=None, return_dtype=pl.String)
    return lists.list.eval(stemmed.drop_nulls())


def build_lexical(docs: pl.DataFrame, tokens: Tokens) -> dict[str, NDArray[Any]]:
    """Arrays of a :class:`LexicalIndex`. ``docs``: from_s, until_s, searched, by from_s."""
    words = docs.select(
        doc=pl.int_range(pl.len(), dtype=pl.Int32), word=words_of(pl.col("searched"), tokens)
    )
    counts = (
        words.explode("word")
        .drop_nulls("word")
        .group_by("doc", "word")
        .len("tf")
        .with_columns(pl.col("tf").cast(pl.Int32))
    )
    terms = counts["word"].unique().sort()
    counts = counts.join(
        pl.DataFrame({"word": terms}).with_row_index("term"), on="word", how="left"
    ).select(pl.col("term").cast(pl.Int32), "doc", "tf")
    by_term = counts.sort("term", "doc")
    by_doc = counts.sort("doc", "term")
    until = docs["until_s"].to_numpy()
    ending = np.flatnonzero(np.isfinite(until))
    ending = ending[np.argsort(until[ending], kind="stable")].astype(np.int32)
    length = np.bincount(counts["doc"], weights=counts["tf"], minlength=docs.height)
    starts = _starts(by_doc["doc"].to_numpy(), docs.height)
    begun = by_doc["term"].to_numpy()
    # The postings of each ended text, in the order in which texts end.
    sizes = np.diff(starts)[ending]
    ended_starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    inside = np.arange(ended_starts[-1]) - np.repeat(ended_starts[:-1], sizes)
    ended = begun[np.repeat(starts[ending], sizes) + inside]
    return {
        **PackedStrings.of(terms).arrays("terms"),
        "postings": _starts(by_term["term"].to_numpy(), len(terms)),
        "posting_doc": by_term["doc"].to_numpy(),
        "posting_tf": by_term["tf"].to_numpy(),
        "length": length.astype(np.int64),
        "from_s": docs["from_s"].to_numpy(),
        "until_s": until,
        "lengths_begun": np.concatenate([[0], np.cumsum(length)]).astype(np.int64),
        "begun_starts": starts,
        "begun": begun,
        "begun_counts": _snapshots(begun, len(terms)),
        "ending_s": until[ending],
        "lengths_ended": np.concatenate([[0], np.cumsum(length[ending])]).astype(np.int64),
        "ended_starts": ended_starts,
        "ended": ended,
        "ended_counts": _snapshots(ended, len(terms)),
    }


def _starts(keys: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Where each of 0..count-1 begins among ascending keys: int64 [count + 1]."""
    return np.searchsorted(keys, np.arange(count + 1)).astype(np.int64)


def _snapshots(terms: NDArray[np.int32], count: int) -> NDArray[np.int32]:
    """Term counts of the first 0, B, 2B, ... entries of a stream of terms: int32 [k, count]."""
    rows = [np.zeros(count, np.int64)]
    for begin in range(0, len(terms) - _SNAPSHOT + 1, _SNAPSHOT):
        block = np.bincount(terms[begin : begin + _SNAPSHOT], minlength=count)
        rows.append(rows[-1] + block)
    return np.stack(rows).astype(np.int32)


def _count_first(
    stream: NDArray[np.int32], snapshots: NDArray[np.int32], size: int
) -> NDArray[np.int64]:
    """Term counts of the first ``size`` entries of a stream."""
    nearest = size // _SNAPSHOT
    rest = np.bincount(stream[nearest * _SNAPSHOT : size], minlength=snapshots.shape[1])
    return np.asarray(rest + snapshots[nearest])


@dataclass(frozen=True, eq=False)
class LexicalIndex:
    """Postings of all texts; nothing in it changes."""

    terms: PackedStrings
    arrays: Arrays
    k1: float = 1.5
    b: float = 0.75
    epsilon: float = 0.25
    tokens: Tokens = "unicode"

    @classmethod
    def of(
        cls, arrays: Arrays, *, k1: float, b: float, epsilon: float, tokens: Tokens
    ) -> LexicalIndex:
        return cls(PackedStrings.load(arrays, "terms"), arrays, k1, b, epsilon, tokens)

    def scores(self, query: str, at: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Texts that hold at ``at`` and share a word with the query, and their BM25 scores.

        Returns int64 [n], ascending, and float64 [n]. A word counts as often as the query has it,
        a stem once: the choices of a question repeat what they share.
        """
        arrays = self.arrays
        # A text without an end holds at every time, also at infinity.
        at = min(at, float(np.finfo(np.float64).max))
        begun = int(np.searchsorted(arrays["from_s"], at, side="right"))
        ended = int(np.searchsorted(arrays["ending_s"], at, side="right"))
        size = begun - ended
        words = pl.select(words_of(pl.lit(query), self.tokens)).item().to_list()
        if self.tokens == "stems":
            words = list(dict.fromkeys(words))
        found = [(word, place) for word in words if (place := self.terms.find(word)) is not None]
        if not size or not found:
            return np.zeros(0, np.int64), np.zeros(0)
        tokens = int(arrays["lengths_begun"][begun] - arrays["lengths_ended"][ended])
        postings = {place: self._alive(place, begun, at) for _, place in dict(found).items()}
        weights = self._weights(
            {place: len(docs) for place, (docs, _) in postings.items()}, size, begun, ended
        )
        norm = arrays["length"][:begun] / (tokens / size) if tokens else np.zeros(begun)
        norm *= self.b
        norm += 1.0 - self.b
        norm *= self.k1
        total = np.zeros(begun)
        touched = np.zeros(begun, bool)
        for _, place in found:
            docs, tf = postings[place]
            total[docs] += weights[place] * (tf * (self.k1 + 1.0) / (tf + norm[docs]))
            touched[docs] = True
        hit = np.flatnonzero(touched)
        return hit, total[hit]

    def _alive(
        self, term: int, begun: int, at: float
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """The texts holding at ``at`` that have a term, and how often."""
        low, high = self.arrays["postings"][term : term + 2]
        docs = self.arrays["posting_doc"][low:high]
        docs = docs[: np.searchsorted(docs, begun)]
        tf = self.arrays["posting_tf"][low : low + len(docs)].astype(np.float64)
        if len(self.arrays["ending_s"]):
            alive = self.arrays["until_s"][docs] > at
            docs, tf = docs[alive], tf[alive]
        return docs, tf

    def _weights(
        self, frequency: Mapping[int, int], size: int, begun: int, ended: int
    ) -> dict[int, float]:
        """Weight of each term in that many of ``size`` texts; 0 for one in none."""
        weights = {
            term: float(_weight(np.array(df), size)) if df else 0.0
            for term, df in frequency.items()
        }
        if any(weight < 0 for weight in weights.values()):
            repaired = self.epsilon * self._mean_weight(size, begun, ended)
            weights = {term: repaired if weight < 0 else weight for term, weight in weights.items()}
        return weights

    def _mean_weight(self, size: int, begun: int, ended: int) -> float:
        """Mean weight, the negative ones as they are, of all terms of the texts that hold."""
        arrays = self.arrays
        frequency = _count_first(
            arrays["begun"], arrays["begun_counts"], int(arrays["begun_starts"][begun])
        ) - _count_first(
            arrays["ended"], arrays["ended_counts"], int(arrays["ended_starts"][ended])
        )
        # Over the distinct frequencies, so that the sum does not depend on how terms are numbered.
        many = np.bincount(frequency)
        distinct = np.flatnonzero(many[1:]) + 1
        sums = (many[distinct] * _weight(distinct, size)).sum()
        return float(sums / many[distinct].sum())


def _weight(frequency: NDArray[Any], size: int) -> NDArray[np.float64]:
    return np.asarray(np.log(size - frequency + 0.5) - np.log(frequency + 0.5))
