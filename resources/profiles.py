"""Profiles: which adapter and model serve each role. The one place where an adapter is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from geb_assets.errors import GebError
from geb_assets.parameters import Descriptions, Detections, Embeddings, Overrides, Section, Tracks
from resources.packages import EMBEDDED_MODELS, PackageFile

if TYPE_CHECKING:
    from resources.appearance import Appearance
    from resources.describer import Describer
    from resources.detector import Detector
    from resources.embedder import IdentityEmbedder, TextEmbedder
    from resources.identity import ModelIdentity
    from resources.tracker import Tracker

Maker = Callable[[Path, Section], Any]
"""Models folder and the asset's section to an adapter; loads nothing before its first use."""


@dataclass(frozen=True)
class Profile:
    """Which models serve the roles, and the parameters that belong to them."""

    name: str
    roles: Mapping[str, Maker]
    parameters: Overrides = field(default_factory=dict)
    """Defaults of its own: thresholds belong to the embedding they were set on."""
    files: tuple[PackageFile, ...] = ()
    """Model files that it needs."""

    def identity(self, role: str, section: Section) -> ModelIdentity:
        """The model behind a role, without loading it."""
        identity: ModelIdentity = self.roles[role](Path(), section).identity
        return identity


@dataclass(frozen=True)
class Roles:
    """The adapters that a stage declared, made when first asked for."""

    profile: Profile
    models: Path
    section: Section
    declared: tuple[str, ...]

    def _make(self, role: str) -> Any:
        if role not in self.declared:
            raise PermissionError(f"the stage did not declare role {role}")
        return self.profile.roles[role](self.models, self.section)

    def detector(self) -> Detector:
        return cast("Detector", self._make("detector"))

    def tracker(self) -> Tracker:
        return cast("Tracker", self._make("tracker"))

    def appearance(self) -> Appearance:
        return cast("Appearance", self._make("appearance"))

    def describer(self) -> Describer:
        return cast("Describer", self._make("describer"))

    def identity_embedder(self) -> IdentityEmbedder:
        return cast("IdentityEmbedder", self._make("identity_embedder"))

    def text_embedder(self) -> TextEmbedder:
        return cast("TextEmbedder", self._make("text_embedder"))


def _yolov3_tiny(models: Path, section: Section) -> Any:
    from resources.detector.yolov3_tiny import Yolov3Tiny

    p = cast(Detections, section)
    return Yolov3Tiny(models, min_confidence=p.min_confidence, nms_iou=p.nms_iou)


def _botsort(models: Path, section: Section) -> Any:
    from resources.tracker.botsort import BotSort, BotSortSettings

    p = cast(Tracks, section)
    return BotSort(
        BotSortSettings(
            activation=p.activation,
            high_confidence=p.high_confidence,
            match_iou=p.match_iou,
            second_iou=p.second_iou,
            unconfirmed_iou=p.unconfirmed_iou,
            buffer_s=p.buffer_s,
        )
    )


def _mobilenet(models: Path, section: Section) -> Any:
    from resources.appearance.mobilenetv2 import MobileNetV2

    return MobileNetV2(models)


def _minilm(models: Path, section: Section) -> Any:
    from resources.embedder.minilm import MiniLM

    return MiniLM(models)


def _pooled(models: Path, section: Section) -> Any:
    from resources.embedder.pooled import PooledIdentity

    weight = cast(Embeddings, section).picture_weight
    return PooledIdentity(
        _mobilenet(models, section), _minilm(models, section), picture_weight=weight
    )


def _rules(models: Path, section: Section) -> Any:
    from resources.describer.rules import RulesDescriber

    p = cast(Descriptions, section)
    return RulesDescriber(
        colour_share=p.colour_share, move_share=p.move_share, touch_iou=p.touch_iou
    )


EMBEDDED = Profile(
    name="embedded",
    roles={
        "detector": _yolov3_tiny,
        "tracker": _botsort,
        "appearance": _mobilenet,
        "describer": _rules,
        "identity_embedder": _pooled,
        "text_embedder": _minilm,
    },
    parameters={
        "clips": {"sample_fps": 5.0},
        # A small detector's boxes come and go: little overlap joins them (docs/models.md).
        "tracks": {
            "high_confidence": 0.2,
            "activation": 0.25,
            "match_iou": 0.05,
            "second_iou": 0.2,
            "unconfirmed_iou": 0.1,
            "buffer_s": 2.0,
        },
        # The detector's boxes jitter; its picture features score high between unlike things.
        "observations": {
            "regroup_floor": 0.75,
            "regroup_match": 0.83,
            "overlay_iou": 0.8,
            "overlay_still_iou": 0.85,
        },
        "embeddings": {"picture_weight": 1.0},
        "association": {"theta_cons": 0.45, "theta_match": 0.62},
    },
    files=EMBEDDED_MODELS,
)

PROFILES: Mapping[str, Profile] = {profile.name: profile for profile in (EMBEDDED,)}


def profile(name: str) -> Profile:
    """Raises GebError for a profile that does not exist."""
    if name not in PROFILES:
        raise GebError(f"no profile '{name}'; there are {', '.join(PROFILES)}")
    return PROFILES[name]
