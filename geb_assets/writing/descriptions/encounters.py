"""Observations as a describer sees them: sightings, crops, scene frames, lines, neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from geb_assets.writing.entities.separation import box_iou
from geb_assets.writing.observations.scenes import scene_boxes
from resources.describer import Crop, Encounter, Line, Neighbour, SceneFrame
from resources.frames import decode_jpeg


def encounters(
    clip: Mapping[str, Any],
    observations: pl.DataFrame,
    crops: pl.DataFrame,
    frames: pl.DataFrame,
    lines: pl.DataFrame,
    *,
    snap_s: float,
    still_px: float,
    wearer: str = "",
) -> Iterator[tuple[str, Encounter]]:
    """Observation id and encounter of each observation of one clip.

    ``clip`` is its row of table `clips`; ``observations``, ``crops`` and ``frames`` (the stored
    frames) are its rows of those tables; ``lines`` rows of table `lines` in time order.
    """
    rows = list(observations.iter_rows(named=True))
    own_crops = crops.partition_by("observation", as_dict=True)
    stored = {row["frame"]: row for row in frames.iter_rows(named=True)}
    for row in rows:
        times = row["start_s"] + (np.array(row["frames"]) - row["frames"][0]) / clip["fps"]
        boxes = np.asarray(row["boxes"], np.float32)
        own = own_crops.get((row["observation"],), crops.clear())
        yield (
            row["observation"],
            Encounter(
                label=row["label"],
                confidence=row["confidence"],
                start_s=row["start_s"],
                end_s=row["end_s"],
                times=times,
                boxes=boxes,
                width=clip["width"],
                height=clip["height"],
                crops=tuple(_crop(crop, row) for crop in own.iter_rows(named=True)),
                scenes=_scenes(
                    [stored[n] for n in row["scene_frames"]], times, boxes, clip["width"], snap_s
                ),
                lines=_lines(lines, row["context_start_s"], row["context_end_s"]),
                neighbours=_neighbours(row, rows),
                # A moving camera moves everything: motion is told where it stands still alone.
                camera=(
                    np.zeros((len(times), 2), np.float32) if clip["motion_px"] < still_px else None
                ),
                wearer=wearer,
            ),
        )


def _crop(crop: Mapping[str, Any], observation: Mapping[str, Any]) -> Crop:
    """The stored pixels, and the subject's box moved and scaled into them."""
    image = decode_jpeg(crop["jpeg"])
    place = observation["frames"].index(crop["frame"])
    box = np.array(observation["boxes"][place], np.float32)
    origin = np.array([crop["x1"], crop["y1"]] * 2, np.float32)
    return Crop(image, (box - origin) * np.float32(image.shape[1] / (crop["x2"] - crop["x1"])))


def _scenes(
    stored: Sequence[Mapping[str, Any]],
    times: NDArray[np.float64],
    boxes: NDArray[np.float32],
    width: int,
    snap_s: float,
) -> tuple[SceneFrame, ...]:
    at = np.array([frame["time_s"] for frame in stored], np.float64)
    if not len(at):
        return ()
    drawn = scene_boxes(at, times, boxes, snap_s)
    return tuple(
        SceneFrame(
            frame["time_s"],
            frame["jpeg"],
            None if np.isnan(box[0]) else box * np.float32(frame["width"] / width),
        )
        for frame, box in zip(stored, drawn, strict=True)
    )


def _lines(lines: pl.DataFrame, start_s: float, end_s: float) -> tuple[Line, ...]:
    """The lines that overlap the context window (spec 9.9)."""
    near = lines.filter((pl.col("end_s") >= start_s) & (pl.col("start_s") <= end_s))
    columns = ("start_s", "end_s", "kind", "speaker", "text")
    return tuple(Line(*row) for row in near.select(columns).iter_rows())


def _neighbours(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> tuple[Neighbour, ...]:
    """The other observations seen in the same frames, with the median overlap of the boxes."""
    found: list[Neighbour] = []
    own = dict(zip(row["frames"], row["boxes"], strict=True))
    for other in rows:
        if other is row:
            continue
        pairs = [
            (own[frame], box)
            for frame, box in zip(other["frames"], other["boxes"], strict=True)
            if frame in own
        ]
        if pairs:
            first, second = np.asarray(pairs, np.float64).transpose(1, 0, 2)
            found.append(Neighbour(other["label"], float(np.median(box_iou(first, second)))))
    return tuple(found)
