"""The things of the demonstration recording, cut out of public-domain photographs.

A photograph's outline is a polygon or ellipse in its own pixels; two road-side props, the stop sign
and the recorder's dial, are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from geb_assets.errors import GebError
from resources.images import Image

Alpha = NDArray[np.uint8]

PICTURE_FILES = (
    "coffee.png",
    "astronaut.png",
    "chelsea.png",
    "camera.png",
    "motorcycle_left.png",
    "horse.png",
    "rocket.jpg",
    "brick.png",
    "grass.png",
    "gravel.png",
)
"""The scikit-image photographs that the renderer reads."""

_ASTRONAUT = (
    # Without the helmet on her knee: a detector takes it for a thing of its own.
    (152, 70), (160, 38), (190, 16), (230, 11), (272, 20), (297, 48), (301, 88), (288, 118),
    (272, 132), (268, 150), (296, 172), (305, 205), (340, 240), (358, 275), (364, 338), (330, 352),
    (298, 388), (284, 430), (282, 470), (290, 511), (22, 511), (12, 440), (22, 360), (48, 300),
    (60, 262), (85, 238), (116, 215), (114, 180), (125, 158), (160, 148), (178, 150), (180, 128),
    (165, 112),
)  # fmt: skip
_CAMERAMAN = (
    (176, 92), (190, 72), (222, 62), (252, 70), (270, 90), (270, 118), (264, 136), (320, 132),
    (328, 165), (330, 195), (306, 220), (296, 273), (256, 304), (222, 282), (198, 316), (174, 364),
    (160, 400), (90, 400), (14, 318), (0, 300), (0, 255), (20, 215), (66, 163), (122, 118),
    (160, 108),
)  # fmt: skip
_MOTORBIKE = (
    (91, 210), (91, 190), (107, 165), (150, 158), (207, 162), (250, 178), (285, 190), (330, 178),
    (420, 160), (446, 125), (470, 100), (496, 78), (540, 88), (570, 140), (580, 165), (560, 190),
    (590, 245), (641, 275), (676, 320), (686, 400), (664, 445), (630, 455), (590, 430), (540, 372),
    (496, 380), (350, 415), (331, 432), (315, 410), (240, 395), (198, 405), (150, 375), (122, 320),
    (122, 270), (135, 235),
)  # fmt: skip
_CUP_BODY = (
    (170, 125), (180, 170), (195, 215), (205, 245), (200, 275), (205, 300), (230, 305), (250, 300),
    (290, 300), (340, 265), (375, 250), (385, 225), (400, 170), (408, 125),
)  # fmt: skip


@dataclass(frozen=True)
class Cutout:
    """``pixels`` [H, W, 3] BGR, ``alpha`` [H, W]; ``outline`` float [N, 2] is its convex hull."""

    pixels: Image
    alpha: Alpha
    outline: NDArray[np.float64]


def read_pictures(folder: Path) -> dict[str, Image]:
    """The photographs in ``folder``, by file name; a file may carry a prefix that ends in a dash.

    Raises GebError where one is missing or is no picture.
    """
    found: dict[str, Image] = {}
    for name in PICTURE_FILES:
        paths = sorted(p for p in folder.glob(f"*{name}") if p.name.split("-")[-1] == name)
        picture = cv2.imread(str(paths[0])) if paths else None
        if picture is None:
            raise GebError(f"demo: picture {name} is missing in {folder}; fetch the demo pictures")
        found[name] = np.asarray(picture, np.uint8)
    return found


def make_cutouts(
    pictures: Mapping[str, Image], *, red_shift: float, blue_shift: float
) -> dict[str, Cutout]:
    """Every cut-out of the story by name.

    ``pictures`` as :func:`read_pictures` gives them; the shifts turn the glaze of the two cups, in
    OpenCV hue units (half degrees) around red and around blue.
    """
    coffee = pictures["coffee.png"]
    rim = _ellipse(coffee, (289, 112), (119, 95))
    saucer = _ellipse(coffee, (278, 225), (203, 165))
    horse = pictures["horse.png"]
    # The silhouette is lifted from pure black: nothing in a lit room is.
    silhouette = np.asarray(np.maximum(horse, 18), np.uint8)
    return {
        "cup with saucer": _cutout(_glaze(coffee, red_shift), saucer | rim),
        "dotted cup": _cutout(
            _dotted_cup(coffee, 108 + blue_shift), _polygon(coffee, _CUP_BODY) | rim, mirrored=True
        ),
        "cat": _cutout(pictures["chelsea.png"], _rounded(pictures["chelsea.png"], 40)),
        "astronaut": _cutout(
            pictures["astronaut.png"], _polygon(pictures["astronaut.png"], _ASTRONAUT)
        ),
        "cameraman": _cutout(pictures["camera.png"], _polygon(pictures["camera.png"], _CAMERAMAN)),
        "motorbike": _cutout(
            pictures["motorcycle_left.png"], _polygon(pictures["motorcycle_left.png"], _MOTORBIKE)
        ),
        "horse": _cutout(silhouette, np.asarray(255 - horse[..., 1], np.uint8)),
        "television": _television(pictures["rocket.jpg"]),
        "stop sign": _stop_sign(),
    }


def dial(side: int) -> Image:
    """The recorder's overlay: a clock face on a dark square, ``[side, side, 3]``."""
    face = np.full((320, 320, 3), 25, np.uint8)
    cv2.circle(face, (160, 160), 145, (240, 240, 240), -1, cv2.LINE_AA)
    cv2.circle(face, (160, 160), 138, (40, 40, 40), 14, cv2.LINE_AA)
    for hour in range(1, 13):
        angle = np.pi * hour / 6
        at = (int(148 + 105 * np.sin(angle)), int(170 - 105 * np.cos(angle)))
        cv2.putText(face, str(hour), at, 0, 0.9, (20, 20, 20), 2, cv2.LINE_AA)
    cv2.line(face, (160, 160), (210, 120), (10, 10, 10), 8, cv2.LINE_AA)
    cv2.line(face, (160, 160), (140, 60), (10, 10, 10), 5, cv2.LINE_AA)
    return np.asarray(cv2.resize(face, (side, side), interpolation=cv2.INTER_AREA), np.uint8)


