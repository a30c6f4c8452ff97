"""Which colours a subject has, in words."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from resources.describer import Crop
from resources.images import Image

COLOURS = (
    "black", "grey", "white", "red", "orange", "yellow", "green", "blue", "purple", "pink",
    "brown", "beige",
)  # fmt: skip
"""The names that are told apart, in the order of the shares below."""

COLOUR_WORDS = {
    **{name: name for name in COLOURS},
    "gray": "grey", "silver": "grey", "charcoal": "grey", "navy": "blue", "cyan": "blue",
    "turquoise": "blue", "crimson": "red", "scarlet": "red", "maroon": "red", "violet": "purple",
    "lilac": "purple", "magenta": "pink", "golden": "yellow", "gold": "yellow", "tan": "brown",
    "wooden": "brown", "cream": "beige", "khaki": "beige",
}  # fmt: skip
"""How a line may write a colour, to its name here."""

_MEASURED_SIDE = 64
_MOST_NAMED = 2
# CIE LCh hue angles, degrees, at which one hue's name gives way to the next.
_HUE_EDGES = np.array([15.0, 45.0, 75.0, 115.0, 200.0, 309.0, 335.0])
_HUE_NAMES = np.array(
    [COLOURS.index(name) for name in
     ("pink", "red", "orange", "yellow", "green", "blue", "purple", "pink")]
)  # fmt: skip


def colour_index(image: Image) -> NDArray[np.int64]:
    """Place in ``COLOURS`` of each pixel's colour, int [H, W], judged in CIE LCh."""
    lab = cv2.cvtColor(image.astype(np.float32) / 255, cv2.COLOR_BGR2LAB)
    light, chroma = lab[..., 0], np.hypot(lab[..., 1], lab[..., 2])
    hue = np.degrees(np.arctan2(lab[..., 2], lab[..., 1])) % 360
    names = _HUE_NAMES[np.searchsorted(_HUE_EDGES, hue, side="right")]

    def put(where: NDArray[np.bool_], name: str) -> None:
        names[where] = COLOURS.index(name)

    warm = (hue >= 35) & (hue < 100)
    reddish = (hue < 35) | (hue >= 335)
    put(warm & (chroma < 45) & (light >= 68), "beige")
    put((hue >= 35) & (hue < 90) & (light < 68) & (chroma < np.maximum(1.15 * light, 40)), "brown")
    put(reddish & (light >= 62), "pink")
    put(reddish & (light < 62) & (hue >= 15) & (hue < 35), "red")
    pale = chroma < np.where(warm, 16, 12)
    put(pale & (light < 25), "black")
    put(pale & (light >= 25) & (light < 78), "grey")
    put(pale & (light >= 78), "white")
    put((light < 18) & (chroma < 30), "black")
    return names


def colour_shares(crops: Sequence[Crop]) -> NDArray[np.float64]:
    """Share of each of ``COLOURS`` in the subject, float64 [C], sums to 1 (0 without crops).

    Pixels of the box count by a Gaussian about its centre, and a colour that is more usual just
    outside the box than inside is held for background.
    """
    inside, outside = np.zeros(len(COLOURS)), np.zeros(len(COLOURS))
    for crop in crops:
        height, width = crop.image.shape[:2]
        scale = min(1.0, _MEASURED_SIDE / max(height, width))
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        names = colour_index(
            np.asarray(cv2.resize(crop.image, size, interpolation=cv2.INTER_AREA), np.uint8)
        )
        x1, y1, x2, y2 = crop.box.astype(np.float64) * np.array(
            [size[0] / width, size[1] / height] * 2
        )
        # Distance from the box's centre in half box sides: 1 on its edges.
        u = (np.arange(size[0]) + 0.5 - (x1 + x2) / 2) / max((x2 - x1) / 2, 0.5)
        v = (np.arange(size[1]) + 0.5 - (y1 + y2) / 2) / max((y2 - y1) / 2, 0.5)
        in_box = (np.abs(v)[:, None] <= 1) & (np.abs(u)[None, :] <= 1)
        weight = np.exp(-((u**2)[None, :] + (v**2)[:, None]) / (2 * 0.45**2)) * in_box
        if weight.sum() > 0:
            inside += _shares(names, weight)
        if (~in_box).any():
            outside += _shares(names, (~in_box).astype(np.float64))
    if inside.sum() == 0:
        return inside
    inside /= inside.sum()
    outside = outside / outside.sum() if outside.sum() else outside
    own = np.where(outside > 1.3 * inside, 0.0, inside)
    if own.sum() < 0.4:  # its own colours are those of its surroundings
        own = inside
    return np.asarray(own / own.sum(), np.float64)


def _shares(names: NDArray[np.int64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    counts = np.bincount(names.ravel(), weights=weight.ravel(), minlength=len(COLOURS))
    return np.asarray(counts / counts.sum(), np.float64)


def named_colours(shares: NDArray[np.float64], least: float) -> tuple[str, ...]:
    """Up to two colour names with a share of at least ``least``, the largest first."""
    order = np.argsort(-shares, kind="stable")[:_MOST_NAMED]
    return tuple(COLOURS[place] for place in order if shares[place] >= max(least, 1e-9))
