"""Scene frames: the stored frames of an encounter that the describer is shown (spec 9.8)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geb_assets.parameters import Observations


def scene_frames(
    stored_s: NDArray[np.float64],
    first_s: float,
    last_s: float,
    parameters: Observations,
) -> NDArray[np.int64]:
    """Places in ``stored_s`` (ascending times of a clip's stored frames, s), ascending, distinct.

    n = clamp(round(span), `scene_frames_min`, `scene_frames_max`) times spread evenly from the
    first visible frame to the last, both included; each takes the nearest stored frame (the
    earlier of two), so that a short encounter shows fewer than n.
    """
    if len(stored_s) == 0:
        return np.zeros(0, np.int64)
    count = round(last_s - first_s)
    count = min(max(count, parameters.scene_frames_min), parameters.scene_frames_max)
    wanted = np.linspace(first_s, last_s, count)
    return np.unique(np.round(np.abs(stored_s[None, :] - wanted[:, None]), 6).argmin(axis=1))


def scene_boxes(
    scene_s: NDArray[np.float64],
    times: NDArray[np.float64],
    boxes: NDArray[np.float32],
    snap_s: float,
) -> NDArray[np.float32]:
    """The box to draw on each scene frame, float32 [S, 4]; NaN where none is drawn.

    It is the subject's box in the nearest frame (``times`` [n] s, ``boxes`` [n, 4]) that holds it,
    at most ``snap_s`` away; the earlier of two equally near.
    """
    # To the microsecond: two frames as far before as after a time are equally near.
    away = np.round(np.abs(times[None, :] - scene_s[:, None]), 6)
    nearest = away.argmin(axis=1)
    drawn = boxes[nearest].astype(np.float32)
    drawn[away[np.arange(len(scene_s)), nearest] > snap_s] = np.nan
    return np.asarray(drawn, np.float32)
