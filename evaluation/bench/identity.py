"""What identity is worth, and what errors of identity cost: HD-EPIC's object movements, no pixels.

    python -m evaluation.bench.identity $GEB_DATA/hdepic --json --plot identity.png

Each of a video's annotated movements is one encounter, described by its object's base name alone
(`bowl2` is a `bowl`). A question shows one movement; its evidence is every movement of the same
physical object. What is received is the movement shown, the biography that it belongs to, nearest
in time first, and, where that leaves room, what a search for it returns: the same number of
encounters under every identity. Identities are the true one (an upper bound), the true one with a
share of the objects merged or split, the name, and none. Complete coverage is whether all of the
evidence was received. Only the questions with two or more movements are asked: the others say
nothing of identity.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evaluation.benchmarks.hdepic import load, load_movements, seen_at
from evaluation.benchmarks.question import Question
from evaluation.bootstrap import one_sample, paired
from evaluation.metrics.evidence import complete_coverage
from geb_assets.clock import Clock
from geb_assets.errors import GebError
from geb_assets.parameters import Graph
from geb_assets.reading.memory import Memory, Query
from geb_assets.reading.settings import Budget
from geb_assets.reading.variants import VARIANTS
from geb_assets.tables import TABLES
from geb_assets.writing.graph.build import build_graph
from resources.store import encode_vectors

SHARES = (0.05, 0.10, 0.20)
"""Shares of the objects whose identity is made wrong."""
UNITS = 6
"""Encounters received: the most observations of one search in the paper (spec 0)."""
DRAWS = 3
"""Draws of each perturbation; a question's value is their mean."""

_UNIT_S = 30.0
_DIM = 64
_OWN = 0.5
"""Weight of what is a movement's own in its text vector, beside its name's 1."""

Error = Literal["merged", "split"]
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Condition:
    """One identity that encounters are organised by."""

    name: str
    variant: str = "full"
    error: Error | None = None
    share: float = 0.0


CONDITIONS = (
    Condition("gold"),
    *(
        Condition(f"{share:.0%} {error}", error=error, share=share)
        for error in ("merged", "split")
        for share in SHARES
    ),
    Condition("name-keyed", variant="name_keyed"),
    Condition("no association", variant="no_association"),
)


def perturbed(
    objects: Labels, names: Labels, error: Error, share: float, rng: np.random.Generator
) -> Labels:
    """Labels with a share of the objects merged into another, or split in two.

    objects, names: the true object and the base name of each movement [N]. Merging picks among all
    objects, and joins one to an object of its name where there is one, else to any other. Splitting
    picks among the objects with two movements or more; each half keeps at least one.
    """
    found = objects.copy()
    known, counts = np.unique(objects, return_counts=True)
    able = known if error == "merged" else known[counts >= 2]
    chosen = rng.permutation(able)[: round(share * len(able))]
    for one in chosen.tolist():
        members = np.flatnonzero(objects == one)
        if error == "split":
            away = rng.permutation(members)[: rng.integers(1, len(members))]
            found[away] = found.max() + 1
            continue
        others = np.unique(objects[(objects != one)])
        alike = np.unique(objects[(objects != one) & (names == names[members[0]])])
        pool = alike if len(alike) else others
        if len(pool):
            found[found == found[members[0]]] = found[objects == rng.choice(pool)][0]
    return found


