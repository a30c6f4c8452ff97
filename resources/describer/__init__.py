"""The describer's role: what one encounter shows, and what the record says about it.

Reply fields and their literals follow the paper's Figure 7; failures follow spec 9.11.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, StrictBool, field_validator, model_validator

from resources.identity import ModelIdentity
from resources.images import Image

NONE = "none"
UNCLEAR = "unclear"
NO_ACTIVITY = "no activity"

_CITED = re.compile(r"\[(-?\d+)\s?s\]")
_MOST_WORDS = {
    "object_name": 5,
    "appearance": 15,
    "location": 15,
    "action": 15,
    "action_evidence": 12,
    "event_desc": 50,
    "summary": 100,
    "reid_summary": 100,
}
_SLACK = 1.5
"""A reply may run this much over a limit: a word too many is no failure."""


@dataclass(frozen=True, eq=False)
class Crop:
    """A close view: padded pixels and the subject's box inside them, xyxy px of the crop."""

    image: Image
    box: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class SceneFrame:
    """A whole frame at a time, s, with the subject's box (px of the picture), or None undrawn."""

    time_s: float
    jpeg: bytes
    """As stored: most describers never look at it, so it is decoded where it is drawn on."""
    box: NDArray[np.float32] | None


@dataclass(frozen=True)
class Line:
    """One line of narration (`caption`) or dialogue (`transcript`) of the context window."""

    start_s: float
    end_s: float
    kind: Literal["caption", "transcript"]
    speaker: str
    text: str


@dataclass(frozen=True)
class Neighbour:
    """Another subject of the clip seen in the same frames: label and median IoU of the boxes."""

    label: str
    overlap: float


@dataclass(frozen=True, eq=False)
class Encounter:
    """All that a describer may look at.

    ``times`` float64 [n] s and ``boxes`` float32 [n, 4] px of the source frame (``width`` x
    ``height``) are the subject's sightings; ``confidence`` the detector's mean. ``lines`` are those
    of the context window in time order. ``camera`` float32 [n, 2], if known: how far still
    surroundings have moved in the frame since the first sighting, px.
    """

    label: str
    confidence: float
    start_s: float
    end_s: float
    times: NDArray[np.float64]
    boxes: NDArray[np.float32]
    width: int
    height: int
    crops: tuple[Crop, ...] = ()
    scenes: tuple[SceneFrame, ...] = ()
    lines: tuple[Line, ...] = ()
    neighbours: tuple[Neighbour, ...] = ()
    camera: NDArray[np.float32] | None = None
    wearer: str = ""
    """Who wears the camera, where it is worn and known."""

    @cached_property
    def origin_s(self) -> float:
        """The time that citations count from: the first scene frame's (spec 9.9)."""
        return self.scenes[0].time_s if self.scenes else self.start_s

    def cite(self, time_s: float) -> str:
        """``[12s]``: a time in whole seconds from the origin; negative before it."""
        return f"[{math.floor(time_s - self.origin_s + 0.5)}s]"

    def overlaps_span(self, line: Line) -> bool:
        """Whether a line is said or narrated while the subject is visible."""
        return line.start_s < self.end_s and line.end_s >= self.start_s


class Description(BaseModel):
    """One reply. Text is stripped; the literals `none`, `unclear`, `no activity` are lower case."""

    model_config = ConfigDict(frozen=True, extra="ignore", str_strip_whitespace=True)

    object_name: str
    """What it is, 1 to 5 words."""
    is_person: StrictBool
    appearance: str
    """Colour, material, what it is; up to 15 words."""
    location: str
    """Where it belongs, up to 15 words, or `unclear`."""
    action: str
    """What is done to it (by a person: what they do), up to 15 words, or `none`."""
    action_evidence: str
    """The image or the [Ns] line that shows the action, up to 12 words, or `none`."""
    event_desc: str
    """Every step taken with it, up to 50 words, or `no activity`."""
    summary: str
    """The retrieval text, 1 to 3 sentences."""
    unique_mark: str
    """A mark that tells it from its like, or `none`."""
    reid_summary: str
    """What holds in every sighting, 1 to 3 sentences."""
    source_evidence: str
    """The [Ns] times of the lines used, each with what matches, or `none`."""
    confidence: Literal["low", "medium", "high"]

    @field_validator("action", "action_evidence", "unique_mark", "source_evidence")
    @classmethod
    def _none(cls, text: str) -> str:
        return _literal(text, NONE)

    @field_validator("location")
    @classmethod
    def _unclear(cls, text: str) -> str:
        return _literal(text, UNCLEAR)

    @field_validator("event_desc")
    @classmethod
    def _no_activity(cls, text: str) -> str:
        return _literal(text, NO_ACTIVITY)

    @field_validator("confidence", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.strip().lower() if isinstance(value, str) else value

    @field_validator("object_name", "appearance", "summary", "reid_summary")
    @classmethod
    def _filled(cls, text: str) -> str:
        if not text:
            raise ValueError("must not be empty")
        return text

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name, most in _MOST_WORDS.items():
            words = len(getattr(self, name).split())
            if words > most * _SLACK:
                raise ValueError(f"{name} has {words} words; at most {most}")
        if self.action != NONE and self.action_evidence == NONE:
            raise ValueError("action is claimed without action_evidence; cite it or write 'none'")
        if self.action == NONE and self.action_evidence != NONE:
            raise ValueError("action_evidence is given for no action; write 'none'")
        return self


def _literal(text: str, word: str) -> str:
    """The literal where the text is that word in any case, with or without a full stop."""
    if not text:
        raise ValueError(f"must not be empty; write '{word}'")
    return word if text.rstrip(".").lower() == word else text


class DescriptionFailed(Exception):
    """No valid description could be had; its text says why, for the `error` column."""


class Describer(Protocol):
    """Describes encounters. Safe to share between threads."""

    @property
    def identity(self) -> ModelIdentity: ...

    @property
    def in_flight(self) -> int:
        """How many encounters are best described at once."""
        ...

    def describe(self, encounter: Encounter) -> Description:
        """The description of one encounter.

        Raises DescriptionFailed where none can be had: the encounter is then recorded as failed,
        and never indexed.
        """
        ...


def cited_lines(description: Description, encounter: Encounter) -> tuple[int, ...]:
    """Places in ``encounter.lines`` of the lines that a description cites by their [Ns] time.

    Two lines that start in one second are both meant: which of them was used cannot be told.
    """
    texts = description.model_dump(exclude={"is_person", "confidence"}).values()
    cited = {f"[{second}s]" for text in texts for second in _CITED.findall(text)}
    return tuple(
        place for place, line in enumerate(encounter.lines) if encounter.cite(line.start_s) in cited
    )


def visible_from(description: Description, encounter: Encounter) -> float:
    """Earliest question time, s, that may see a description: the end of the encounter or of the
    last line it cites, whichever is later (spec 9.10, strict reading)."""
    quoted = (encounter.lines[place].end_s for place in cited_lines(description, encounter))
    return max([encounter.end_s, *quoted])
