"""Asset ``names``: which entity is who of the cast; empty without a cast or models for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np
import polars as pl

from geb_assets.clock import day_of
from geb_assets.naming import carried, consolidated
from geb_assets.parameters import Names
from geb_assets.spread import spread
from geb_assets.stage import Expected, Finding, Result, Stage, Work
from geb_assets.tables import TABLES
from geb_assets.writing.names.assignment import joint
from geb_assets.writing.names.day import Clothing, Look, looks_by_person, named
from resources.concurrency import in_flight
from resources.describer import Line
from resources.namer import NotNamed, Scene

_OWN = ("names", "assignments", "clothing", "consolidations")
_READ = (
    "clips", "frames", "observations", "descriptions", "memberships", "separations", "lines",
)  # fmt: skip


def run(work: Work) -> Result:
    served = set(work.stage.served_by(work.roles.profile))
    if not work.recording.cast or not {"namer", "wardrobe"} <= served:
        return Result({name: TABLES[name].empty() for name in _OWN})
    section = cast(Names, work.section)
    people = _people(work)
    assignments, failed = _assignments(work, people, section.frames)
    assigned = dict(assignments.select("observation", "cast_name").iter_rows())
    looks = [
        Look(row["observation"], row["entity"], day_of(row["start_s"]), _look(row),
             row["visible_from"])
        for row in people.iter_rows(named=True)
    ]  # fmt: skip
    wardrobe, unread = _clothing(work, looks, assigned, assignments, section.looks)
    namings = named(looks, wardrobe, unread, section.share)
    tables = {
        "assignments": assignments,
        "clothing": _rows("clothing", [
            {"cast_name": one.cast_name, "day": one.day, "features": list(one.features),
             "visible_from": one.visible_from}
            for one in wardrobe
        ]),
        "names": _rows("names", [
            {"entity": one.entity, "day": one.day, "cast_name": one.cast_name,
             "named_at": one.named_at, "visible_from": one.named_at,
             "evidence": ", ".join(features)}
            for one, features in namings
        ]),
        "consolidations": _consolidations(work, [one for one, _ in namings], people),
    }  # fmt: skip
    return Result(
        {name: work.keys(rows) for name, rows in tables.items()},
        failed=failed + len(unread),
        figures={
            "assigned encounters": assignments.height,
            "named entities": len({one.entity for one, _ in namings}),
            "failed": failed + len(unread),
            "days without names": ", ".join(map(str, sorted(set(unread)))) or "none",
        },
    )


def _people(work: Work) -> pl.DataFrame:
    """Described people: observation, entity, clip, times, frames, boxes and looks."""
    told = work.read("descriptions").filter((pl.col("status") == "ok") & pl.col("is_person"))
    looks = ("observation", "visible_from", "appearance", "unique_mark", "reid_summary")
    seen = work.read("observations", ["observation", "clip", "start_s", "end_s", "frames", "boxes"])
    owners = work.read("memberships", ["observation", "entity"])
    return (
        told.select(looks)
        .join(seen, on="observation")
        .join(owners, on="observation")
        .sort("start_s", "observation")
    )


def _look(row: Mapping[str, Any]) -> str:
    return " ".join(row[name] for name in ("appearance", "unique_mark", "reid_summary"))


def _assignments(work: Work, people: pl.DataFrame, most: int) -> tuple[pl.DataFrame, int]:
    """Rows of table `assignments`, and how many clips could not be assigned."""
    clips = {row["clip"]: row for row in work.read("clips").iter_rows(named=True)}
    lines = work.read("lines")
    namer = work.roles.namer()
    todo = list(people.partition_by("clip", as_dict=True, maintain_order=True).items())

    def assign(one: tuple[tuple[Any, ...], pl.DataFrame]) -> Mapping[str, str] | None:
        (clip,), own = one
        scenes = _scenes(work, clips[clip], own, most)
        if not scenes:
            return {}
        try:
            return namer.assign(scenes, _near(lines, clips[clip]), work.recording.cast)
        except NotNamed:
            return None

    rows: list[dict[str, Any]] = []
    failed = 0
    for done, (((clip,), own), reply) in enumerate(in_flight(assign, todo, namer.in_flight)):
        work.progress("names: clips", done + 1, len(todo))
        if reply is None:
            failed += 1
            continue
        frames = dict(own.select("observation", "frames").iter_rows())
        named = joint(reply, frames, work.recording.cast)
        rows += [
            {"clip": clip, "observation": observation, "cast_name": name,
             "visible_from": _told_by(lines, clips[clip])}
            for observation, name in named.items()
        ]  # fmt: skip
    return _rows("assignments", rows).sort("clip", "observation"), failed


def _scenes(work: Work, clip: Mapping[str, Any], people: pl.DataFrame, most: int) -> list[Scene]:
    """At most ``most`` stored frames that show people, so chosen that everybody is shown."""
    stored = work.read("frames", segment=clip["segment"], clip=clip["clip"])
    boxes = {
        row["observation"]: dict(zip(row["frames"], row["boxes"], strict=True))
        for row in people.iter_rows(named=True)
    }
    scenes = []
    for row in stored.iter_rows(named=True):
        scale = np.float32(row["width"] / clip["width"])
        shown = {
            one: np.asarray(own[row["frame"]], np.float32) * scale
            for one, own in boxes.items()
            if row["frame"] in own
        }
        if shown:
            scenes.append(Scene(row["time_s"], row["jpeg"], shown))
    chosen: list[Scene] = []
    unseen = set(boxes)
    while len(chosen) < most and (rest := [one for one in scenes if one not in chosen]):
        # First those that show most people not shown yet, then those that show most.
        best = max(rest, key=lambda one: (len(unseen & one.people.keys()), len(one.people)))
        chosen.append(best)
        unseen -= best.people.keys()
    return sorted(chosen, key=lambda one: one.time_s)


def _overlapping(lines: pl.DataFrame, clip: Mapping[str, Any]) -> pl.DataFrame:
    return lines.filter((pl.col("end_s") >= clip["start_s"]) & (pl.col("start_s") <= clip["end_s"]))


def _near(lines: pl.DataFrame, clip: Mapping[str, Any]) -> list[Line]:
    columns = ("start_s", "end_s", "kind", "speaker", "text")
    return [Line(*row) for row in _overlapping(lines, clip).select(columns).iter_rows()]


def _told_by(lines: pl.DataFrame, clip: Mapping[str, Any]) -> float:
    """When the clip and every line that its assignment was made from are over, in seconds."""
    return float(max([clip["end_s"], *_overlapping(lines, clip)["visible_from"].to_list()]))


def _clothing(
    work: Work,
    looks: list[Look],
    assigned: Mapping[str, str],
    assignments: pl.DataFrame,
    most: int,
) -> tuple[list[Clothing], list[int]]:
    """Clothing of each person and day, and the day of each that could not be distilled."""
    wardrobe = work.roles.wardrobe()
    known = dict(assignments.select("observation", "visible_from").iter_rows())
    todo = sorted(looks_by_person(looks, assigned).items())

    def distill(one: tuple[tuple[str, int], list[Look]]) -> Clothing | None:
        (name, day), own = one
        used = spread(own, most)
        try:
            features = wardrobe.distill([look.text for look in used])
        except NotNamed:
            return None
        at = max(max(look.visible_from, known[look.observation]) for look in used)
        return Clothing(name, day, tuple(features), at)

    found = list(in_flight(distill, todo, wardrobe.in_flight))
    made = sorted((one for _, one in found if one), key=lambda one: (one.day, one.cast_name))
    return made, [day for ((_, day), _), one in found if one is None]


def _consolidations(work: Work, namings: list[Any], people: pl.DataFrame) -> pl.DataFrame:
    """Which entities are one person, as of the end of the recording."""
    owner = dict(work.read("memberships", ["observation", "entity"]).iter_rows())
    pairs = work.read("separations", ["earlier", "later"]).iter_rows()
    separated = {frozenset((owner[a], owner[b])) for a, b in pairs if a in owner and b in owner}
    sizes = dict(people.group_by("entity").len().iter_rows())
    names = carried(namings)
    known: dict[str, float] = {}
    for one in namings:
        known[one.entity] = min(known.get(one.entity, one.named_at), one.named_at)
    kept = consolidated(names, separated, sizes)
    return _rows("consolidations", [
        {"cast_name": name, "entity": entity, "person": own[0],
         "visible_from": max(known[entity], known[own[0]])}
        for name, own in sorted(kept.items())
        for entity in own
    ])  # fmt: skip


def _rows(table: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=TABLES[table].own_schema)


def verify(work: Work, result: Result) -> Iterator[Finding]:
    names = result.tables["names"]
    of_cast = names["cast_name"].is_in(list(work.recording.cast)).all()
    yield Finding("of_the_cast", bool(of_cast), "somebody is named who is not of the cast")
    once = names.select("entity", "day").is_unique().all()
    yield Finding("one_a_day", bool(once), "an entity has two names on one day")


def _expected_assignments(work: Work) -> Expected:
    clips = _people(work)["clip"].n_unique() if work.recording.cast else 0
    return Expected(clips, 500 + 600 * cast(Names, work.section).frames, 60)


def _expected_profiles(work: Work) -> Expected:
    days = len({day_of(at) for at in _people(work)["start_s"]}) if work.recording.cast else 0
    return Expected(days * len(work.recording.cast), 60 * cast(Names, work.section).looks, 80)


STAGE = Stage(
    asset="names",
    partition="recording",
    implementation="3",
    run=run,
    group="biographies",
    kinds=("python", "deltalake"),
    description=(
        "Names entities by the recording's cast: people assigned jointly in each clip, the "
        "clothing of each person and day, entities matched to what tells one from the others "
        "(appendix A, naming). Empty without a cast, or under a profile without a namer."
    ),
    optional={"namer": _READ, "wardrobe": _READ},
    calls={"namer": _expected_assignments, "wardrobe": _expected_profiles},
    sources=lambda recording, partition: {"cast": list(recording.cast)},
    checks={
        "of_the_cast": "Only names of the cast are given.",
        "one_a_day": "An entity has at most one name on a day.",
    },
    verify=verify,
)
