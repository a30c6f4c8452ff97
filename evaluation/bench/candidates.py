"""Whether FAISS finds association's candidates sooner than a matrix product, exactly.

    python -m evaluation.bench.candidates --json

Candidates of a clip's observations are the references at theta_match or above (spec 9.14). Three
ways to all of them, at the size of one clip against the active references:

* ``product``: one float32 matrix product and a comparison, as `associate` does it;
* ``flat``: FAISS's exhaustive index, searched by range;
* ``codes``: FAISS's 8-bit codes, searched down to their largest error below the threshold, and
  what they find compared exactly.

``churn`` is what an index costs besides: taking a clip's worth of old references out and putting
new ones in. Graph and inverted indexes are left out: what they miss no verification finds again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.bench.association import PER_CLIP, THETA_MATCH, synthetic

Pairs = set[tuple[int, int]]


def _median(run: Callable[[], object], repeats: int = 5) -> float:
    """Median seconds of some runs; the first one warms up outside the clock."""
    run()
    seconds: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def _product(block: NDArray[np.float32], references: NDArray[np.float32]) -> Pairs:
    rows, columns = np.nonzero(block @ references.T >= THETA_MATCH)
    return set(zip(rows.tolist(), columns.tolist(), strict=True))


def _ranges(index: Any, block: NDArray[np.float32], least: float) -> Pairs:
    limits, _, found = index.range_search(block, least)
    rows = np.repeat(np.arange(len(block)), np.diff(limits.astype(np.int64)))
    return set(zip(rows.tolist(), found.tolist(), strict=True))


def measure(references: int, dim: int, seed: int = 0) -> dict[str, float | int | bool]:
    """Milliseconds a clip of each way, and whether all find the same pairs."""
    import faiss

    data = synthetic(references + PER_CLIP, dim, seed=seed).vectors
    data = np.nan_to_num(data, nan=0.0)
    held, block = np.ascontiguousarray(data[:-PER_CLIP]), np.ascontiguousarray(data[-PER_CLIP:])

    flat = faiss.IndexFlatIP(dim)
    flat.add(held)
    codes = faiss.IndexScalarQuantizer(
        dim, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    codes.train(held)
    codes.add(held)
    error = max(
        float(np.linalg.norm(codes.reconstruct_n(at, n) - held[at : at + n], axis=1).max())
        for at in range(0, len(held), 4096)
        for n in [min(4096, len(held) - at)]
    )

    def coded() -> Pairs:
        screened = _ranges(codes, block, THETA_MATCH - error)
        if not screened:
            return set()
        rows, columns = np.array(sorted(screened)).T
        similar = np.einsum("ij,ij->i", block[rows], held[columns])
        kept = similar >= THETA_MATCH
        return set(zip(rows[kept].tolist(), columns[kept].tolist(), strict=True))

    def churn() -> None:
        flat.remove_ids(faiss.IDSelectorRange(0, PER_CLIP))
        flat.add(held[:PER_CLIP])

    expected = _product(block, held)
    found_flat = _ranges(flat, block, THETA_MATCH)
    figures = {
        "product_ms": 1e3 * _median(lambda: block @ held.T >= THETA_MATCH),
        "flat_ms": 1e3 * _median(lambda: flat.range_search(block, THETA_MATCH)),
        "codes_ms": 1e3 * _median(coded),
    }
    return {
        "references": references,
        "dim": dim,
        "pairs": len(expected),
        "identical": expected == found_flat == coded(),
        **figures,
        "churn_ms": 1e3 * _median(churn),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Candidates by FAISS against a matrix product.")
    parser.add_argument("--json", action="store_true", help="one JSON object on standard output")
    parser.add_argument("--references", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--dims", type=int, nargs="+", default=[512, 1024, 4096])
    arguments = parser.parse_args()
    rows = []
    for references in arguments.references:
        for dim in arguments.dims:
            rows.append(measure(references, dim))
            print(rows[-1], file=sys.stderr, flush=True)
    if arguments.json:
        print(json.dumps({"candidates": rows}))


if __name__ == "__main__":
    main()
