"""Videos that the tests write themselves, good and broken (PyAV, photographs pasted in)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from evaluation.demo.cutouts import Cutout, make_cutouts, read_pictures
from resources.images import Image

Paint = Callable[[int], Image]
"""Frame number to its picture."""

THINGS = ("cup with saucer", "dotted cup", "astronaut", "cameraman", "stop sign")
"""What the embedded detector finds when it is pasted on a plain wall."""

_HEIGHT = 130


def cutouts(models: Path) -> dict[str, Cutout]:
    """The cut-out photographs by name, from the folder of fetched files."""
    return make_cutouts(read_pictures(models), red_shift=0.0, blue_shift=0.0)


def walk(things: Sequence[Cutout], *, speed: float = 1.0) -> Paint:
    """A 320 x 240 camera that passes things pasted side by side on a wall, there and back."""
    world = np.full((240, 170 * len(things) + 160, 3), (150, 160, 170), np.uint8)
    world[:, ::40] = (120, 130, 140)  # something for the camera's motion to be seen by
    for number, thing in enumerate(things):
        scale = _HEIGHT / thing.pixels.shape[0]
        width = min(160, round(thing.pixels.shape[1] * scale))
        pixels = cv2.resize(thing.pixels, (width, _HEIGHT), interpolation=cv2.INTER_AREA)
        alpha = cv2.resize(thing.alpha, (width, _HEIGHT))[..., None] / 255
        part = world[100 : 100 + _HEIGHT, 20 + 170 * number : 20 + 170 * number + width]
        part[:] = (part * (1 - alpha) + pixels * alpha).astype(np.uint8)
    turn = max(1, round((world.shape[1] - 320) / speed))

    def paint(number: int) -> Image:
        place = number % (2 * turn)
        x = round(speed * min(place, 2 * turn - place))
        return world[:, x : x + 320]

    return paint


def numbered(width: int = 64, height: int = 48) -> Paint:
    """Pictures that tell their own number: eight bits as black and white columns."""

    def paint(number: int) -> Image:
        bits = [255 * (number >> bit & 1) for bit in range(8)]
        row = np.repeat(np.array(bits, np.uint8), width // 8)
        return np.repeat(np.tile(row, (height, 1))[..., None], 3, axis=2)

    return paint


def number_of(image: NDArray[np.uint8]) -> int:
    """The number that a picture of ``numbered`` tells."""
    width = image.shape[1] // 8
    middle = image[image.shape[0] // 2, width // 2 :: width].mean(axis=-1)
    return sum(1 << bit for bit, value in enumerate(middle[:8]) if value > 127)


def write_video(
    path: Path,
    paint: Paint,
    times: Iterable[float],
    *,
    rate: int = 10,
    codec: str = "libx264",
    keyframes: int = 10,
    options: Mapping[str, str] = {},
    crf: int = 20,
) -> Path:
    """Writes the pictures at these times, s. The time base is a thousandth of a second."""
    import av

    with av.open(str(path), "w", options=dict(options)) as output:
        stream = output.add_stream(codec, rate=rate)
        first = paint(0)
        stream.height, stream.width = first.shape[:2]
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = Fraction(1, 1000)
        stream.codec_context.gop_size = keyframes
        stream.codec_context.options = (
            {"crf": str(crf), "preset": "veryfast", "threads": "1"} if codec == "libx264" else {}
        )
        for number, time_s in enumerate(times):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(paint(number)), format="bgr24")
            frame.pts, frame.time_base = round(time_s * 1000), Fraction(1, 1000)
            output.mux(stream.encode(frame))
        output.mux(stream.encode())
    return path


def steady(seconds: float, rate: int = 10) -> list[float]:
    """Times of a steady video."""
    return [number / rate for number in range(round(seconds * rate))]


def write_sound(path: Path, seconds: float) -> Path:
    """A file that holds sound alone."""
    import av

    with av.open(str(path), "w") as output:
        stream = output.add_stream("aac", rate=16_000)
        for number in range(round(seconds * 16_000 / 1024)):
            frame = av.AudioFrame.from_ndarray(
                np.zeros((1, 1024), np.float32), format="fltp", layout="mono"
            )
            frame.sample_rate, frame.pts = 16_000, number * 1024
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return path
