"""Asset ``entities``: the biographies, who belongs to which and why, and proven separations."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from geb_assets.parameters import Association
from geb_assets.stage import Finding, Result, Stage, Work
from geb_assets.tables import TABLES
from geb_assets.writing.entities.association import (
    AssociationState,
    Explanation,
    Rule,
    close_calls,
)
from geb_assets.writing.entities.biographies import biographies
from geb_assets.writing.entities.pictures import biography_sheet, close_call_sheet, similarity_plot
from geb_assets.writing.entities.sequence import (
    PROVEN,
    Associated,
    ClipEdge,
    Position,
    Segment,
    associate_segment,
    start,
)
from resources.store import decode_vectors

_OBSERVATION_COLUMNS = ["observation", "clip", "start_s", "end_s", "frames", "boxes"]
_BIOGRAPHIES_SHOWN = 8


@dataclass(frozen=True)
class _Kept:
    """One finished segment, as it is checkpointed."""

    ids: list[str]
    starts: list[float]
    done: Associated


def _segment(work: Work, key: str) -> tuple[Segment, list[str], list[float]]:
    clips = work.read("clips", segment=key).filter(pl.col("status") == "ok")
    rows = work.read("observations", _OBSERVATION_COLUMNS, segment=key).sort(
        "start_s", "end_s", "clip", "observation"
    )
    vectors = work.read("embeddings", segment=key, kind="identity").select("subject", "vector")
    placed = rows.select("observation").join(
        vectors, left_on="observation", right_on="subject", how="left", maintain_order="left"
    )
    blobs = placed["vector"].fill_null(b"")
    return (
        Segment(clips, rows, decode_vectors(blobs)),
        rows["observation"].to_list(),
        rows["start_s"].to_list(),
    )


def _associated(work: Work, section: Association) -> list[_Kept]:
    """Every segment in time order; those whose past did not change come from checkpoints."""
    position = start(section)
    kept: list[_Kept] = []
    for number, key in enumerate(work.segments):
        work.progress("entities", number, len(work.segments))
        stored = work.lasting.get(work.history[key])
        if stored is None:
            segment, ids, starts = _segment(work, key)
            one = _Kept(ids, starts, associate_segment(position, segment, section))
            work.lasting.put(work.history[key], _to_frames(one))
        else:
            one = _from_frames(stored, position.state.rule)
        kept.append(one)
        position = one.done.position
    work.progress("entities", len(work.segments), len(work.segments))
    return kept


def _to_frames(kept: _Kept) -> dict[str, pl.DataFrame]:
    edge = kept.done.position.edge
    buffer = io.BytesIO()
    if edge is not None:
        np.savez(buffer, start=edge.start_s, end=edge.end_s, rows=edge.rows, boxes=edge.boxes)
    return {
        "observations": pl.DataFrame({"id": kept.ids, "start_s": kept.starts},
                                     schema={"id": pl.String, "start_s": pl.Float64}),
        "separations": kept.done.separations,
        "arrays": pl.DataFrame(
            {
                "state": [kept.done.position.state.to_bytes()],
                "explanation": [kept.done.explanation.to_bytes()],
                "edge": [buffer.getvalue()],
            }
        ),
    }  # fmt: skip


def _from_frames(frames: dict[str, pl.DataFrame], rule: Rule) -> _Kept:
    arrays = frames["arrays"].row(0, named=True)
    edge: ClipEdge | None = None
    if arrays["edge"]:
        with np.load(io.BytesIO(arrays["edge"])) as stored:
            edge = ClipEdge(
                float(stored["start"]), float(stored["end"]), stored["rows"], stored["boxes"]
            )
    state = AssociationState.from_bytes(arrays["state"])
    if state.rule != rule:
        raise ValueError("a checkpoint of other thresholds; its digest should have differed")
    observations = frames["observations"]
    return _Kept(
        observations["id"].to_list(),
        observations["start_s"].to_list(),
        Associated(
            Position(state, edge),
            Explanation.from_bytes(arrays["explanation"]),
            frames["separations"],
        ),
    )


def entity_ids(recording: str, numbers: NDArray[np.int64]) -> list[str]:
    """Ids of entity numbers; empty for -1."""
    return [f"{recording}/e{number:06d}" if number >= 0 else "" for number in numbers.tolist()]


def membership_rows(
    recording: str, ids: list[str], starts: list[float], explanation: Explanation
) -> pl.DataFrame:
    """Rows of table ``memberships``: where each observation went, and why."""

    def optional(values: NDArray[np.float32]) -> pl.Series:
        return pl.Series(values, dtype=pl.Float32).fill_nan(None)

    return pl.DataFrame(
        {
            "recording": [recording] * len(ids),
            "observation": ids,
            "entity": entity_ids(recording, explanation.entity),
            "start_s": starts,
            "started": np.isnan(explanation.max_similarity),
            "min_similarity": optional(explanation.min_similarity),
            "mean_similarity": optional(explanation.mean_similarity),
            "max_similarity": optional(explanation.max_similarity),
            "anchored": explanation.anchored,
            "runner_up": entity_ids(recording, explanation.runner_up),
            "runner_up_mean": optional(explanation.runner_up_mean),
            "runner_up_lost": list(explanation.why),
        },
        schema=TABLES["memberships"].schema,
    )


def _separation_rows(work: Work, ids: list[str], proven: pl.DataFrame) -> pl.DataFrame:
    observations = work.read("observations", ["observation", "clip", "end_s"])
    names = pl.Series(ids, dtype=pl.String)
    ends = dict(observations.select("observation", "end_s").iter_rows())
    clips = dict(observations.select("observation", "clip").iter_rows())
    earlier = names.gather(proven["earlier"]).to_list()
    later = names.gather(proven["later"]).to_list()
    return pl.DataFrame(
        {
            "recording": [work.name] * len(earlier),
            "clip": [clips[name] for name in earlier],
            "earlier": earlier,
            "later": later,
            "visible_from": [max(ends[a], ends[b]) for a, b in zip(earlier, later, strict=True)],
            "shared_frames": proven["shared_frames"],
            "apart": proven["apart"],
        },
        schema=TABLES["separations"].schema,
    )


def run(work: Work) -> Result:
    section = cast(Association, work.section)
    kept = _associated(work, section)
    work.lasting.keep_only([work.history[key] for key in work.segments])
    ids = [name for one in kept for name in one.ids]
    starts = [time_s for one in kept for time_s in one.starts]
    explanation = Explanation.concatenated(one.done.explanation for one in kept)
    proven = pl.concat(
        [PROVEN.clear(), *(one.done.separations for one in kept)], how="vertical_relaxed"
    )
    memberships = membership_rows(work.name, ids, starts, explanation)
    descriptions = work.read(
        "descriptions", ["observation", "start_s", "end_s", "object_name", "is_person"]
    )
    entities = biographies(memberships, descriptions).select(
        pl.lit(work.name).alias("recording"), pl.all()
    )
    rule = Rule(section.theta_cons, section.theta_match, section.references)
    recurring = entities.filter(pl.col("observations") >= 2)
    return Result(
        {
            "separations": _separation_rows(work, ids, proven),
            "memberships": memberships,
            "entities": entities,
        },
        figures={
            "biographies": entities.height,
            "with two or more encounters": recurring.height,
            "encounters in them": int(recurring["observations"].sum()),
            "over several days": recurring.filter(pl.col("days").list.len() > 1).height,
            "anchored": int(explanation.anchored.sum()),
            "vetoes by separation": int(explanation.vetoes.sum()),
            "separated pairs": proven.height,
        },
        pictures=_pictures(work, ids, explanation, rule, memberships, entities),
    )


def _pictures(
    work: Work,
    ids: list[str],
    explanation: Explanation,
    rule: Rule,
    memberships: pl.DataFrame,
    entities: pl.DataFrame,
) -> dict[str, bytes]:
    pictures = {"Similarities": similarity_plot(explanation, rule)}
    calls = close_calls(explanation, rule, limit=12)
    largest = entities.sort("observations", "entity", descending=[True, False]).head(
        _BIOGRAPHIES_SHOWN
    )
    members = memberships.join(largest.select("entity"), on="entity", how="semi")
    wanted = {ids[row] for call in calls for row in (call.observation, call.reference) if row >= 0}
    wanted |= set(members["observation"])
    first = (
        work.scan("crops")
        .filter(pl.col("observation").is_in(list(wanted)) & (pl.col("rank") == 0))
        .select("observation", "jpeg")
        .collect()
    )
    jpegs = dict(first.iter_rows())
    rows = {row: jpegs[name] for row, name in enumerate(ids) if name in jpegs}
    for threshold in ("theta_match", "theta_cons"):
        near = [call for call in calls if call.threshold == threshold]
        if near:
            pictures[f"Pairs nearest {threshold}"] = close_call_sheet(near, rows)
    sheets = [
        [jpegs[name] for name in members.filter(pl.col("entity") == entity)["observation"]]
        for entity in largest["entity"]
    ]
    if sheets:
        pictures["Largest biographies"] = biography_sheet(sheets, largest["display_name"].to_list())
    return pictures


def verify(work: Work, result: Result) -> Iterator[Finding]:
    memberships, entities = result.tables["memberships"], result.tables["entities"]
    observations = work.read("observations", ["observation"])
    once = memberships["observation"].is_unique().all()
    same = set(memberships["observation"]) == set(observations["observation"])
    yield Finding("one_entity_each", bool(once and same), "an observation lacks its one entity")
    known = set(memberships["entity"]) == set(entities["entity"])
    yield Finding("entities_exist", known, "a membership names an entity that does not exist")
    section = cast(Association, work.section)
    yield Finding(
        "separated_apart",
        not separated_within(memberships, result.tables["separations"], section.references),
        "an entity holds a separated pair within its references",
    )


def separated_within(memberships: pl.DataFrame, separations: pl.DataFrame, references: int) -> bool:
    """Whether a proven pair joined one entity at most ``references`` encounters apart."""
    placed = memberships.select(
        "observation",
        "entity",
        pl.int_range(pl.len()).over("entity", order_by=["start_s", "observation"]).alias("place"),
    )
    pairs = separations.join(placed, left_on="earlier", right_on="observation").join(
        placed, left_on="later", right_on="observation", suffix="_later"
    )
    within = (pl.col("place_later") - pl.col("place")).abs() <= references
    return not pairs.filter((pl.col("entity") == pl.col("entity_later")) & within).is_empty()


STAGE = Stage(
    asset="entities",
    partition="recording",
    implementation="1",
    run=run,
    group="biographies",
    kinds=("numpy", "deltalake"),
    description=(
        "Appends every encounter to the biography it is consistent with and matches, or starts a "
        "new one (paper 3.3, Equation 3; appendix A, association). Two thresholds, the ten latest "
        "references, and a veto where the pixels prove two things apart."
    ),
    reads=("clips", "observations", "crops", "descriptions", "embeddings"),
    checks={
        "one_entity_each": "Every observation has exactly one entity.",
        "entities_exist": "Every entity named by a membership exists.",
        "separated_apart": "No entity holds a separated pair within its references.",
    },
    verify=verify,
)
