"""Every parameter of the memory: one frozen section per asset, units and source beside each.

An asset is handed its own section alone, so that it cannot read what it did not declare.
The effective value for a recording is the default here, then the profile's, then the override in
``recordings.toml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from geb_assets.errors import GebError
from geb_assets.reading.settings import Reading
from geb_assets.section import Section as Section

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Positive = Annotated[float, Field(gt=0.0)]
Cosine = Annotated[float, Field(ge=-1.0, le=1.0)]
Count = Annotated[int, Field(ge=1)]


class Clips(Section):
    """Cutting video into clips and sampling its frames (paper 3.1, appendix A "Video units")."""

    asset = "clips"

    clip_seconds: Annotated[int, Field(ge=2, le=3600)] = 30
    """Length of a clip, s; clips lie on this grid of the clock, so it has to divide 3600."""
    sample_fps: Annotated[float, Field(gt=0.0, le=60.0)] = 10.0
    """Frames sampled per second of video, by timestamp."""
    frame_side: Annotated[int, Field(ge=32, le=4096)] = 768
    """Long side of a stored frame, px (spec 9.8)."""
    jpeg_quality: Annotated[int, Field(ge=30, le=100)] = 90
    """JPEG quality of a stored frame."""

    @model_validator(mode="after")
    def _grid(self) -> Clips:
        if 3600 % self.clip_seconds:
            raise ValueError(f"clip_seconds={self.clip_seconds} does not divide an hour")
        return self


class Detections(Section):
    """Boxes in sampled frames. Kept from a low confidence: the tracker decides what it uses."""

    asset = "detections"

    min_confidence: Annotated[float, Field(ge=0.02, lt=1.0)] = 0.05
    """Lowest confidence kept."""
    nms_iou: Annotated[float, Field(gt=0.0, le=1.0)] = 0.45
    """IoU at which the weaker of two boxes of one label is dropped."""
    max_per_frame: Count = 300
    """Most boxes kept per frame, the most confident first."""


class Tracks(Section):
    """BoT-SORT inside a clip (appendix A; spec 7)."""

    asset = "tracks"

    high_confidence: Fraction = 0.25
    """Detections from here enter the first matching stage."""
    activation: Fraction = 0.3
    """Confidence from which an unmatched detection starts a track."""
    match_iou: Fraction = 0.2
    """Lowest score-weighted IoU of a first-stage match."""
    second_iou: Fraction = 0.5
    """Lowest IoU of a second-stage match, among low-confidence detections."""
    unconfirmed_iou: Fraction = 0.3
    """Lowest IoU of a match with a track seen once."""
    buffer_s: Positive = 3.0
    """How long a lost track waits to be found again, s (30 frames at 10 fps)."""


class Observations(Section):
    """Tracks become encounters (appendix A; spec 6, 9.1-9.9)."""

    asset = "observations"

    merge_iou: Fraction = 0.7
    """Duplicate tracks: IoU from here in `merge_share` of the shared frames (9.1)."""
    merge_containment: Fraction = 0.8
    """Nested tracks of one label: the share of the smaller box that lies in the larger."""
    merge_share: Fraction = 2 / 3
    """Share of the shared frames in which two tracks have to agree."""
    merge_min_shared: Count = 3
    """Fewest shared frames for a merge or a separation."""
    merge_overlap: Fraction = 0.5
    """Shared frames, as a share of the shorter track."""
    regroup_floor: Fraction = 0.5
    """Every member of a group scores at least this (spec 6)."""
    regroup_match: Fraction = 0.62
    """At least one member of a group scores this (spec 6)."""
    regroup_rule: Literal["best", "first"] = "best"
    """Which qualifying group a track joins; `first` is VideoAgent's (9.2)."""
    regroup_crops: Count = 10
    """Evenly spaced crops averaged into a track's appearance (9.2)."""
    min_visible_s: Positive = 2.0
    """Shortest time an encounter is visible, s (9.3)."""
    whole_frame_area: Fraction = 0.90
    """Median area, as a share of the frame, from which a box is the whole frame (9.4)."""
    whole_frame_bordered_area: Fraction = 0.80
    """The same for a box that touches all four borders (9.4)."""
    overlay_regions: tuple[tuple[float, float, float, float], ...] = ()
    """Known overlays: x1 y1 x2 y2 as shares of the frame (9.5)."""
    overlay_iou: Fraction = 0.9
    """IoU from which boxes of different clips lie at the same place (9.5)."""
    overlay_clip_share: Fraction = 0.3
    """Share of the clips that hold the box (9.5)."""
    overlay_min_clips: Count = 3
    """Fewest clips of a segment for the automatic rule (9.5)."""
    overlay_still_iou: Fraction = 0.95
    """Median IoU of a still track's boxes with their median box (9.5)."""
    overlay_max_area: Fraction = 0.05
    """Largest overlay, as a share of the frame (9.5)."""
    overlay_motion_px: Positive = 2.0
    """Global motion per sampled frame from which a still box is suspicious, px (9.5)."""
    crops: Count = 4
    """Representative crops stored per observation (9.7)."""
    crop_side: Annotated[int, Field(ge=32, le=2048)] = 448
    """Long side of a stored crop, px (9.7)."""
    crop_pad: Fraction = 0.10
    """Padding around a crop, as a share of its box (9.7)."""
    crop_jpeg_quality: Annotated[int, Field(ge=30, le=100)] = 90
    """JPEG quality of a stored crop."""
    scene_frames_min: Count = 3
    """Fewest scene frames shown to the describer (9.8)."""
    scene_frames_max: Count = 30
    """Most scene frames shown to the describer (9.8)."""
    context_s: Annotated[float, Field(ge=0.0)] = 40.0
    """Narration and dialogue this far around an encounter belong to its context, s (9.9)."""


