"""The world that the camera walks through: one wide picture a day, and what stands in it where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from evaluation.demo.cutouts import Cutout
from evaluation.demo.story import ROOMS, SUBJECTS, VISITS, Room, Subject, Visit
from resources.images import Image

WORLD_HEIGHT = 600
_FLOOR_LINE = 430
_APPROACH = 350.0
"""Bare set before a day's first subject and behind its last, px, so that the camera passes these
two as it passes all others."""
_SUBJECT = {s.identity: s for s in SUBJECTS}
_ROOM = {r.name: r for r in ROOMS}
_LEAST_SLOTS_APART = 5
_NEVER_TOGETHER = (frozenset({"red cup", "blue cup"}),)


@dataclass(frozen=True)
class Placement:
    """One subject at one place of the day's world (pixels; y down).

    ``layer`` is uint8 [h, w, 4]: the lit cut-out at world size, colours premultiplied by alpha.
    ``outline`` float [N, 2] is its convex hull in the layer's pixels. ``sway`` is the amplitude in
    pixels, with ``rate`` in Hz and ``phase`` in radians.
    """

    visit: Visit
    subject: Subject
    x: float
    y: float
    layer: NDArray[np.uint8]
    outline: NDArray[np.float64]
    sway: float
    rate: float
    phase: float

    @property
    def centre(self) -> float:
        """Middle of the subject, world x."""
        return self.x + float(self.layer.shape[1]) / 2


@dataclass(frozen=True)
class World:
    """``picture`` [WORLD_HEIGHT, length, 3] without the placements, which are in walking order."""

    picture: Image
    placements: tuple[Placement, ...]


def build_world(
    day: int,
    cutouts: Mapping[str, Cutout],
    pictures: Mapping[str, Image],
    rng: np.random.Generator,
) -> World:
    """The sets of one day side by side, dressed in an order and at places drawn from ``rng``."""
    visits = [visit for visit in VISITS if visit.day == day]
    daylight = rng.uniform(0.95, 1.05, 3) * (1.0 if day == 1 else rng.uniform(0.9, 0.97))
    sections: list[Image] = []
    placements: list[Placement] = []
    left = 0.0
    for visit, order in zip(visits, _orders(visits, rng), strict=True):
        room = _ROOM[visit.room]
        light = np.asarray(room.light) * daylight * rng.uniform(0.95, 1.05)
        x = left + rng.uniform(30, 60) + (_APPROACH if visit is visits[0] else 0.0)
        placed: list[Placement] = []
        for identity in order:
            placement = _place(visit, _SUBJECT[identity], cutouts, light, x, rng)
            placed.append(placement)
            beside = identity in visit.together[:-1]
            x += placement.layer.shape[1] + (26.0 if beside else rng.uniform(60, 110))
        width = round(x - left + (_APPROACH if visit is visits[-1] else 0.0))
        section = _section(room, light, width, pictures, rng)
        for placement in placed:
            _furnish(section, placement, left, light)
        sections.append(np.clip(section, 0, 255).astype(np.uint8))
        placements += placed
        left += width
    return World(np.concatenate(sections, 1), tuple(placements))


def _orders(visits: Sequence[Visit], rng: np.random.Generator) -> list[list[str]]:
    """An order of subjects for each visit, such that nobody is in view twice at once."""
    walked: list[str] = []
    orders: list[list[str]] = []
    for visit in visits:
        blocks = [[name] for name in visit.subjects if name not in visit.together]
        if visit.together:
            blocks.append(list(visit.together))
        while True:
            order = [name for i in rng.permutation(len(blocks)) for name in blocks[i]]
            if _spread(walked, order, visit.together):
                break
        walked += order
        orders.append(order)
    return orders


def _spread(walked: Sequence[str], order: Sequence[str], together: Sequence[str]) -> bool:
    """No subject, and no pair that must stay apart, meets again within _LEAST_SLOTS_APART slots."""
    before = walked[-_LEAST_SLOTS_APART:]
    line = [*before, *order]
    for second in range(len(before), len(line)):
        for first in range(max(0, second - _LEAST_SLOTS_APART + 1), second):
            pair = frozenset((line[first], line[second]))
            apart = len(pair) == 1 or pair in _NEVER_TOGETHER
            if apart and not pair <= frozenset(together):
                return False
    return True


def _place(
    visit: Visit,
    subject: Subject,
    cutouts: Mapping[str, Cutout],
    light: NDArray[np.float64],
    x: float,
    rng: np.random.Generator,
) -> Placement:
    cutout = cutouts[subject.cutout]
    scale = subject.width * rng.uniform(0.98, 1.14) / cutout.pixels.shape[1]
    small = cv2.resize(
        np.concatenate([cutout.pixels, cutout.alpha[..., None]], 2),
        (round(cutout.pixels.shape[1] * scale), round(cutout.pixels.shape[0] * scale)),
        interpolation=cv2.INTER_AREA,
    ).astype(np.float32)
    lit = np.clip(small[..., :3] * (light * rng.uniform(0.95, 1.05)), 0, 255)
    layer = np.concatenate([lit * small[..., 3:] / 255, small[..., 3:]], 2)
    # A clear rim, so that a warp blends the edge with nothing.
    layer = cv2.copyMakeBorder(layer, 2, 2, 2, 2, cv2.BORDER_CONSTANT, value=(0, 0, 0, 0))
    height = layer.shape[0]
    top = {
        "floor": rng.uniform(500, 520) - height,
        "table": rng.uniform(465, 485) - height,
        "wall": rng.uniform(250, 280) - height / 2 + 40,
    }[subject.seat]
    return Placement(
        visit=visit,
        subject=subject,
        x=x,
        y=top,
        layer=np.rint(layer).astype(np.uint8),
        outline=cutout.outline * scale + 2,
        sway=rng.uniform(4, 8) if subject.moves else 0.0,
        rate=rng.uniform(0.15, 0.3),
        phase=rng.uniform(0, 2 * np.pi),
    )


def _section(
    room: Room,
    light: NDArray[np.float64],
    width: int,
    pictures: Mapping[str, Image],
    rng: np.random.Generator,
) -> NDArray[np.float32]:
    """The empty set: a textured wall over a textured floor, float32 [WORLD_HEIGHT, width, 3]."""
    section = np.empty((WORLD_HEIGHT, width, 3), np.float32)
    halves = (
        (slice(0, _FLOOR_LINE), room.wall, room.wall_texture),
        (slice(_FLOOR_LINE, None), room.floor, room.floor_texture),
    )
    for rows, colour, texture in halves:
        tint = np.asarray(colour) * rng.uniform(0.95, 1.05, 3)
        part = section[rows]
        grain = _grain(pictures[f"{texture}.png"], part.shape[0], width, rng.uniform(0.6, 0.9))
        part[:] = (tint + grain[..., None] * 5.0) * light
    return section


def _grain(picture: Image, height: int, width: int, scale: float) -> NDArray[np.float32]:
    """The picture's brightness as zero-mean, unit-variance texture, tiled to [height, width]."""
    gray = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY).astype(np.float32)
    shrunk = cv2.resize(gray, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    even = np.asarray((shrunk - shrunk.mean()) / shrunk.std(), np.float32)
    # Mirrored neighbours leave no seam.
    tile = np.block([[even, even[:, ::-1]], [even[::-1], even[::-1, ::-1]]])
    repeats = (height // tile.shape[0] + 1, width // tile.shape[1] + 1)
    return np.asarray(np.tile(tile, repeats)[:height, :width], np.float32)


def _furnish(
    section: NDArray[np.float32], placement: Placement, left: float, light: NDArray[np.float64]
) -> None:
    """Draw the table that a placement stands on, where it stands on one."""
    if placement.subject.seat != "table":
        return
    foot = round(placement.y + placement.layer.shape[0] - 8)
    start = round(placement.x - left) - 12
    end = start + placement.layer.shape[1] + 24
    wood = tuple(float(v) for v in np.array((70, 105, 140)) * light)
    cv2.rectangle(section, (start, foot), (end, foot + 16), wood, -1)
