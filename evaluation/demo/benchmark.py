"""The demonstration's own benchmark: questions over three seeds, with and without identity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl

from evaluation.benchmarks.own import OwnQuestion, dump
from evaluation.demo.questions import questions
from evaluation.demo.recording import add, name_of
from geb_assets.building import build
from geb_assets.errors import GebError
from geb_assets.home import Home

SEEDS = (7, 8, 21)
VARIANTS = ("full", "no_association", "name_keyed")


def prepare(
    home: Home, say: Callable[[str], None]
) -> tuple[Path, str, tuple[str, ...], tuple[str, ...]]:
    """Renders and builds the demonstration of every seed where that is not done, and writes their
    questions: the question file, its kind, the recordings, and the variants to compare."""
    asked: list[OwnQuestion] = []
    for seed in SEEDS:
        name = name_of(seed)
        truth = pl.read_parquet(add(home, seed).truth)
        asked += [
            replace(one, id=f"{seed}/{one.id}", recording=name) for one in questions(truth, seed)
        ]
    names = tuple(name_of(seed) for seed in SEEDS)
    say(f"building {', '.join(names)} where they are not built yet; the first time takes minutes")
    built = build(home, recordings=names, memories_only=True)
    if built.faults:
        raise GebError(built.faults[0])
    file = home.path / "benchmarks" / "demo.json"
    text = dump(asked)
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return file, "own", names, VARIANTS
