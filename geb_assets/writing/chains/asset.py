"""Asset ``chains``: facts of topics and events; imported, else told by a model, else none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import polars as pl

from geb_assets.clock import Clock, day_of
from geb_assets.parameters import Chains
from geb_assets.registry import Recording
from geb_assets.stage import Expected, Finding, Result, Stage, Work
from geb_assets.tables import TABLES
from geb_assets.writing.added import as_added
from geb_assets.writing.chains.released import read_chains
from geb_assets.writing.chains.topics import Caption, Topic, chunks, topics
from resources.chronicler import Chronicler, Moment, NotTold
from resources.concurrency import in_flight


def run(work: Work) -> Result:
    if work.recording.chains:
        rows = _imported(work.recording)
        return Result({"chains": _table(work, rows)}, figures={"facts": len(rows)})
    if "chronicler" not in work.stage.served_by(work.roles.profile):
        return Result({"chains": TABLES["chains"].empty()})
    section = cast(Chains, work.section)
    captions = _captions(work)
    found = topics(captions, _names(work), section.topics)
    chronicler = work.roles.chronicler()
    told, failed = _topic_facts(work, chronicler, found, section.topic_captions)
    steps, missed = _event_steps(work, chronicler, captions, section.activities)
    rows = [*told, *steps]
    return Result(
        {"chains": _table(work, rows)},
        failed=failed + missed,
        figures={"topics": len(found), "facts": len(rows), "failed": failed + missed},
    )


def _captions(work: Work) -> list[Caption]:
    own = work.read("episodes").filter(pl.col("scale") == "30sec")
    columns = ("start_s", "end_s", "visible_from", "text")
    return [Caption(*row) for row in own.select(columns).iter_rows()]


def _names(work: Work) -> list[str]:
    """Names of the things that come back."""
    return work.read("entities").filter(pl.col("observations") >= 2)["display_name"].to_list()


def _imported(recording: Recording) -> list[dict[str, Any]]:
    """Rows of the recording's files of chains; raises GebError where one is not the one added."""
    clock = Clock.parse(recording.clock)
    return [
        {**row, "source": Path(file.path).name}
        for file in recording.chains
        for row in read_chains(as_added(file), clock)
    ]


def _topic_facts(
    work: Work, chronicler: Chronicler, found: list[Topic], most: int
) -> tuple[list[dict[str, Any]], int]:
    """Facts of the topics, and how many calls failed.

    A fact is visible when all captions of its call are, and its topic is one.
    """
    todo = [(topic, chunk) for topic in found for chunk in chunks(topic, most)]

    def tell(one: tuple[Topic, tuple[Caption, ...]]) -> list[dict[str, Any]] | None:
        topic, chunk = one
        try:
            facts = chronicler.facts(topic.label, [_moment(caption) for caption in chunk])
        except NotTold:
            return None
        at = max(topic.known_from, *(caption.visible_from for caption in chunk))
        return [
            {"kind": "topic", "label": topic.label, "text": text, "visible_from": at,
             "start_s": chunk[place].start_s, "end_s": chunk[place].end_s, "source": "model"}
            for place, text in facts
        ]  # fmt: skip

    rows: list[dict[str, Any]] = []
    failed = 0
    for done, (_, made) in enumerate(in_flight(tell, todo, chronicler.in_flight)):
        work.progress("chains: topics", done + 1, len(todo))
        failed += made is None
        rows += made or []
    return rows, failed


def _event_steps(
    work: Work, chronicler: Chronicler, captions: list[Caption], most: int
) -> tuple[list[dict[str, Any]], int]:
    """Steps of events, day after day: what a day is told of knows no later day.

    A step is visible when its whole day is, since the day was read as one.
    """
    days: dict[int, list[Caption]] = {}
    for caption in captions:
        days.setdefault(day_of(caption.start_s), []).append(caption)
    rows: list[dict[str, Any]] = []
    failed = 0
    for done, own in enumerate(days.values()):
        work.progress("chains: days", done, len(days))
        known = list(dict.fromkeys(row["label"] for row in rows))
        try:
            steps = chronicler.steps([_moment(one) for one in own], known, most)
        except NotTold:
            failed += 1
            continue
        at = max(one.visible_from for one in own)
        same = {label.casefold(): label for label in known}
        for step in steps:
            label = same.setdefault(step.label.casefold(), step.label)
            span = [own[place] for place in step.moments]
            rows.append(
                {"kind": "event", "label": label, "text": step.text, "visible_from": at,
                 "start_s": span[0].start_s, "end_s": max(one.end_s for one in span),
                 "source": "model"}
            )  # fmt: skip
    work.progress("chains: days", len(days), len(days))
    return rows, failed


def _moment(caption: Caption) -> Moment:
    return Moment(caption.start_s, caption.end_s, caption.text)


def _table(work: Work, rows: list[dict[str, Any]]) -> pl.DataFrame:
    own = pl.DataFrame(rows, schema=TABLES["chains"].own_schema)
    return work.keys(own.unique(maintain_order=True))


def verify(work: Work, result: Result) -> Iterator[Finding]:
    rows = result.tables["chains"]
    later = rows.select((pl.col("visible_from") >= pl.col("end_s")).all()).item()
    yield Finding("visible_after", bool(later), "a fact is visible before it was over")


def _expected(work: Work) -> Expected:
    if work.recording.chains:
        return Expected(0, 0, 0)
    section = cast(Chains, work.section)
    captions = _captions(work)
    found = topics(captions, _names(work), section.topics)
    asked = sum(1 for topic in found for _ in chunks(topic, section.topic_captions))
    days = len({day_of(one.start_s) for one in captions})
    return Expected(asked + days, 60 * section.topic_captions, 400)


def _sources(recording: Recording, partition: str) -> Any:
    return [[Path(file.path).name, file.digest] for file in recording.chains]


STAGE = Stage(
    asset="chains",
    partition="recording",
    implementation="2",
    run=run,
    group="episodic_memory",
    kinds=("python", "deltalake"),
    description=(
        "Follows topics and events through the captions: imported files, else told by a text "
        "model, else none (paper appendix A, graph and retrieval; MAGIC's chains)."
    ),
    optional={"chronicler": ("episodes", "entities")},
    calls={"chronicler": _expected},
    sources=_sources,
    checks={"visible_after": "No fact is visible before it was over."},
    verify=verify,
)