def _cutout(pixels: Image, alpha: Alpha, mirrored: bool = False) -> Cutout:
    """Soft edge, cropped to the shape, mirrored where asked."""
    alpha = np.asarray(cv2.GaussianBlur(alpha, (0, 0), 1.5), np.uint8)
    rows, columns = np.nonzero(alpha > 127)
    part = np.s_[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    pixels, alpha = pixels[part], alpha[part]
    if mirrored:
        pixels, alpha = pixels[:, ::-1], alpha[:, ::-1]
    solid = np.argwhere(alpha > 127)[:, ::-1].astype(np.int32)
    outline = np.asarray(cv2.convexHull(solid), np.float64).reshape(-1, 2)
    return Cutout(np.ascontiguousarray(pixels), np.ascontiguousarray(alpha), outline)


def _polygon(picture: Image, points: tuple[tuple[int, int], ...]) -> Alpha:
    alpha = np.zeros(picture.shape[:2], np.uint8)
    cv2.fillPoly(alpha, [np.array(points, np.int32)], (255,), cv2.LINE_AA)
    return alpha


def _ellipse(picture: Image, centre: tuple[int, int], axes: tuple[int, int]) -> Alpha:
    alpha = np.zeros(picture.shape[:2], np.uint8)
    cv2.ellipse(alpha, centre, axes, 0, 0, 360, (255,), -1, cv2.LINE_AA)
    return alpha


def _rounded(picture: Image, radius: int) -> Alpha:
    """A rectangle with round corners, four pixels inside the picture."""
    height, width = picture.shape[:2]
    alpha = np.zeros((height, width), np.uint8)
    alpha[4 + radius : height - 4 - radius, 4 + radius : width - 4 - radius] = 255
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1))
    return np.asarray(cv2.dilate(alpha, kernel), np.uint8)


