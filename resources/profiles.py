"""Profiles: which adapter and model serve each role. The one place where an adapter is chosen.

``embedded`` runs on any machine; ``paper`` is what the paper ran, ``hosted`` the same with its chat
models behind somebody's endpoint. A home chooses one with ``geb use``, which writes into its
``recordings.toml`` the profile's name and, under ``[options.PROFILE.ROLE]``, what differs here from
the options that stand below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from geb_assets.errors import GebError
from geb_assets.parameters import (
    Descriptions,
    Detections,
    Embeddings,
    Overrides,
    Section,
    Tracks,
    Triples,
)
from resources.appearance.clip_dinov2 import ClipDinoOptions
from resources.chat.openai_compatible import ChatSettings, asked_as
from resources.detector.yolo import YoloOptions
from resources.embedder.qwen3_text import Qwen3TextOptions
from resources.embedder.qwen3_vl import Qwen3VLOptions
from resources.options import Options
from resources.packages import EMBEDDED_MODELS, PackageFile
from resources.tracker.botsort import BotSortSettings
from resources.tracker.boxmot import BoxMotOptions

if TYPE_CHECKING:
    from resources.appearance import Appearance
    from resources.captioner import Captioner, Summarizer
    from resources.chat.calls import Calls, KeptChat
    from resources.chronicler import Chronicler
    from resources.describer import Describer
    from resources.detector import Detector
    from resources.embedder import ClipEmbedder, IdentityEmbedder, TextEmbedder
    from resources.extractor import Extractor
    from resources.identity import ModelIdentity
    from resources.namer import Namer, Wardrobe
    from resources.tracker import Tracker

OptionValues = Mapping[str, Mapping[str, Any]]
"""Role to option to value."""


@dataclass(frozen=True)
class Adapter:
    """What serves a role: how it is made, and the options it is made with."""

    make: Callable[[Path, Section, Any], Any]
    """Models folder, the asset's section and the options to an adapter; loads nothing before its
    first use."""
    options: Options = field(default_factory=Options)

    def __call__(self, models: Path, section: Section) -> Any:
        return self.make(models, section, self.options)


CHATS = ("chat", "text_chat")
"""The roles of chat models: `chat` reads pictures, `text_chat` need not."""


@dataclass(frozen=True)
class Asking:
    """What serves a role by asking a chat model."""

    chat: str
    """The role of the chat model that it asks."""
    make: Callable[[KeptChat, Section], Any]
    """A chat and the asset's section to an adapter; asks nothing before its first use."""
    options: Options = field(default_factory=Options)


@dataclass(frozen=True)
class Profile:
    """Which models serve the roles, and the parameters that belong to them."""

    name: str
    roles: Mapping[str, Adapter | Asking]
    parameters: Overrides = field(default_factory=dict)
    """Defaults of its own: thresholds belong to the embedding they were set on."""
    files: tuple[PackageFile, ...] = ()
    """Model files that it needs."""

    def identity(self, role: str, section: Section) -> ModelIdentity:
        """The model behind a role, without loading it; of a chat model not where it is."""
        if role in CHATS:
            return asked_as(self.chat_settings(role))
        identity: ModelIdentity = self.adapter(role, Path(), section, nowhere()).identity
        return identity

    def adapter(self, role: str, models: Path, section: Section, calls: Calls) -> Any:
        """What serves a role; loads nothing and asks nobody before its first use."""
        serving = self.roles[role]
        if isinstance(serving, Asking):
            return serving.make(calls.chat(self.chat_settings(serving.chat), role), section)
        return serving(models, section)

    def chat_settings(self, role: str) -> ChatSettings:
        """How the chat model behind a role is asked."""
        options = self.roles[role].options
        assert isinstance(options, ChatSettings)
        return options.at_environment(f"GEB_{role.upper()}")

    def having(self, values: OptionValues) -> Profile:
        """This profile with some of its roles' options replaced.

        Raises GebError naming the role or option that does not exist, or the wrong value.
        """
        roles = dict(self.roles)
        for role, own in values.items():
            if role not in roles:
                raise GebError(f"profile {self.name} has no role '{role}'; it has {_list(roles)}")
            options = roles[role].options.having(f"profile {self.name}: {role}", own)
            roles[role] = replace(roles[role], options=options)
        return replace(self, roles=roles)


