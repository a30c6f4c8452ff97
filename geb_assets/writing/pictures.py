"""Pictures shown beside assets: contact sheets and plots as small image bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np

from resources.frames import decode_jpeg, encode_jpeg

_CELL = 112
_CAPTION = 16


def contact_sheet(
    jpegs: Sequence[bytes],
    captions: Sequence[str] = (),
    *,
    columns: int = 10,
    cell: int = _CELL,
) -> bytes:
    """JPEG bytes of a grid of pictures, each fitted into a square cell with its caption below."""
    rows = max(1, math.ceil(len(jpegs) / columns))
    height = cell + (_CAPTION if captions else 0)
    sheet = np.full((rows * height, columns * cell, 3), 255, np.uint8)
    for index, jpeg in enumerate(jpegs):
        picture = decode_jpeg(jpeg)
        scale = cell / max(picture.shape[:2])
        size = (
            max(1, int(picture.shape[1] * scale)),
            max(1, int(picture.shape[0] * scale)),
        )
        small = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
        top, left = index // columns * height, index % columns * cell
        sheet[top : top + small.shape[0], left : left + small.shape[1]] = small
        if captions:
            cv2.putText(
                sheet, captions[index][: cell // 7], (left + 2, top + height - 4),
                cv2.FONT_HERSHEY_SIMPLEX, 0.36, (0, 0, 0), 1, cv2.LINE_AA,
            )  # fmt: skip
    return encode_jpeg(sheet, 80)
