"""The path of the demonstration's camera: a walk along the sets with sway, zoom and roll."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evaluation.demo.scene import WORLD_HEIGHT

WIDTH, HEIGHT = 640, 480


@dataclass(frozen=True)
class CameraPath:
    """Per frame: the world point in the middle of the view, the zoom and the roll in radians."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    zoom: NDArray[np.float64]
    roll: NDArray[np.float64]

    def matrix(self, frame: int) -> NDArray[np.float64]:
        """Affine [2, 3] from world pixels to screen pixels."""
        c = np.cos(self.roll[frame]) * self.zoom[frame]
        s = np.sin(self.roll[frame]) * self.zoom[frame]
        x, y = self.x[frame], self.y[frame]
        return np.array(
            [[c, -s, WIDTH / 2 - c * x + s * y], [s, c, HEIGHT / 2 - s * x - c * y]], np.float64
        )

    def second_at(self, x: float, fps: float) -> float:
        """Seconds into the walk when the camera faces world ``x``."""
        return float(np.interp(x, self.x, np.arange(len(self.x)) / fps))


def walk(length: float, seconds: float, fps: float, rng: np.random.Generator) -> CameraPath:
    """From one end of a world of ``length`` pixels to the other, never backwards."""
    share = np.arange(round(seconds * fps)) / (seconds * fps)
    turns, slowing = rng.uniform(6, 9), rng.uniform(0.2, 0.35)
    swing = 2 * np.pi * turns
    phase = rng.uniform(0, 2 * np.pi)
    progress = share + slowing * (np.sin(swing * share + phase) - np.sin(phase)) / swing
    progress /= progress[-1]
    second = share * seconds

    def wave(amplitude: float, low: float, high: float) -> NDArray[np.float64]:
        rate, shift = rng.uniform(low, high), rng.uniform(0, 2 * np.pi)
        return np.asarray(amplitude * np.sin(2 * np.pi * rate * second + shift), np.float64)

    edge = WIDTH / 2 + 30
    return CameraPath(
        x=edge + progress * (length - 2 * edge),
        y=WORLD_HEIGHT / 2 + wave(8, 0.1, 0.2) + wave(2, 0.8, 1.2),
        zoom=1 + wave(0.03, 0.04, 0.08),
        roll=wave(0.02, 0.08, 0.15),
    )