@dataclass(frozen=True, eq=False)
class Kitchen:
    """One video's movements as encounters, without who is who."""

    movements: pl.DataFrame
    tables: Mapping[str, pl.DataFrame]
    vectors: NDArray[np.float32]

    @classmethod
    def of(cls, video: str, movements: pl.DataFrame) -> Kitchen:
        rng = np.random.default_rng(0)
        names = movements["base_name"].rank("dense").to_numpy().astype(np.int64) - 1
        vectors = rng.standard_normal((names.max() + 1, _DIM))[names]
        own = rng.standard_normal((len(names), _DIM))
        vectors = _unit(_unit(vectors) + _OWN * _unit(own)).astype(np.float32)
        ids = [f"{video}/o{place:05d}" for place in range(len(names))]
        start, end = movements["start_s"].to_numpy(), movements["end_s"].to_numpy()
        cells = np.arange(int(end.max() // _UNIT_S) + 1)
        clip_of = (start // _UNIT_S).astype(np.int64)
        clips = _table(
            "clips", clip=[f"{video}/c{c:05d}" for c in cells], start_s=cells * _UNIT_S,
            end_s=(cells + 1) * _UNIT_S, cell=cells, grid_s=[int(_UNIT_S)] * len(cells),
            status=["ok"] * len(cells),
        )  # fmt: skip
        told = [
            ", ".join(movements.filter(pl.Series(clip_of == c))["base_name"].to_list())
            for c in cells
        ]
        episodes = _table(
            "episodes", episode=[f"{video}/e{c:05d}" for c in cells], scale=["30sec"] * len(cells),
            start_s=cells * _UNIT_S, end_s=(cells + 1) * _UNIT_S, text=told,
        )  # fmt: skip
        observations = _table(
            "observations", clip=[f"{video}/c{c:05d}" for c in clip_of], observation=ids,
            start_s=start, end_s=end, label=movements["base_name"],
        )  # fmt: skip
        descriptions = _table(
            "descriptions", observation=ids, start_s=start, end_s=end, status=["ok"] * len(ids),
            object_name=movements["base_name"], summary=movements["base_name"],
        )  # fmt: skip
        embeddings = _table(
            "embeddings", subject=ids, kind=["text"] * len(ids), vector=encode_vectors(vectors)
        )
        return cls(
            movements,
            {
                "clips": clips,
                "episodes": episodes,
                "observations": observations,
                "descriptions": descriptions,
                "embeddings": embeddings,
            },
            vectors,
        )

    def memory(self, labels: Labels, variant: str) -> Memory:
        """The memory in which encounters of one label are one biography."""
        ids = self.tables["observations"]["observation"]
        memberships = _table(
            "memberships", observation=ids, entity=[f"e{label:05d}" for label in labels],
            start_s=self.movements["start_s"],
        )  # fmt: skip
        nodes, edges = build_graph(
            "video", clips=self.tables["clips"], observations=self.tables["observations"],
            memberships=memberships, episodes=self.tables["episodes"], weights=Graph(),
        )  # fmt: skip
        rows = {**self.tables, "memberships": memberships}
        return Memory.from_tables(
            {**rows, "graph_nodes": nodes, "graph_edges": edges},
            _NoEncoder(),
            variant=VARIANTS[variant],
            clock=Clock("seconds"),
        )

    def received(self, memory: Memory, seen: int, units: int) -> list[tuple[float, float]]:
        """Spans of the encounters received for one that is shown: itself, its biography from the
        nearest in time outwards, and what a search for it finds."""
        name = str(self.movements["base_name"][seen])
        at = float(self.movements["start_s"][seen])
        shown = self.tables["observations"]["observation"][seen]
        budget = Budget(
            units=units, observations=units, per_entity=None, episodes_30sec=0, episodes_3min=0,
            episodes_10min=0, clips=0,
        )  # fmt: skip
        found = memory.search(Query(name, self.vectors[seen], None), budget=budget)
        nodes = memory.index.nodes
        place = nodes.ids.find(shown, nodes.by_id)
        assert place is not None
        own = memory.index.entities.entity_of(place, np.inf) or shown
        biography = memory.appearances([own]).sort((pl.col("start_s") - at).abs(), "observation")
        spans = [*biography.select("start_s", "end_s").iter_rows()]
        spans += [(unit.start_s, unit.end_s) for unit in found]
        return list(dict.fromkeys(spans))[:units]


class _NoEncoder:
    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise AssertionError("queries come with their vectors")


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _table(name: str, **columns: Any) -> pl.DataFrame:
    """Columns of a table with its types; those not given are blank."""
    frame = pl.DataFrame(columns)
    blank: dict[Any, Any] = {pl.String(): "", pl.Boolean(): False, pl.Binary(): b""}
    return frame.with_columns(
        pl.lit(blank.get(dtype, None if isinstance(dtype, pl.List) else 0)).alias(key)
        for key, dtype in TABLES[name].schema.items()
        if key not in frame.columns
    ).select(pl.col(key).cast(dtype) for key, dtype in TABLES[name].schema.items())


def asked(questions: Sequence[Question]) -> list[Question]:
    """The questions whose object moves at least twice."""
    return [question for question in questions if len(question.evidence) >= 2]


def measure(
    movements: pl.DataFrame, questions: Sequence[Question], *, units: int, draws: int
) -> dict[str, NDArray[np.float64]]:
    """Condition to complete coverage by question and draw: [questions, draws] (1 draw where
    nothing is drawn)."""
    found = {one.name: np.zeros((len(questions), draws if one.error else 1)) for one in CONDITIONS}
    for video in dict.fromkeys(question.recording for question in questions):
        own = movements.filter(pl.col("video") == video)
        kitchen = Kitchen.of(video, own)
        objects, names = (
            own[column].rank("dense").to_numpy().astype(np.int64) - 1
            for column in ("object", "base_name")
        )
        places = [place for place, one in enumerate(questions) if one.recording == video]
        for condition in CONDITIONS:
            for draw in range(found[condition.name].shape[1]):
                rng = np.random.default_rng((draw, round(100 * condition.share)))
                labels = (
                    perturbed(objects, names, condition.error, condition.share, rng)
                    if condition.error
                    else objects
                )
                memory = kitchen.memory(labels, condition.variant)
                for place in places:
                    received = kitchen.received(memory, _seen(own, questions[place]), units)
                    found[condition.name][place, draw] = complete_coverage(
                        questions[place].evidence, received
                    )
    return found


def _seen(movements: pl.DataFrame, question: Question) -> int:
    """The row of the movement that the question shows: the nearest start or end of its object."""
    at = seen_at(question.question)
    own = list(question.evidence)
    start, end = min(own, key=lambda span: min(abs(span[0] - at), abs(span[1] - at)))
    rows = movements.with_row_index("row").filter(
        (pl.col("start_s") == start) & (pl.col("end_s") == end)
    )
    return int(rows["row"][0])


def figures(found: Mapping[str, NDArray[np.float64]]) -> Iterator[dict[str, Any]]:
    """Each condition's coverage, and what it is below gold, with their intervals."""
    gold = found["gold"].mean(axis=1)
    for condition in CONDITIONS:
        values = found[condition.name]
        low, high = one_sample(values)
        line: dict[str, Any] = {
            "identity": condition.name,
            "complete_coverage": float(values.mean()),
            "low": low,
            "high": high,
        }
        if condition.name != "gold":
            own = values.mean(axis=1)
            low, high = paired(own, gold)
            line |= {"minus_gold": float(own.mean() - gold.mean()), "low_minus_gold": low,
                     "high_minus_gold": high}  # fmt: skip
        yield line


def plot(lines: Sequence[Mapping[str, Any]]) -> bytes:
    """PNG: coverage against the share of objects made wrong, beside name-keyed and none."""
    import io

    from matplotlib.figure import Figure

    by_name = {line["identity"]: line for line in lines}
    figure = Figure(figsize=(6.5, 4), layout="constrained")
    axes = figure.subplots()
    for error, colour in (("merged", "C0"), ("split", "C1")):
        names = ["gold", *(f"{share:.0%} {error}" for share in SHARES)]
        values = np.array([by_name[n]["complete_coverage"] for n in names])
        sides = [values - [by_name[n]["low"] for n in names],
                 np.array([by_name[n]["high"] for n in names]) - values]  # fmt: skip
        axes.errorbar([0, *(100 * share for share in SHARES)], values, sides, color=colour,
                      marker="o", capsize=3, label=f"objects {error}")  # fmt: skip
    for name, style in (("name-keyed", "--"), ("no association", ":")):
        axes.axhline(by_name[name]["complete_coverage"], color="k", linestyle=style, label=name)
    axes.set(xlabel="objects with wrong identity, %", ylabel="complete coverage", ylim=(0, 1))
    axes.legend()
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=100)
    return buffer.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="HD-EPIC's assoc_info.json and questions")
    parser.add_argument("--units", type=int, default=UNITS, help="encounters returned")
    parser.add_argument("--draws", type=int, default=DRAWS, help="draws of each perturbation")
    parser.add_argument("--plot", type=Path, help="PNG of coverage against identity error")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        movements = load_movements(options.folder / "assoc_info.json")
        file = options.folder / "vqa_object_motion_object_movement_itinerary.json"
        questions = asked(load(file, movements))
    except GebError as error:
        sys.exit(f"evaluation.bench.identity: {error}")
    found = measure(movements, questions, units=options.units, draws=options.draws)
    lines = list(figures(found))
    if options.plot:
        options.plot.write_bytes(plot(lines))
    result = {"questions": len(questions), "units": options.units, "draws": options.draws,
              "conditions": lines}  # fmt: skip
    if options.json:
        print(json.dumps(result))
        return
    print(f"{len(questions)} questions, {options.units} encounters a search")
    for line in lines:
        below = f"  minus gold {line['minus_gold']:+.3f} [{line['low_minus_gold']:+.3f}, " \
                f"{line['high_minus_gold']:+.3f}]" if "minus_gold" in line else ""  # fmt: skip
        print(f"{line['identity']:<16} {line['complete_coverage']:.3f} "
              f"[{line['low']:.3f}, {line['high']:.3f}]{below}")  # fmt: skip


if __name__ == "__main__":
    main()
