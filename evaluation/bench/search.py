"""How fast a search is at the size of the paper's week, against the usual way, answers compared.

    python -m evaluation.bench.search --json

Both ways run query by query in one process on one synthetic memory (:mod:`evaluation.bench.week`);
:mod:`evaluation.bench.peer` is the other way. Queries come as text and vector: the encoder's time
is no part of a search, and shown apart. ``match`` has the same searches ranked by match. Needs the
``bench`` extra.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evaluation.bench.peer import Contents, PeerMemory
from evaluation.bench.week import Week, synthetic_week
from geb_assets.clock import Clock
from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.reading.dense import VectorRows
from geb_assets.reading.documents import documents
from geb_assets.reading.index import Index
from geb_assets.reading.lexical import words_of
from geb_assets.reading.memory import Memory, Query
from geb_assets.reading.nodes import place_nodes
from geb_assets.reading.rows import plain_rows
from geb_assets.reading.settings import DEFAULT, SearchSettings

WEEK_DIM = 2560
REFERENCE_S = {"pagerank": 0.35, "bm25": 0.52, "cosine": 0.22, "ranking": 0.33}
"""The other way's components on an idle two-core machine at full size, s."""
REFERENCE_KERNEL_S = 0.11
"""One float32 product of 316k x 2560 there, s: what the others are scaled by."""
AGREE = 2e-6
"""Scores closer than this are ties: both ways stop PageRank at about that accuracy."""


class _NoEncoder:
    """Queries come with their vectors."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise NotImplementedError


def open_memory(folder: Path, settings: SearchSettings = DEFAULT) -> Memory:
    return Memory("week", Clock("egolife"), settings, Index.open(folder, settings), _NoEncoder())


def contents_of(week: Week, memory: Memory) -> Contents:
    """All of a week by node number, as the other way is handed it."""
    nodes = memory.index.nodes
    order = np.argsort(nodes.order)
    place_to_node = np.argsort(order)
    docs = documents(place_nodes(week.frames["graph_nodes"]), plain_rows(week.frames))
    lasting = docs.filter(pl.col("until_s").is_infinite())
    text_nodes = place_to_node[lasting["place"].to_numpy()]
    ranking = np.argsort(text_nodes)
    text = memory.index.text
    assert text is not None
    rows = nodes.text_row[lasting["place"].to_numpy()[ranking]]
    vectors = np.empty((len(rows), text.dimension), np.float32)
    for begin in range(0, len(rows), 8192):
        block = text.vectors[rows[begin : begin + 8192]].astype(np.float32)
        vectors[begin : begin + 8192] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return Contents(
        ids=[nodes.ids[place] for place in order.tolist()],
        category=nodes.category[order],
        entity=memory.index.entities.key[order],
        edges=week.frames["graph_edges"].select("a", "b").to_numpy(),
        weights=week.frames["graph_edges"]["weight"].to_numpy(),
        text_nodes=text_nodes[ranking],
        tokens=lasting[ranking]
        .select(words_of(pl.col("searched"), "unicode"))
        .to_series()
        .to_list(),
        vectors=vectors,
    )


def timed(call: Callable[..., Any], *given: Any, **named: Any) -> tuple[float, Any]:
    """Seconds of a call, and what it returned."""
    started = time.perf_counter()
    value = call(*given, **named)
    return time.perf_counter() - started, value


def components(memory: Memory, query: Query, at: float | None) -> dict[str, float]:
    """Seconds of the parts of one search, each called on its own."""
    when = np.inf if at is None else at
    text, vector = memory.index.text, query.text_vector
    assert text is not None and vector is not None
    seeds = memory.seeds(query, at=at)
    visible = memory.index.nodes.visible(when)
    return {
        "cosine": timed(text.top, vector, memory.settings.text_seeds, when)[0],
        "bm25": timed(memory.index.lexical.scores, query.text, when)[0],
        "pagerank": timed(memory._propagate, seeds, visible, when)[0],
    }


def same_units(found: list[tuple[str, float]], expected: list[tuple[str, float]]) -> bool:
    """The same units in the same order, but for ties."""
    if len(found) != len(expected):
        return False
    scores, others = np.array([s for _, s in found]), np.array([s for _, s in expected])
    if np.abs(scores - others).max(initial=0.0) > AGREE:
        return False
    last = min(scores.min(initial=1.0), others.min(initial=1.0)) + AGREE
    mine, theirs = dict(found), dict(expected)
    return all(
        abs(mine.get(one, last) - theirs.get(one, last)) <= 2 * AGREE for one in mine | theirs
    )


def _probe(folder: Path, queries: list[tuple[str, NDArray[np.float32]]], out: Any) -> None:
    """In a process of its own: seconds to open, and GB resident after the searches."""
    opening, memory = timed(open_memory, folder)
    for text, vector in queries:
        memory.search(Query(text, vector, None))
    out.put((opening, _peak_gb()))


def _peak_gb() -> float | None:
    """Most memory this process has had resident, mapped files included, GB."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return None
    # Not getrusage: a child begins with the peak of the process that started it.
    peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1e6