def _glaze_mask(coffee: Image) -> NDArray[np.float32]:
    """[H, W, 1] in 0..1: where the cup's red glaze is (not the wood, not the coffee)."""
    hsv = cv2.cvtColor(coffee, cv2.COLOR_BGR2HSV)
    red = ((hsv[..., 0] < 9) | (hsv[..., 0] > 170)) & (hsv[..., 1] > 90)
    return np.asarray(cv2.GaussianBlur(red.astype(np.float32), (0, 0), 1.2), np.float32)[..., None]


def _glaze(coffee: Image, shift: float, saturation: float = 1.0, value: float = 1.0) -> Image:
    hsv = cv2.cvtColor(coffee, cv2.COLOR_BGR2HSV).astype(np.float32)
    hsv[..., 0] = (hsv[..., 0] + shift) % 180
    hsv[..., 1] = np.clip(hsv[..., 1] * saturation, 0, 255)
    hsv[..., 2] = np.clip(hsv[..., 2] * value, 0, 255)
    turned = cv2.cvtColor(hsv.astype(np.uint8), cv2.COLOR_HSV2BGR)
    mask = _glaze_mask(coffee)
    return np.asarray(coffee * (1 - mask) + turned * mask, np.uint8)


def _dotted_cup(coffee: Image, shift: float) -> Image:
    """Another cup: other glaze with white dots, black tea instead of coffee."""
    picture = _glaze(coffee, shift, 0.8, 1.4).astype(np.float32)
    tea = np.zeros(coffee.shape[:2], np.float32)
    cv2.ellipse(tea, (283, 152), (85, 62), 0, 0, 360, (1.0,), -1)
    tea = np.asarray(cv2.GaussianBlur(tea, (0, 0), 2), np.float32)[..., None]
    picture = picture * (1 - tea) + np.array([30, 50, 70], np.float32) * tea
    dots = np.zeros(coffee.shape[:2], np.float32)
    for row, y in enumerate(range(150, 310, 34)):
        for x in range(150 + 20 * (row % 2), 430, 40):
            cv2.circle(dots, (x, y), 9, (1.0,), -1, cv2.LINE_AA)
    paint = _glaze_mask(coffee) * np.asarray(cv2.GaussianBlur(dots, (0, 0), 0.8))[..., None] * 0.9
    shade = np.clip(coffee.max(2, keepdims=True) / 180.0, 0.35, 1.1)
    return np.asarray(np.clip(picture * (1 - paint) + 240 * shade * paint, 0, 255), np.uint8)


def _television(programme: Image) -> Cutout:
    body = np.full((320, 430, 3), 25, np.uint8)
    body[15:255, 15:415] = cv2.resize(programme, (400, 240), interpolation=cv2.INTER_AREA)
    alpha = np.zeros((320, 430), np.uint8)
    alpha[:270] = 255
    alpha[270:300, 195:235] = 255
    alpha[300:, 120:310] = 255
    return _cutout(body, alpha)


def _stop_sign() -> Cutout:
    plate = np.full((300, 300, 3), (30, 30, 190), np.uint8)
    angles = np.pi / 8 + np.arange(8) * np.pi / 4
    corners = 150 + 148 * np.stack([np.cos(angles), np.sin(angles)], 1)
    alpha = np.zeros((300, 300), np.uint8)
    cv2.fillPoly(alpha, [corners.astype(np.int32)], (255,), cv2.LINE_AA)
    rim = ((corners - 150) * 0.93 + 150).astype(np.int32)
    cv2.polylines(plate, [rim], True, (245, 245, 245), 8, cv2.LINE_AA)
    cv2.putText(plate, "STOP", (38, 180), 0, 2.6, (245, 245, 245), 14, cv2.LINE_AA)
    return _cutout(plate, alpha)