@dataclass(frozen=True)
class Roles:
    """The adapters that a stage declared, made when first asked for."""

    profile: Profile
    models: Path
    section: Section
    declared: tuple[str, ...]
    calls: Calls

    def _make(self, role: str) -> Any:
        if role not in self.declared:
            raise PermissionError(f"the stage did not declare role {role}")
        return self.profile.adapter(role, self.models, self.section, self.calls)

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

    def namer(self) -> Namer:
        return cast("Namer", self._make("namer"))

    def wardrobe(self) -> Wardrobe:
        return cast("Wardrobe", self._make("wardrobe"))

    def captioner(self) -> Captioner:
        return cast("Captioner", self._make("captioner"))

    def summarizer(self) -> Summarizer:
        return cast("Summarizer", self._make("summarizer"))

    def chronicler(self) -> Chronicler:
        return cast("Chronicler", self._make("chronicler"))

    def extractor(self) -> Extractor:
        return cast("Extractor", self._make("extractor"))

    def clip_embedder(self) -> ClipEmbedder | None:
        """None where the profile has no visual channel."""
        if "clip_embedder" not in self.profile.roles:
            return None
        return cast("ClipEmbedder", self._make("clip_embedder"))


def _yolov3_tiny(models: Path, section: Section, options: Options) -> Any:
    from resources.detector.yolov3_tiny import Yolov3Tiny

    p = cast(Detections, section)
    return Yolov3Tiny(models, min_confidence=p.min_confidence, nms_iou=p.nms_iou)


def _tracking(section: Section) -> BotSortSettings:
    p = cast(Tracks, section)
    return BotSortSettings(
        activation=p.activation,
        high_confidence=p.high_confidence,
        match_iou=p.match_iou,
        second_iou=p.second_iou,
        unconfirmed_iou=p.unconfirmed_iou,
        buffer_s=p.buffer_s,
    )


def _botsort(models: Path, section: Section, options: Options) -> Any:
    from resources.tracker.botsort import BotSort

    return BotSort(_tracking(section))


def _mobilenet(models: Path, section: Section, options: Options) -> Any:
    from resources.appearance.mobilenetv2 import MobileNetV2

    return MobileNetV2(models)


def _minilm(models: Path, section: Section, options: Options) -> Any:
    from resources.embedder.minilm import MiniLM

    return MiniLM(models)


def _pooled(models: Path, section: Section, options: Options) -> Any:
    from resources.embedder.pooled import PooledIdentity

    weight = cast(Embeddings, section).picture_weight
    return PooledIdentity(
        _mobilenet(models, section, options),
        _minilm(models, section, options),
        picture_weight=weight,
    )


def _rules(models: Path, section: Section, options: Options) -> Any:
    from resources.describer.rules import RulesDescriber

    p = cast(Descriptions, section)
    return RulesDescriber(
        colour_share=p.colour_share, move_share=p.move_share, touch_iou=p.touch_iou
    )


def _yolo(models: Path, section: Section, options: YoloOptions) -> Any:
    from resources.detector.yolo import Yolo

    p = cast(Detections, section)
    return Yolo(
        models,
        options,
        min_confidence=p.min_confidence,
        nms_iou=p.nms_iou,
        max_per_frame=p.max_per_frame,
    )


def _boxmot(models: Path, section: Section, options: BoxMotOptions) -> Any:
    from resources.tracker.boxmot import BoxMot

    return BoxMot(options, _tracking(section))


def _clip_dinov2(models: Path, section: Section, options: ClipDinoOptions) -> Any:
    from resources.appearance.clip_dinov2 import ClipDino

    return ClipDino(options)


def _qwen3_text(models: Path, section: Section, options: Qwen3TextOptions) -> Any:
    from resources.embedder.qwen3_text import Qwen3Text

    return Qwen3Text(options)


def _qwen3_vl_identity(models: Path, section: Section, options: Qwen3VLOptions) -> Any:
    from resources.embedder.qwen3_vl import Qwen3VLIdentity

    return Qwen3VLIdentity(options)


def _qwen3_vl_clips(models: Path, section: Section, options: Qwen3VLOptions) -> Any:
    from resources.embedder.qwen3_vl import Qwen3VLClips

    return Qwen3VLClips(options)


def _chat(models: Path, section: Section, options: ChatSettings) -> Any:
    from resources.chat.openai_compatible import OpenAICompatible

    return OpenAICompatible(options)