def _encoder_s(texts: Sequence[str]) -> float | str:
    """Median seconds in which the home's text model encodes a query, or why it is not known."""
    from resources.embedder.minilm import MiniLM

    try:
        encoder = MiniLM(Home.of_environment().models)
        encoder.embed(texts[:1])
        return float(np.median([timed(encoder.embed, [text])[0] for text in texts]))
    except GebError as error:
        return f"not measured: {error}"


def run(folder: Path, *, scale: float, dim: int, count: int, peer: bool) -> dict[str, Any]:
    week = synthetic_week(folder / "vectors", dim=dim, scale=scale)
    rows = plain_rows(week.frames)
    build_s, _ = timed(
        lambda: Index.write(folder / "index", rows, week.text, VectorRows(), DEFAULT, {})
    )
    queries = week.queries(count)
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    child = context.Process(target=_probe, args=(folder / "index", queries, answers))
    child.start()
    open_s, resident_gb = answers.get(timeout=600)
    child.join()

    memory = open_memory(folder / "index")
    asked = [Query(text, vector, None) for text, vector in queries]
    memory.search(asked[0])
    found: dict[str, Any] = {
        "nodes": len(memory.index.nodes.from_s),
        "edges": week.frames["graph_edges"].height,
        "dimension": dim,
        "queries": count,
        "index_build_s": build_s,
        "open_s": open_s,
        "resident_gb": resident_gb,
        "encoder_s": _encoder_s([text for text, _ in queries]),
    }
    parts = [components(memory, one, None) for one in asked]
    other = PeerMemory(contents_of(week, memory)) if peer else None
    ours: list[float] = []
    theirs: list[float] = []
    their_parts: list[Any] = []
    identical: list[bool] = []
    for one in asked:
        seconds, units = timed(memory.search, one)
        ours.append(seconds)
        if other is not None:
            words = pl.select(words_of(pl.lit(one.text), "unicode")).item().to_list()
            assert one.text_vector is not None
            expected, laps = other.search(words, one.text_vector)
            theirs.append(sum(laps.values()))
            their_parts.append(laps)
            identical.append(same_units([(u.id, u.score) for u in units], expected))
    found |= {
        "search_s": float(np.median(ours)),
        "search_p90_s": float(np.quantile(ours, 0.9)),
        "components_s": _medians(parts),
    }
    found["new_t_ratio"] = _new_t_ratio(memory, asked)
    by_match = replace(memory, settings=DEFAULT.model_copy(update={"ranking": "match"}))
    by_match.search(asked[0])
    matched = [timed(by_match.search, one)[0] for one in asked]
    found["match"] = {
        "search_s": float(np.median(matched)),
        "search_p90_s": float(np.quantile(matched, 0.9)),
        "new_t_ratio": _new_t_ratio(by_match, asked),
    }
    alone = [[unit.id for unit in memory.search(one)] for one in asked]
    with ThreadPoolExecutor(4) as pool:
        spent, together = timed(lambda: list(pool.map(memory.search, asked)))
    found["threads"] = {
        "threads": 4,
        "searches_per_s": count / spent,
        "identical": [[unit.id for unit in units] for units in together] == alone,
    }
    if other is not None:
        medians = _medians(their_parts)
        text = memory.index.text
        assert text is not None
        kernel = medians["cosine"] / 2
        slowdown = kernel / REFERENCE_KERNEL_S if scale == 1.0 and dim == WEEK_DIM else None
        found |= {
            "peer_s": float(np.median(theirs)),
            "peer_components_s": medians,
            "peer_index_s": other.build_s,
            "peer_against_reference": None
            if slowdown is None
            else {name: medians[name] / (REFERENCE_S[name] * slowdown) for name in medians},
            "ratio": float(np.median(theirs) / np.median(ours)),
            "identical": all(identical),
            "identical_queries": sum(identical),
        }
        found["match"]["ratio"] = float(np.median(theirs) / np.median(matched))
    return found


def _new_t_ratio(memory: Memory, asked: Sequence[Query]) -> float:
    """Median seconds at times never asked before, over those at one time.

    Times as late as the one asked again and again, so that as much is visible; in turns, so that
    what else the machine does meets both.
    """
    last = memory.span[1]
    same: list[float] = []
    new: list[float] = []
    for n, one in enumerate([*asked, *asked]):
        same.append(timed(memory.search, one, at=last - 1800.0)[0])
        new.append(timed(memory.search, one, at=last - 1801.0 - 7.0 * n)[0])
    return float(np.median(new) / np.median(same))


def _medians(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.median([row[name] for row in rows])) for name in rows[0]}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Speed of a search at the size of the week.")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--scale", type=float, default=1.0, help="part of Table 6's size")
    parser.add_argument("--dim", type=int, default=WEEK_DIM, help="numbers a text vector")
    parser.add_argument("--queries", type=int, default=24)
    parser.add_argument("--no-peer", action="store_true", help="measure this way alone")
    parser.add_argument("--folder", type=Path, help="where the memory is written (3 GB)")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        try:
            found = run(
                Path(folder),
                scale=chosen.scale,
                dim=chosen.dim,
                count=chosen.queries,
                peer=not chosen.no_peer,
            )
        except ImportError as error:
            print(f"{error}; install the bench extra: pip install '.[bench]'", file=sys.stderr)
            return 1
    if chosen.json:
        print(json.dumps(found))
        return 0
    for name, value in found.items():
        print(f"{name:24} {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
