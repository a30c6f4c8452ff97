"""Score what was found in the demonstration recording against its truth."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from evaluation.metrics.association import PairwiseScores, b_cubed, pairwise_scores

RETURNING = "motorbike"
"""The identity that leaves on day 1 and returns on day 2."""

CUPS = ("red cup", "blue cup")

_INSIDE = 0.8


@dataclass(frozen=True)
class DemoScore:
    """``labelled`` is the share of observations that the truth names; the pairwise and B-cubed
    scores are over those. ``overlay_observations`` counts the observations that are the overlay and
    yet belong to an entity."""

    observations: int
    labelled: float
    identities_in_two_clips: int
    pairwise: PairwiseScores
    b_cubed: PairwiseScores
    cups_apart: bool
    overlay_boxes: int
    overlay_observations: int
    returning_in_one: bool


def label_observations(
    frames: pl.DataFrame, truth: pl.DataFrame, *, period_s: float, iou: float = 0.5
) -> pl.DataFrame:
    """The true identity of each observation.

    frames: one row a visible frame, columns observation, time_s, x1, y1, x2, y2 (pixels).
    truth: as render.TRUTH_SCHEMA; period_s: seconds between its frames. Times are matched to the
    nearest true frame within half of that.
    Returns one row an observation in order of observation: observation, identity (null where no
    object reaches ``iou`` in at least half of the visible frames), share (of visible frames) and
    overlay (whether the identity is the overlay: a box of which 80 % lies inside it counts, since
    the detector may box a part of the picture).
    """
    seen = frames.group_by("observation").agg(pl.len().alias("visible"))
    matched = _against_truth(frames, truth, period_s).filter(
        pl.when("overlay").then(pl.col("inside") >= _INSIDE).otherwise(pl.col("iou") >= iou)
    )
    best = (
        matched.group_by("observation", "identity", "overlay")
        .agg(pl.col("row").n_unique().alias("hits"), pl.col("iou").sum())
        .join(seen, on="observation")
        .with_columns(share=pl.col("hits") / pl.col("visible"))
        .filter(pl.col("share") >= 0.5)
        .sort("observation", "share", "iou", "identity", descending=[False, True, True, False])
        .unique("observation", keep="first", maintain_order=True)
    )
    return (
        seen.join(best, on="observation", how="left")
        .select(
            "observation",
            "identity",
            pl.col("share").fill_null(0.0),
            pl.col("overlay").fill_null(False),
        )
        .sort("observation")
    )


def overlay_boxes(boxes: pl.DataFrame, truth: pl.DataFrame, *, period_s: float) -> int:
    """How many boxes (columns time_s, x1, y1, x2, y2) lie in the overlay, 80 % of their area."""
    matched = _against_truth(boxes, truth.filter("overlay"), period_s)
    return matched.filter(pl.col("inside") >= _INSIDE).get_column("row").n_unique()


def score_demo(
    frames: pl.DataFrame,
    entities: pl.DataFrame,
    detections: pl.DataFrame,
    truth: pl.DataFrame,
    *,
    period_s: float,
) -> DemoScore:
    """Everything that the demonstration is judged by.

    frames: as for :func:`label_observations`, with a column clip; entities: observation, entity;
    detections: every detected box, columns time_s, x1, y1, x2, y2; truth, period_s: as there.
    """
    labels = label_observations(frames, truth, period_s=period_s)
    clips = frames.group_by("observation").agg(pl.col("clip").first())
    rows = labels.join(clips, on="observation").join(entities, on="observation", how="left")
    named = rows.filter(pl.col("identity").is_not_null() & ~pl.col("overlay"))
    held = named.filter(pl.col("entity").is_not_null())
    true = held.get_column("identity").rank("dense").to_numpy()
    found = held.get_column("entity").rank("dense").to_numpy()
    clips_of = named.group_by("identity").agg(pl.col("clip").n_unique())
    groups = {
        str(identity): set(part.get_column("entity").to_list())
        for (identity,), part in held.group_by("identity")
    }
    red, blue = (groups.get(cup, set()) for cup in CUPS)
    return DemoScore(
        observations=rows.height,
        labelled=named.height / rows.height if rows.height else 0.0,
        identities_in_two_clips=clips_of.filter(pl.col("clip") >= 2).height,
        pairwise=pairwise_scores(true, found),
        b_cubed=b_cubed(true, found),
        cups_apart=bool(red) and bool(blue) and not red & blue,
        overlay_boxes=overlay_boxes(detections, truth, period_s=period_s),
        overlay_observations=rows.filter("overlay", pl.col("entity").is_not_null()).height,
        returning_in_one=len(groups.get(RETURNING, set())) == 1,
    )


def _against_truth(boxes: pl.DataFrame, truth: pl.DataFrame, period_s: float) -> pl.DataFrame:
    """Each box beside every true box of its nearest frame: row, identity, overlay, iou, inside."""
    times = truth.select(pl.col("time_s").unique().sort().alias("true_s"))
    matched = (
        boxes.with_row_index("row")
        .sort("time_s")
        .join_asof(
            times,
            left_on="time_s",
            right_on="true_s",
            strategy="nearest",
            tolerance=period_s / 2 + 1e-6,
        )
        .join(truth.rename({"time_s": "true_s"}), on="true_s", suffix="_true")
    )
    width, height = (
        pl.min_horizontal(f"{axis}2", f"{axis}2_true")
        - pl.max_horizontal(f"{axis}1", f"{axis}1_true")
        for axis in "xy"
    )
    shared = width.clip(0) * height.clip(0)
    own = (pl.col("x2") - pl.col("x1")) * (pl.col("y2") - pl.col("y1"))
    other = (pl.col("x2_true") - pl.col("x1_true")) * (pl.col("y2_true") - pl.col("y1_true"))
    return matched.with_columns(
        iou=(shared / (own + other - shared)).fill_nan(0.0), inside=(shared / own).fill_nan(0.0)
    )
