"""Association of a recording segment by segment, resumable after each (paper Eq. 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from geb_assets.clock import day_of
from geb_assets.parameters import Association
from geb_assets.writing.entities.anchors import (
    boundary_anchors,
    consecutive_clips,
    edge_boxes,
)
from geb_assets.writing.entities.association import (
    AssociationState,
    Explanation,
    Rule,
    extend,
)
from geb_assets.writing.entities.separation import separations

_TICK = 1e-3
"""Share of a sampling tick that rounding may cost."""

PROVEN = pl.DataFrame(
    schema={"earlier": pl.Int64, "later": pl.Int64, "shared_frames": pl.Int64, "apart": pl.Float64}
)
"""No proven pairs: observations by row, and the evidence."""


@dataclass(frozen=True)
class ClipEdge:
    """What stands at the end of the last clip: the rows and boxes an anchor may start from."""

    start_s: float
    end_s: float
    rows: NDArray[np.int64]
    """Observations, counted from the recording's first, int64 [n]."""
    boxes: NDArray[np.float64]
    """Their boxes, xyxy px [n, 4]."""


@dataclass(frozen=True)
class Position:
    """Where association stands between two segments: all that later decisions depend on."""

    state: AssociationState
    edge: ClipEdge | None


@dataclass(frozen=True)
class Segment:
    """The observations of one segment in temporal order, as association reads them."""

    clips: pl.DataFrame
    """Its clips that could be decoded: rows of table ``clips``."""
    observations: pl.DataFrame
    """Rows of table ``observations`` in the order (start, end, clip, id) of spec 9.13."""
    vectors: NDArray[np.float32]
    """Identity vectors float32 [N, D] of the observations; NaN where there is none."""


@dataclass(frozen=True)
class Associated:
    """What became of one segment."""

    position: Position
    explanation: Explanation
    separations: pl.DataFrame
    """As `PROVEN`: earlier and later are rows, counted from the recording's first."""


def start(section: Association) -> Position:
    """Association before the first observation."""
    rule = Rule(section.theta_cons, section.theta_match, section.references)
    return Position(AssociationState.start(rule), None)


def associate_segment(position: Position, segment: Segment, section: Association) -> Associated:
    """Takes one more segment, in time order, into the memory."""
    first = position.state.observations
    proven, anchors, edge = _geometry(position.edge, segment, section, first)
    order = {clip: i for i, clip in enumerate(segment.clips["clip"])}
    clip_numbers = np.array([order[clip] for clip in segment.observations["clip"]], np.int64)
    state, explanation = extend(
        position.state,
        segment.vectors,
        clip=clip_numbers,
        separated=proven.select("earlier", "later").to_numpy().reshape(-1, 2),
        anchors=anchors,
    )
    return Associated(Position(state, edge), explanation, proven)


def _geometry(
    edge: ClipEdge | None, segment: Segment, section: Association, first: int
) -> tuple[pl.DataFrame, NDArray[np.int64], ClipEdge | None]:
    """Proven pairs and anchors of a segment's clips, and the edge of its last clip."""
    numbered = segment.observations.with_row_index("row", offset=first)
    by_clip = numbered.partition_by("clip", as_dict=True)
    following = _following(edge, segment.clips, section)
    proven: list[pl.DataFrame] = [PROVEN.clear()]
    anchors: list[NDArray[np.int64]] = [np.zeros((0, 2), np.int64)]
    for clip in segment.clips.iter_rows(named=True):
        own = by_clip.get((clip["clip"],), numbered.clear())
        rows = own["row"].to_numpy().astype(np.int64)
        frames = [np.array(frames) for frames in own["frames"].to_list()]
        boxes = [np.asarray(boxes, np.float64) for boxes in own["boxes"].to_list()]
        found = separations(
            frames,
            boxes,
            min_shared=section.separation_min_shared,
            iou=section.separation_iou,
            fraction=section.separation_share,
        )
        proven.append(
            pl.DataFrame(
                {
                    "earlier": rows[found.pairs[:, 0]],
                    "later": rows[found.pairs[:, 1]],
                    "shared_frames": found.shared,
                    "apart": found.fraction_apart,
                },
                schema=PROVEN.schema,
            )
        )
        sampled = _sampled(clip)
        if edge is not None and clip["clip"] in following:
            places, edges = edge_boxes(
                frames, boxes, sampled=sampled, edge="start", within=section.anchor_frames
            )
            pairs = boundary_anchors(edge.boxes, edges, iou=section.anchor_iou)
            anchors.append(np.column_stack([edge.rows[pairs[:, 0]], rows[places][pairs[:, 1]]]))
        places, edges = edge_boxes(
            frames, boxes, sampled=sampled, edge="end", within=section.anchor_frames
        )
        edge = ClipEdge(clip["start_s"], clip["end_s"], rows[places], edges)
    return pl.concat(proven), np.concatenate(anchors), edge


def _sampled(clip: dict[str, Any]) -> NDArray[np.int64]:
    """The frame numbers that a clip can hold, ascending."""
    origin = clip["cell"] * clip["grid_s"]
    begin = int(np.ceil((clip["start_s"] - origin) * clip["fps"] - _TICK))
    end = int(np.ceil((clip["end_s"] - origin) * clip["fps"] - _TICK))
    return np.arange(begin, end, dtype=np.int64)


def _following(edge: ClipEdge | None, clips: pl.DataFrame, section: Association) -> set[str]:
    """The clips that follow the clip before them closely enough for an anchor (spec 9.16)."""
    starts, ends = clips["start_s"].to_list(), clips["end_s"].to_list()
    names = clips["clip"].to_list()
    if edge is not None:
        starts, ends, names = [edge.start_s, *starts], [edge.end_s, *ends], ["", *names]
    days = [day_of(start) for start in starts]
    pairs = consecutive_clips(starts, ends, days, max_gap_s=section.anchor_gap_s)
    return {names[after] for after in pairs[:, 1]}
