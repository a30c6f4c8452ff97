"""Crops: what is cut out of a frame, and the few that represent an encounter (spec 9.7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from geb_assets.parameters import Observations
from geb_assets.writing.observations.subjects import Subject
from resources.frames import encode_jpeg, fit
from resources.images import Image

ReadFrame = Callable[[int], Image]
"""A sampled frame of the clip by its number, BGR uint8 [H, W, 3] at source resolution."""

_BORDER_PENALTY = 0.5
_BORDER_PX = 1.0
_TRIED_PER_BIN = 3
"""Frames of a bin that are decoded to compare their sharpness."""
_SHARPNESS_SIDE = 96
"""Long side at which sharpness is measured, so that near and far views compare."""


@dataclass(frozen=True, eq=False)
class StoredCrop:
    """One crop of an encounter: its sampled frame and time, s, where it was cut, JPEG bytes."""

    frame: int
    time_s: float
    window: tuple[int, int, int, int]
    """x1 y1 x2 y2 of the stored pixels in the source frame: the padded box."""
    jpeg: bytes


def crop_window(
    box: NDArray[np.float32], width: int, height: int, *, pad: float = 0.0
) -> tuple[int, int, int, int]:
    """x1 y1 x2 y2 in whole pixels: the box padded by ``pad`` of its sides, inside the frame.

    Holds at least one pixel, whatever the box.
    """
    x1, y1, x2, y2 = (float(edge) for edge in box)
    across, down = pad * max(x2 - x1, 0.0), pad * max(y2 - y1, 0.0)
    left = int(np.clip(np.floor(x1 - across), 0, width - 1))
    top = int(np.clip(np.floor(y1 - down), 0, height - 1))
    right = int(np.clip(np.ceil(x2 + across), left + 1, width))
    bottom = int(np.clip(np.ceil(y2 + down), top + 1, height))
    return left, top, right, bottom


def cut(image: Image, box: NDArray[np.float32], *, pad: float = 0.0) -> Image:
    """The pixels of the padded box, a copy."""
    left, top, right, bottom = crop_window(box, image.shape[1], image.shape[0], pad=pad)
    return np.ascontiguousarray(image[top:bottom, left:right])


def sharpness(crop: Image) -> float:
    """Variance of the Laplacian of the grey crop at a fixed size; 0 where it is even."""
    scale = _SHARPNESS_SIDE / max(crop.shape[:2])
    size = (max(1, round(crop.shape[1] * scale)), max(1, round(crop.shape[0] * scale)))
    grey = cv2.cvtColor(crop, cv2.COLOR_BGR2GRAY)
    interpolation = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
    return float(
        cv2.Laplacian(cv2.resize(grey, size, interpolation=interpolation), cv2.CV_64F).var()
    )


def view_scores(subject: Subject, width: int, height: int) -> NDArray[np.float64]:
    """confidence * sqrt(area), halved where the box touches a border of the frame, float64 [n]."""
    x1, y1, x2, y2 = subject.boxes.astype(np.float64).T
    area = np.maximum(x2 - x1, 0.0) * np.maximum(y2 - y1, 0.0)
    cut_off = (
        (x1 <= _BORDER_PX)
        | (y1 <= _BORDER_PX)
        | (x2 >= width - _BORDER_PX)
        | (y2 >= height - _BORDER_PX)
    )
    penalty = np.where(cut_off, _BORDER_PENALTY, 1.0)
    return np.asarray(subject.confidence * np.sqrt(area) * penalty, np.float64)


def shortlist(scores: NDArray[np.float64], bins: int) -> list[NDArray[np.int64]]:
    """Places [n] worth decoding: of each of ``bins`` equal-count bins the best of each third.

    Fewer than ``bins`` frames give one bin each; the earliest of equal scores is taken.
    """
    places = np.arange(len(scores))
    return [
        np.array(
            [part[int(np.argmax(scores[part]))] for part in np.array_split(whole, _TRIED_PER_BIN)
             if len(part)]
        )
        for whole in np.array_split(places, min(bins, len(scores)))
    ]  # fmt: skip


def representative_crops(
    subjects: Sequence[Subject],
    read: ReadFrame,
    parameters: Observations,
    *,
    width: int,
    height: int,
) -> list[list[StoredCrop]]:
    """The stored crops of each subject of one clip, in time order.

    In each of `crops` equal-count bins of its visible frames the one with the highest
    confidence * sqrt(area) * border penalty * sharpness, among a shortlist, so that few frames
    are decoded. Each frame is read once, in order.
    """
    scores = [view_scores(subject, width, height) for subject in subjects]
    lists = [shortlist(score, parameters.crops) for score in scores]
    wanted: dict[int, list[tuple[int, int, int]]] = {}
    for number, (subject, bins) in enumerate(zip(subjects, lists, strict=True)):
        for rank, places in enumerate(bins):
            for place in places:
                wanted.setdefault(int(subject.frames[place]), []).append((number, rank, int(place)))
    best: dict[tuple[int, int], tuple[float, int, Image]] = {}
    for frame in sorted(wanted):
        image = read(frame)
        for number, rank, place in wanted[frame]:
            box = subjects[number].boxes[place]
            score = scores[number][place] * sharpness(cut(image, box))
            if (number, rank) not in best or score > best[number, rank][0]:
                crop = fit(cut(image, box, pad=parameters.crop_pad), parameters.crop_side)
                best[number, rank] = (score, place, crop)
    return [
        _encoded(number, subject, best, parameters, width, height)
        for number, subject in enumerate(subjects)
    ]


def _encoded(
    number: int,
    subject: Subject,
    best: Mapping[tuple[int, int], tuple[float, int, Image]],
    parameters: Observations,
    width: int,
    height: int,
) -> list[StoredCrop]:
    chosen = [best[key] for key in sorted(best) if key[0] == number]
    return [
        StoredCrop(
            frame=int(subject.frames[place]),
            time_s=float(subject.times[place]),
            window=crop_window(subject.boxes[place], width, height, pad=parameters.crop_pad),
            jpeg=encode_jpeg(crop, parameters.crop_jpeg_quality),
        )
        for _, place, crop in chosen
    ]
