"""Asset ``triples``: what captions state, for the baselines that search statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from geb_assets.stage import Expected, Finding, Result, Stage, Work
from geb_assets.tables import TABLES
from resources.concurrency import in_flight
from resources.extractor import NotExtracted, Triple


def run(work: Work) -> Result:
    if "extractor" not in work.stage.served_by(work.roles.profile):
        return Result({"triples": TABLES["triples"].empty()})
    captions = _captions(work)
    extractor = work.roles.extractor()

    def tell(caption: dict[str, Any]) -> list[dict[str, Any]] | None:
        try:
            return _rows(caption, extractor.triples(caption["text"]))
        except NotExtracted:
            return None

    rows: list[dict[str, Any]] = []
    failed = 0
    asked = captions.iter_rows(named=True)
    for done, (_, made) in enumerate(in_flight(tell, asked, extractor.in_flight)):
        work.progress("triples: captions", done + 1, captions.height)
        failed += made is None
        rows += made or []
    told = work.keys(pl.DataFrame(rows, schema=TABLES["triples"].own_schema))
    figures = {"captions": captions.height, "triples": told.height, "failed": failed}
    return Result({"triples": told}, failed=failed, figures=figures)


def _captions(work: Work) -> pl.DataFrame:
    rows = work.read("episodes", ["episode", "scale", "start_s", "end_s", "visible_from", "text"])
    return rows.filter(pl.col("scale") == "30sec")


def _rows(caption: dict[str, Any], triples: Sequence[Triple]) -> list[dict[str, Any]]:
    """A caption's triples, visible when it is."""
    return [
        {
            "triple": f"{caption['episode']}/t{place:02d}",
            "episode": caption["episode"],
            **triple._asdict(),
            **{name: caption[name] for name in ("start_s", "end_s", "visible_from")},
        }
        for place, triple in enumerate(triples)
    ]


def verify(work: Work, result: Result) -> Iterator[Finding]:
    rows = result.tables["triples"]
    later = rows.select((pl.col("visible_from") >= pl.col("end_s")).all()).item()
    yield Finding("visible_after", bool(later), "a triple is visible before its caption was over")


def _expected(work: Work) -> Expected:
    captions = _captions(work)
    # About four characters a token, and the fixed words.
    words = float(captions["text"].str.len_chars().mean() or 0.0)  # type: ignore[arg-type]
    return Expected(captions.height, 220 + words / 4, 250)


STAGE = Stage(
    asset="triples",
    partition="recording",
    implementation="1",
    run=run,
    group="episodic_memory",
    kinds=("python", "deltalake"),
    description=(
        "Takes each 30-second caption apart into subject, predicate, object, for the baselines "
        "that search statements (MAGIC's and WorldMM's; paper section 4). Computed only for the "
        "recordings of benchmarks that have such a variant, where a chat model serves."
    ),
    optional={"extractor": ("episodes",)},
    calls={"extractor": _expected},
    on_demand=True,
    checks={"visible_after": "No triple is visible before its caption was over."},
    verify=verify,
)
