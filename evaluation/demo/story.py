"""What happens in the demonstration recording, as plain data: who, where, in which order.

The place is a small film studio whose sets are called kitchen, garage, garden and living room:
props and people are moved from set to set while nobody looks, and the wearer of the camera walks
past them. What a seed may change (order, places, light, colours, speed) is drawn in ``scene`` and
``camera``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Seat = Literal["floor", "table", "wall"]


@dataclass(frozen=True)
class Subject:
    """One physical thing or person; ``label`` is its true kind in plain words."""

    identity: str
    label: str
    phrase: str
    """How the narrator names it when it matters which one it is."""
    cutout: str
    width: float
    """Least width in the world, pixels of a 640 x 480 frame. Below it the embedded detector boxes
    parts of the thing as well (a helmet, a wheel), which is another test than this one."""
    seat: Seat
    moves: bool = False
    """Sways a little while in view (people and animals)."""


@dataclass(frozen=True)
class Room:
    """One set: colours are BGR; ``light`` multiplies whatever stands in it."""

    name: str
    wall: tuple[int, int, int]
    floor: tuple[int, int, int]
    wall_texture: str
    floor_texture: str
    light: tuple[float, float, float]


@dataclass(frozen=True)
class Visit:
    """One walk through one set, about 30 s: the subjects met there, in an order the seed shuffles.

    ``together`` names neighbours that stay side by side in the given order; ``lines`` are said when
    the camera faces that subject.
    """

    day: int
    room: str
    subjects: tuple[str, ...]
    together: tuple[str, ...] = ()
    lines: tuple[tuple[str, str], ...] = ()


SUBJECTS = (
    Subject("red cup", "cup", "the red cup", "cup with saucer", 300, "table"),
    Subject("blue cup", "cup", "the blue cup", "dotted cup", 230, "table"),
    Subject("cat", "cat", "the cat", "cat", 258, "table", moves=True),
    Subject("astronaut", "person", "the astronaut", "astronaut", 178, "floor", moves=True),
    Subject("cameraman", "person", "the cameraman", "cameraman", 225, "floor", moves=True),
    Subject("motorbike", "motorbike", "the red motorbike", "motorbike", 322, "floor"),
    Subject("horse", "horse", "the black horse", "horse", 268, "floor", moves=True),
    Subject("television", "television", "the television", "television", 265, "table"),
    Subject("stop sign", "stop sign", "the stop sign", "stop sign", 215, "wall"),
)

ROOMS = (
    Room("kitchen", (174, 197, 202), (103, 129, 139), "brick", "gravel", (1.0, 1.0, 1.0)),
    Room("garage", (177, 184, 180), (111, 125, 126), "gravel", "gravel", (1.02, 0.99, 0.965)),
    Room("garden", (192, 190, 177), (91, 134, 117), "grass", "grass", (0.98, 1.015, 1.0)),
    Room("living room", (172, 187, 194), (101, 122, 134), "brick", "grass", (0.95, 0.98, 1.02)),
)

VISITS = (
    Visit(
        1,
        "kitchen",
        ("red cup", "blue cup", "cat", "astronaut", "television", "stop sign", "horse"),
        together=("red cup", "blue cup"),
        lines=(
            ("red cup", "I drink from the red cup."),
            ("blue cup", "The blue cup stands beside the red cup."),
            ("cat", "The cat watches me in the kitchen."),
        ),
    ),
    Visit(
        1,
        "garage",
        ("motorbike", "cameraman", "stop sign", "cat", "horse", "red cup", "television"),
        lines=(
            ("motorbike", "I polish the red motorbike in the garage."),
            ("cameraman", "The cameraman films in the garage."),
        ),
    ),
    Visit(
        1,
        "garden",
        ("motorbike", "horse", "astronaut", "cameraman", "blue cup", "stop sign", "cat"),
        lines=(
            ("motorbike", "A driver comes to take the red motorbike away."),
            ("astronaut", "The astronaut waves to me in the garden."),
        ),
    ),
    Visit(
        1,
        "living room",
        ("television", "red cup", "cameraman", "cat", "astronaut", "horse", "stop sign"),
        lines=(
            ("red cup", "I carry the red cup to the living room."),
            ("cat", "The cat has moved to the living room."),
        ),
    ),
    Visit(
        1,
        "kitchen",
        ("blue cup", "cameraman", "television", "astronaut", "cat", "stop sign", "horse"),
        lines=(
            ("blue cup", "I put a cup away in the cupboard."),
            ("cameraman", "The cameraman has come to the kitchen."),
        ),
    ),
    Visit(
        2,
        "living room",
        ("red cup", "cat", "television", "cameraman", "horse", "astronaut", "stop sign"),
        lines=(
            ("red cup", "I find the red cup where I left it last night."),
            ("television", "I turn the television on."),
        ),
    ),
    Visit(
        2,
        "garage",
        ("motorbike", "stop sign", "cameraman", "astronaut", "red cup", "horse", "cat"),
        lines=(
            ("motorbike", "The red motorbike is back in the garage."),
            ("astronaut", "The astronaut looks for a helmet in the garage."),
        ),
    ),
    Visit(
        2,
        "kitchen",
        ("blue cup", "television", "cat", "cameraman", "stop sign", "astronaut", "horse"),
        lines=(
            ("blue cup", "I take a cup out of the cupboard."),
            ("cat", "The cat is waiting for milk."),
        ),
    ),
    Visit(
        2,
        "garden",
        ("horse", "motorbike", "cameraman", "blue cup", "stop sign", "astronaut", "cat"),
        lines=(
            ("horse", "I feed the black horse in the garden."),
            ("motorbike", "I park the red motorbike in the garden."),
        ),
    ),
    Visit(
        2,
        "living room",
        ("cat", "television", "blue cup", "stop sign", "cameraman", "astronaut", "motorbike"),
        lines=(
            ("blue cup", "I drink tea from the blue cup."),
            ("cat", "The cat sleeps in the living room."),
        ),
    ),
)

PASSING_LINES = {
    "red cup": "The red cup stands in the {room}.",
    "blue cup": "The blue cup stands in the {room}.",
    "cat": "The cat is in the {room}.",
    "astronaut": "The astronaut stands in the {room}.",
    "cameraman": "The cameraman works in the {room}.",
    "motorbike": "The red motorbike is parked in the {room}.",
    "horse": "The black horse stands in the {room}.",
    "television": "The television stands in the {room}.",
    "stop sign": "A stop sign hangs in the {room}.",
}
"""What the narrator may say of a subject that no line of its visit names."""

DAY_STARTS = {1: "DAY1 10:00:00", 2: "DAY2 09:00:00"}
"""Clock time of each day's first frame."""

VISIT_SECONDS = 30.0

OVERLAY = "clock overlay"
"""Identity of the dial that the recorder draws over every frame but those of OVERLAY_ABSENT."""

OVERLAY_ABSENT = ((2, 120.0, 150.0),)
"""Day, first and last second into the day's video without the overlay."""
