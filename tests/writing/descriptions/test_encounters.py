"""Encounters built from rows: boxes inside crops and scene frames, lines, neighbours."""

from __future__ import annotations

import cv2
import numpy as np
import polars as pl

from geb_assets.writing.descriptions.encounters import encounters

CLIP = {"clip": "r/c", "fps": 10.0, "width": 640, "height": 480, "motion_px": 3.0}


def jpeg(width: int, height: int) -> bytes:
    return bytes(cv2.imencode(".jpg", np.full((height, width, 3), 90, np.uint8))[1])


def observation(name: str, label: str, frames: list[int], box: list[float]) -> dict[str, object]:
    start = 60 + frames[0] / 10
    return {
        "clip": "r/c", "observation": name, "start_s": start, "end_s": 60 + frames[-1] / 10 + 0.1,
        "label": label, "confidence": 0.7, "frames": frames, "boxes": [box] * len(frames),
        "scene_frames": [0, 10, 20], "context_start_s": start - 40.0,
        "context_end_s": 60 + frames[-1] / 10 + 40.1,
    }  # fmt: skip


def test_an_encounter_from_rows() -> None:
    observations = pl.DataFrame(
        [
            observation("r/c/o000", "cup", [0, 1, 2, 3, 14], [100.0, 100, 200, 200]),
            observation("r/c/o001", "bowl", [2, 3, 4], [100.0, 150, 200, 200]),
            observation("r/c/o002", "cat", [20, 21], [100.0, 100, 200, 200]),
        ]
    )
    crops = pl.DataFrame(
        [
            {
                "observation": "r/c/o000", "rank": 0, "frame": 2,
                "x1": 90.0, "y1": 90.0, "x2": 210.0, "y2": 210.0, "jpeg": jpeg(60, 60),
            }
        ]
    )  # fmt: skip
    frames = pl.DataFrame(
        [
            {"frame": f, "time_s": 60 + f / 10, "width": 320, "height": 240, "jpeg": jpeg(320, 240)}
            for f in (0, 10, 20)
        ]
    )
    spans = [(10.0, 19.9), (10.0, 20.0), (70.0, 72.0), (101.5, 103.0), (101.6, 103.0)]
    lines = pl.DataFrame(
        [
            {"start_s": a, "end_s": b, "kind": "caption", "speaker": "", "text": f"{a} {b}"}
            for a, b in spans
        ]
    )
    found = dict(encounters(CLIP, observations, crops, frames, lines, snap_s=0.5, still_px=0.5))
    assert list(found) == ["r/c/o000", "r/c/o001", "r/c/o002"]
    cup = found["r/c/o000"]
    np.testing.assert_allclose(cup.times, [60, 60.1, 60.2, 60.3, 61.4])
    np.testing.assert_allclose(cup.crops[0].box, [5, 5, 55, 55])
    assert [scene.box is None for scene in cup.scenes] == [False, False, True]
    np.testing.assert_allclose(cup.scenes[0].box, [50, 50, 100, 100])
    assert cup.origin_s == 60.0
    assert [line.start_s for line in cup.lines] == [10.0, 70.0, 101.5]
    assert [(other.label, other.overlap) for other in cup.neighbours] == [("bowl", 0.5)]
    assert found["r/c/o002"].neighbours == ()
