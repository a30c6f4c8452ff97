"""Reading a model's reply in JSON, whatever stands around it."""

from __future__ import annotations

import json
from typing import Any


def json_object(text: str, key: str) -> dict[str, Any] | None:
    """The first JSON object in the text that has this key; None where there is none."""
    decoder = json.JSONDecoder()
    place = text.find("{")
    while place >= 0:
        try:
            value, _ = decoder.raw_decode(text, place)
        except (json.JSONDecodeError, RecursionError):
            value = None
        if isinstance(value, dict) and key in value:
            return value
        place = text.find("{", place + 1)
    return None