def _vision_language(chat: KeptChat, section: Section) -> Any:
    from resources.describer.vision_language import VisionLanguageDescriber

    p = cast(Descriptions, section)
    return VisionLanguageDescriber(
        chat, view=p.view, temperature=p.temperature, max_tokens=p.reply_tokens
    )


def _namer(chat: KeptChat, section: Section) -> Any:
    from resources.namer.by_chat import ChatNamer

    return ChatNamer(chat)


def _wardrobe(chat: KeptChat, section: Section) -> Any:
    from resources.namer.by_chat import ChatWardrobe

    return ChatWardrobe(chat)


def _captioner(chat: KeptChat, section: Section) -> Any:
    from resources.captioner.by_chat import ChatCaptioner

    return ChatCaptioner(chat)


def _summarizer(chat: KeptChat, section: Section) -> Any:
    from resources.captioner.by_chat import ChatSummarizer

    return ChatSummarizer(chat)


def _chronicler(chat: KeptChat, section: Section) -> Any:
    from resources.chronicler.by_chat import ChatChronicler

    return ChatChronicler(chat)


def _extractor(chat: KeptChat, section: Section) -> Any:
    from resources.extractor.by_chat import ChatExtractor

    return ChatExtractor(chat, most=cast(Triples, section).most)


EMBEDDED = Profile(
    name="embedded",
    roles={
        "detector": Adapter(_yolov3_tiny),
        "tracker": Adapter(_botsort),
        "appearance": Adapter(_mobilenet),
        "describer": Adapter(_rules),
        "identity_embedder": Adapter(_pooled),
        "text_embedder": Adapter(_minilm),
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
        # Seeds and walk alone find less with a small text model (docs/decisions.md).
        "reading": {"tokens": "stems", "ranking": "match"},
    },
    files=EMBEDDED_MODELS,
)

_NO_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}

PAPER = Profile(
    name="paper",
    roles={
        "detector": Adapter(_yolo, YoloOptions()),
        "tracker": Adapter(_boxmot, BoxMotOptions()),
        "appearance": Adapter(_clip_dinov2, ClipDinoOptions()),
        "describer": Asking("chat", _vision_language),
        "namer": Asking("chat", _namer),
        "wardrobe": Asking("text_chat", _wardrobe),
        "captioner": Asking("chat", _captioner),
        "summarizer": Asking("text_chat", _summarizer),
        "chronicler": Asking("text_chat", _chronicler),
        "extractor": Asking("text_chat", _extractor),
        "identity_embedder": Adapter(_qwen3_vl_identity, Qwen3VLOptions()),
        "text_embedder": Adapter(_qwen3_text, Qwen3TextOptions()),
        "clip_embedder": Adapter(_qwen3_vl_clips, Qwen3VLOptions()),
        "chat": Adapter(_chat, ChatSettings(model="Qwen/Qwen3.5-35B-A3B", extra=_NO_THINKING)),
        "text_chat": Adapter(
            _chat,
            ChatSettings(
                base_url="http://127.0.0.1:8001/v1",
                model="openai/gpt-oss-120b",
                key_variable="GEB_TEXT_CHAT_KEY",
            ),
        ),
    },
)

_OPENROUTER = "https://openrouter.ai/api/v1"

HOSTED = replace(
    PAPER,
    name="hosted",
    roles={
        **PAPER.roles,
        "chat": Adapter(
            _chat,
            ChatSettings(
                base_url=_OPENROUTER,
                model="qwen/qwen3.5-flash",
                extra={"reasoning": {"enabled": False}},
            ),
        ),
        "text_chat": Adapter(
            _chat, ChatSettings(base_url=_OPENROUTER, model="openai/gpt-oss-120b")
        ),
    },
)

PROFILES: Mapping[str, Profile] = {profile.name: profile for profile in (EMBEDDED, PAPER, HOSTED)}


def nowhere() -> Calls:
    """Calls of chats that are never asked: an identity needs none."""
    from resources.chat.cache import ReplyCache
    from resources.chat.calls import Budget, Calls

    return Calls(ReplyCache(Path()), Budget())


def profile(name: str) -> Profile:
    """Raises GebError for a profile that does not exist."""
    if name not in PROFILES:
        raise GebError(f"no profile '{name}'; there are {_list(PROFILES)}")
    return PROFILES[name]


def configured(name: str, options: Mapping[str, OptionValues]) -> Profile:
    """A profile with a home's own options (profile to role to option to value).

    Raises GebError for a profile, role or option that does not exist, or a wrong value.
    """
    return profile(name).having(options.get(name, {}))


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
