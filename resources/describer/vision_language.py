"""The paper's describer: one call an encounter to a vision-language model (paper 3.3, Figure 6)."""

from __future__ import annotations

import re

import cv2
import numpy as np
from pydantic import ConfigDict, ValidationInfo, model_validator

from resources.chat import Message
from resources.chat.calls import KeptChat
from resources.chat.structured import NoReply, structured
from resources.describer import Crop, Description, DescriptionFailed, Encounter, SceneFrame
from resources.describer.prompt import VERSION, View, instructions
from resources.frames import decode_jpeg, encode_jpeg, fit
from resources.identity import ModelIdentity

CROP_SIDE, SCENE_SIDE = 448, 768
"""Long side of a close view and of a full picture, px (appendix A)."""
QUALITY = 90
_RED = (0, 0, 255)
_IMAGE = re.compile(r"\bIMAGE\s+(\d+)", re.IGNORECASE)


class Told(Description):
    """A reply as the model gives it: nothing that was not asked for, in English, of these pictures.

    Validated with the number of pictures as context.
    """

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="after")
    def _of_these_pictures(self, info: ValidationInfo) -> Told:
        pictures: int = info.context or 0
        cited = [int(number) for number in _IMAGE.findall(self.action_evidence)]
        if max(cited, default=-1) >= pictures:
            raise ValueError(f"action_evidence cites IMAGE {max(cited)}; there are {pictures}")
        for name in ("object_name", "appearance", "summary", "reid_summary"):
            if foreign(getattr(self, name)):
                raise ValueError(f"{name} is in another language; write English")
        return self


def foreign(text: str) -> bool:
    """Whether most letters of a text are none of the Latin alphabet.

    Another language in Latin letters is not noticed.
    """
    if text.isascii():
        return False
    letters = [one for one in text if one.isalpha()]
    return 2 * sum(ord(one) > 0x24F for one in letters) > len(letters)


class VisionLanguageDescriber:
    """Describes encounters by a chat model that reads pictures."""

    def __init__(self, chat: KeptChat, *, view: View, temperature: float, max_tokens: int) -> None:
        self._chat = chat
        self._view: View = view
        self._temperature = temperature
        self._max_tokens = max_tokens

    @property
    def identity(self) -> ModelIdentity:
        return self._chat.identity_with(VERSION)

    @property
    def in_flight(self) -> int:
        return self._chat.in_flight

    def describe(self, encounter: Encounter) -> Description:
        """See :meth:`resources.describer.Describer.describe`.

        Raises ChatFailure where no further call would succeed either.
        """
        pictures = [*map(close_view, encounter.crops), *map(full_view, encounter.scenes)]
        if not pictures:
            raise DescriptionFailed("the encounter has no picture")
        parts: list[str | bytes] = [instructions(encounter, self._view)]
        for number, picture in enumerate(pictures):
            parts += [f"IMAGE {number}:", picture]
        try:
            told = structured(
                self._chat,
                [Message("user", tuple(parts))],
                Told,
                max_tokens=self._max_tokens,
                temperature=self._temperature,
                context=len(pictures),
            )
        except NoReply as fault:
            raise DescriptionFailed(str(fault)) from fault
        return Description.model_construct(**told.model_dump())  # validated as Told


def close_view(crop: Crop) -> bytes:
    """A close view as it is sent: JPEG bytes."""
    return encode_jpeg(fit(crop.image, CROP_SIDE), QUALITY)


def full_view(scene: SceneFrame) -> bytes:
    """A full picture as it is sent, the subject in a red box: JPEG bytes."""
    whole = np.asarray(decode_jpeg(scene.jpeg), np.uint8)
    image = fit(whole, SCENE_SIDE)
    if scene.box is not None:
        image = np.ascontiguousarray(image)
        left, top, right, bottom = (scene.box * (image.shape[1] / whole.shape[1])).round().tolist()
        width = max(2, round(max(image.shape[:2]) / 256))
        cv2.rectangle(image, (int(left), int(top)), (int(right), int(bottom)), _RED, width)
    elif image.shape == whole.shape:
        return scene.jpeg
    return encode_jpeg(image, QUALITY)
