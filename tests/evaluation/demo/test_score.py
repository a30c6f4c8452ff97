from __future__ import annotations

import polars as pl
import pytest

from evaluation.demo.render import TRUTH_SCHEMA
from evaluation.demo.score import label_observations, score_demo

Box = tuple[float, float, float, float]
OVERLAY_BOX = (500.0, 10.0, 580.0, 90.0)
PERIOD = 0.1


def truth_of(frames: int, things: dict[str, Box]) -> pl.DataFrame:
    rows = [
        ("v.mp4", f, 100 + f * PERIOD, name, name, name == "clock overlay", *box, 1.0)
        for f in range(frames)
        for name, box in things.items()
    ]
    return pl.DataFrame(rows, schema=TRUTH_SCHEMA, orient="row")


def seen(observation: str, clip: str, times: list[float], box: Box) -> pl.DataFrame:
    return pl.DataFrame(
        [(observation, clip, t, *box) for t in times],
        schema=["observation", "clip", "time_s", "x1", "y1", "x2", "y2"],
        orient="row",
    )


def test_an_identity_needs_half_of_the_visible_frames() -> None:
    truth = truth_of(10, {"cat": (0, 0, 100, 100)})
    times = [100 + i * PERIOD for i in range(4)]
    frames = pl.concat(
        [
            seen("a", "c", times[:2], (0, 0, 100, 60)),  # IoU 0.6
            seen("a", "c", times[2:], (200, 0, 300, 100)),
            seen("b", "c", times[:1], (0, 0, 100, 100)),
            seen("b", "c", times[1:], (0, 0, 100, 49)),  # IoU 0.49
        ]
    )
    labels = label_observations(frames, truth, period_s=PERIOD)
    assert labels.rows() == [("a", "cat", 0.5, False), ("b", None, 0.0, False)]


@pytest.mark.parametrize(("shift", "found"), [(0.04, True), (0.06, False)])
def test_times_match_within_half_a_frame(shift: float, found: bool) -> None:
    truth = truth_of(1, {"cat": (0, 0, 100, 100)})
    labels = label_observations(
        seen("a", "c", [100 + shift], (0, 0, 100, 100)), truth, period_s=PERIOD
    )
    assert (labels["identity"][0] == "cat") is found


def test_score_of_a_small_recording() -> None:
    box = {
        "red cup": (0, 0, 100, 100),
        "blue cup": (150, 0, 250, 100),
        "motorbike": (300, 0, 400, 99),
    }
    truth = truth_of(40, {**box, "clock overlay": OVERLAY_BOX})
    first, second = [100.0, 100.1], [103.0, 103.1]
    frames = pl.concat(
        [seen(f"{n} {c}", c, t, box[n]) for n in box for c, t in (("c1", first), ("c2", second))]
        + [
            seen("dial", "c1", first, (520, 30, 560, 60)),
            seen("nothing", "c2", second, (0, 300, 50, 350)),
        ]
    )
    names = frames["observation"].unique(maintain_order=True).to_list()
    entity = {n: n.rsplit(" ", 1)[0] for n in names} | {"blue cup c2": "other"}
    entities = pl.DataFrame({"observation": names, "entity": [entity[n] for n in names]})
    score = score_demo(
        frames,
        entities.filter(pl.col("observation") != "dial"),
        frames.drop("observation", "clip"),
        truth,
        period_s=PERIOD,
    )
    assert (score.observations, score.labelled) == (8, 6 / 8)
    assert score.identities_in_two_clips == 3
    assert score.pairwise.precision == 1.0
    assert score.pairwise.recall == pytest.approx(2 / 3)
    assert score.cups_apart and score.returning_in_one
    assert (score.overlay_boxes, score.overlay_observations) == (2, 0)
    merged = entities.with_columns(entity=pl.lit("one"))
    worse = score_demo(frames, merged, frames.drop("observation", "clip"), truth, period_s=PERIOD)
    assert not worse.cups_apart and worse.overlay_observations == 1
    assert worse.pairwise.precision < 1 and worse.returning_in_one