class Descriptions(Section):
    """What each encounter shows and says (paper 3.3; appendix F, Figure 7)."""

    asset = "descriptions"

    colour_share: Fraction = 0.2
    """Share of a subject's pixels from which a colour is named."""
    move_share: Positive = 0.5
    """Displacement, in box widths, from which the subject is said to move."""
    still_px: Positive = 0.5
    """Global motion per sampled frame below which the camera stands still, px."""
    scene_snap_s: Positive = 0.5
    """How far the nearest visible frame may lie for the box to be drawn, s (9.8)."""
    touch_iou: Fraction = 0.02
    """IoU from which another box is said to touch the subject."""
    view: Literal["first_person", "own_frames", "game"] = "first_person"
    """What a chat model is told of the pictures: a worn camera with narration and dialogue, a
    worn camera's pictures alone, or a game's stream (appendix F)."""
    temperature: Annotated[float, Field(ge=0.0)] = 0.2
    """Sampling temperature of a chat model's description (9.41)."""
    reply_tokens: Count = 1500
    """Longest reply of a chat model."""


class Embeddings(Section):
    """Identity, text and visual vectors (paper 3.3; spec 1.7, 9.12)."""

    asset = "embeddings"

    picture_weight: Fraction = 0.8
    """Weight of the pictures in the identity vector; the rest is the text's."""
    clip_frames: Count = 16
    """Evenly spaced stored frames of a clip that its visual vector sees (spec 1.7)."""


class Association(Section):
    """Equation 3: which biography an encounter joins (paper 3.3; spec 9.13-9.17)."""

    asset = "entities"

    theta_cons: Cosine = 0.60
    """Lowest similarity to every reference."""
    theta_match: Cosine = 0.75
    """Lowest similarity to at least one reference."""
    references: Count = 10
    """Size of M_k: the most recently assigned observations compared with."""
    separation_min_shared: Count = 3
    """Fewest shared frames that can prove two observations different (9.15)."""
    separation_iou: Fraction = 0.5
    """IoU below which two boxes of one frame lie apart (9.15)."""
    separation_share: Fraction = 2 / 3
    """Share of the shared frames in which they lie apart (9.15)."""
    anchor_iou: Fraction = 0.6
    """IoU of a box in place across the cut of two clips (9.16)."""
    anchor_gap_s: Annotated[float, Field(ge=0.0)] = 1.0
    """Longest gap between consecutive clips, s (9.16)."""
    anchor_frames: Count = 2
    """Sampled frames from the cut within which the box has to be seen (9.16)."""

    @model_validator(mode="after")
    def _ordered(self) -> Association:
        if self.theta_cons >= self.theta_match:
            raise ValueError(
                f"theta_cons={self.theta_cons} has to be below theta_match={self.theta_match}"
            )
        return self


