"""How well the tracker keeps identities: IDF1 and ID switches on TUD-Campus.

``python -m evaluation.bench.tracking --json`` reads ``$GEB_DATA/mot`` (real detections and
ground-truth ids, 71 frames at 25 fps; the frames themselves are not there, so the camera's
motion is not compensated: the camera stands still).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from resources.detector import Detections
from resources.tracker import Tracker

_FPS = 25.0


def read_mot(path: Path) -> list[NDArray[np.float64]]:
    """A MOTChallenge file as one array a frame, rows (id, x1, y1, x2, y2, confidence)."""
    rows = np.loadtxt(path, delimiter=",", ndmin=2)[:, :7]
    rows[:, 4:6] += rows[:, 2:4]
    return [rows[rows[:, 0] == frame][:, 1:] for frame in range(1, int(rows[:, 0].max()) + 1)]


def iou(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Intersection over union ``[n, m]`` of xyxy boxes ``[n, 4]`` and ``[m, 4]``."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=2)
    areas = [(x[:, 2:] - x[:, :2]).prod(axis=1) for x in (a, b)]
    union = areas[0][:, None] + areas[1][None, :] - shared
    return np.asarray(shared / np.maximum(union, 1e-9), np.float64)


def measure(tracker: Tracker, folder: Path) -> dict[str, float]:
    """IDF1, its recall and precision, and ID switches of ``tracker`` on TUD-Campus."""
    from trackers.eval import compute_clear_metrics, compute_identity_metrics

    truth = read_mot(folder / "TUD-Campus.gt.txt")
    found = read_mot(folder / "TUD-Campus.det.txt")
    found += [np.zeros((0, 6))] * (len(truth) - len(found))
    detections = [
        Detections(
            rows[:, 1:5].astype(np.float32), rows[:, 5].astype(np.float32), ("person",) * len(rows)
        )
        for rows in found
    ]
    blank = np.zeros((64, 64), np.uint8)
    numbers = tracker.track(detections, (blank for _ in detections), _FPS)
    kept = [row >= 0 for row in numbers]
    arguments = (
        [rows[:, 0].astype(np.int64) for rows in truth],
        [row[keep] for row, keep in zip(numbers, kept, strict=True)],
        [
            iou(gold[:, 1:5], rows[keep, 1:5])
            for gold, rows, keep in zip(truth, found, kept, strict=True)
        ],
    )
    identity = compute_identity_metrics(*arguments)
    clear = compute_clear_metrics(*arguments)
    return {
        "idf1": float(identity["IDF1"]),
        "idr": float(identity["IDR"]),
        "idp": float(identity["IDP"]),
        "id_switches": int(clear["IDSW"]),
        "tracks": len({int(n) for row in numbers for n in row if n >= 0}),
        "people": len({int(i) for rows in truth for i in rows[:, 0]}),
    }


def main(arguments: list[str] | None = None) -> int:
    """Entry point of ``python -m evaluation.bench.tracking``."""
    from resources.tracker.botsort import BotSort

    parser = argparse.ArgumentParser(prog="evaluation.bench.tracking", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    as_json = parser.parse_args(arguments).json
    data = os.environ.get("GEB_DATA")
    folder = Path(data or ".") / "mot"
    if not data or not folder.is_dir():
        print("skipped: TUD-Campus is read from $GEB_DATA/mot, which is not there", file=sys.stderr)
        print(json.dumps({"skipped": ["tud_campus"]}) if as_json else "nothing was measured")
        return 0
    result = measure(BotSort(), folder)
    print(json.dumps({"tud_campus": result}) if as_json else result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