class Lines(Section):
    """Narration and dialogue."""

    asset = "lines"

    footage_margin_s: Annotated[float, Field(ge=0.0)] = 40.0
    """Lines within this distance of a recording's footage are kept, s."""


class Episodes(Section):
    """Captions at four time scales (spec 2.2, 2.3)."""

    asset = "episodes"

    caption_frames: Count = 16
    """Most pictures of a half-minute that a chat model captions."""
    words_3min: Count = 200
    """Longest composed 3-minute caption, words."""
    words_10min: Count = 300
    """Longest composed 10-minute caption, words."""
    words_1h: Count = 1500
    """Longest composed 1-hour caption, words."""


class Names(Section):
    """Who of the cast an entity is (appendix A, naming; 9.19)."""

    asset = "names"

    frames: Count = 6
    """Frames of a clip shown to the model that assigns its people."""
    looks: Count = 40
    """Encounters, evenly spaced over the day, from which a person's clothing is distilled."""
    share: Fraction = 0.5
    """Share of an entity's encounters of a day that have to show a feature."""


class Chains(Section):
    """Topics and events followed through the captions (3)."""

    asset = "chains"

    topics: Annotated[int, Field(ge=0)] = 200
    """Most topics followed, those of the most captions first."""
    topic_captions: Count = 50
    """Captions of one call that reads a topic's facts (3.1)."""
    activities: Count = 15
    """Most activities told of one day (3.2)."""


class Triples(Section):
    """Statements that captions are taken apart into, for baselines (2.6)."""

    asset = "triples"

    most: Count = 12
    """Most triples of one caption."""


class Graph(Section):
    """Edge weights (spec 0, 1.2)."""

    asset = "graph"

    episode_context: Positive = 1.0
    visual_provenance: Positive = 0.8
    same_instance: Positive = 0.5
    containment: Positive = 1.0
    containment_skip: Positive = 0.5
    """1-hour caption to 30-second caption."""
    clip_episode: Positive = 1.0
    temporal_gap_s: Positive = 21_600.0
    """Longest gap between successive episodes that are joined, s."""


class Scores(Section):
    """Nothing to choose: the paper fixes how intervals are drawn (appendix D)."""

    asset = "scores"


SECTIONS: Mapping[str, type[Section]] = {
    "clips": Clips,
    "detections": Detections,
    "tracks": Tracks,
    "observations": Observations,
    "descriptions": Descriptions,
    "embeddings": Embeddings,
    "association": Association,
    "lines": Lines,
    "episodes": Episodes,
    "names": Names,
    "chains": Chains,
    "triples": Triples,
    "graph": Graph,
    "reading": Reading,
    "scores": Scores,
}
"""Section name, as `geb set` and `recordings.toml` write it, to its class."""

Overrides = Mapping[str, Mapping[str, Any]]
"""Section name to parameter name to value."""


def section_of(asset: str) -> str:
    """The name of the section that an asset reads."""
    return next(name for name, section in SECTIONS.items() if section.asset == asset)


def effective(section: str, *layers: Overrides) -> Section:
    """A section with the given override layers applied, later ones winning.

    Raises GebError naming an unknown section or parameter, or a value out of range.
    """
    if section not in SECTIONS:
        raise GebError(f"no parameter section '{section}'; there are {', '.join(SECTIONS)}")
    values: dict[str, Any] = {}
    for layer in layers:
        values.update(layer.get(section, {}))
    try:
        return SECTIONS[section].model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join([section, *(str(part) for part in first["loc"][:1])])
        if first["type"] == "extra_forbidden":
            known = ", ".join(SECTIONS[section].model_fields)
            raise GebError(f"no parameter '{name}'; section {section} has {known}") from None
        message = first["msg"].removeprefix("Value error, ")
        raise GebError(
            f"{name}: {message} (got {first['input']!r})"
            if first["loc"]
            else f"{section}: {message}"
        ) from None
