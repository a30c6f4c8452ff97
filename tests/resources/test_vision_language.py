"""The vision-language describer against a strict endpoint; its words for each kind of recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from pydantic import ValidationError

from evaluation.bench.chat_server import running
from resources.chat.cache import ReplyCache
from resources.chat.calls import Budget, Calls
from resources.chat.material import MATERIAL
from resources.chat.openai_compatible import ChatSettings
from resources.describer import Crop, Description, DescriptionFailed, Encounter, Line, SceneFrame
from resources.describer.prompt import instructions
from resources.describer.vision_language import Told, VisionLanguageDescriber, full_view
from resources.frames import decode_jpeg, encode_jpeg

BOX = np.array([20, 30, 60, 80], np.float32)
GRAY = np.full((100, 120, 3), 127, np.uint8)


def encounter(**changes: Any) -> Encounter:
    values: dict[str, Any] = {
        "label": "bottle", "confidence": 0.8, "start_s": 100.4, "end_s": 103.0,
        "times": np.array([100.4, 103.0]), "boxes": np.stack([BOX, BOX]),
        "width": 120, "height": 100,
        "crops": (Crop(GRAY, BOX),) * 4,
        "scenes": tuple(SceneFrame(t, encode_jpeg(GRAY, 90), BOX) for t in (100.0, 101.5, 103.0)),
        "lines": (
            Line(90.0, 92.0, "caption", "", "I fetch the bottle."),
            Line(101.0, 102.0, "transcript", "Jake", "Here it is."),
            Line(102.5, 104.0, "transcript", "Tasha", "Thanks,\n Jake."),
        ),
        "wearer": "Jake",
    }  # fmt: skip
    return Encounter(**(values | changes))


def test_it_describes(tmp_path: Path) -> None:
    with running(most_pictures=7) as server:
        calls = Calls(ReplyCache(tmp_path / "r"), Budget())
        settings = ChatSettings(base_url=server.url, model="m", retries=0)
        describer = VisionLanguageDescriber(
            calls.chat(settings, "describer"), view="first_person", temperature=0.2, max_tokens=900
        )
        description = describer.describe(encounter())
        assert type(description) is Description
        assert description.object_name == "red cup" and description.action == "none"
        assert describer.identity.name == "m"
        with pytest.raises(DescriptionFailed, match="no picture"):
            describer.describe(encounter(crops=(), scenes=()))


def test_lines_lie_on_one_clock_with_the_marks_and_the_wearer_is_i() -> None:
    text = instructions(encounter(), "first_person")
    assert MATERIAL in text and "[-10s] | I fetch the bottle." in text
    assert "[1s] * | I: Here it is." in text
    assert "[3s] * | Tasha: Thanks, Jake." in text
    assert "IMAGES 0-3" in text and "IMAGES 4-6" in text and "1.5 s apart" in text
    assert "my name is Jake" in text and '"bottle"' in text


def test_the_other_views() -> None:
    own = instructions(encounter(), "own_frames")
    assert "Narration" not in own and "Jake" not in own and "I fetch" not in own
    game = instructions(encounter(), "game")
    assert "name that the game itself gives it" in game and "my own body" not in game
    for view in ("first_person", "own_frames", "game"):
        bare = instructions(encounter(lines=(), scenes=(), wearer=""), view)  # type: ignore[arg-type]
        assert "{" not in bare and "  * " not in bare


def told(**changes: Any) -> dict[str, Any]:
    values = {
        "object_name": "red cup", "is_person": False, "appearance": "red cup",
        "location": "unclear", "action": "I lift it", "action_evidence": "IMAGE 5: I hold it",
        "event_desc": "I lift it.", "summary": "I lift the red cup.", "unique_mark": "none",
        "reid_summary": "A red cup.", "source_evidence": "none", "confidence": "high",
    }  # fmt: skip
    return values | changes


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"action_evidence": "IMAGE 7: I hold it"}, "IMAGE 7; there are 7"),
        ({"summary": "我把红色的杯子拿起来。"}, "another language"),
        ({"weight": "heavy"}, "Extra inputs"),
        ({"confidence": "certain"}, "'low', 'medium' or 'high'"),
    ],
)
def test_what_is_no_reply(changes: dict[str, Any], fault: str) -> None:
    Told.model_validate(told(), context=7)
    with pytest.raises(ValidationError, match=fault):
        Told.model_validate(told(**changes), context=7)


def test_the_box_is_drawn_where_the_subject_is_seen() -> None:
    large = np.full((1000, 1600, 3), 127, np.uint8)
    box = np.array([400, 400, 800, 800], np.float32)
    seen = decode_jpeg(full_view(SceneFrame(0.0, encode_jpeg(large, 95), box)))
    assert seen.shape == (480, 768, 3)
    red = (seen[..., 2] > 180) & (seen[..., 1] < 90)
    ys, xs = np.nonzero(red)
    assert abs(xs.min() - 192) < 6 and abs(xs.max() - 384) < 6 and abs(ys.min() - 192) < 6
    plain = encode_jpeg(np.asarray(cv2.resize(large, (320, 200)), np.uint8), 90)
    assert full_view(SceneFrame(0.0, plain, None)) == plain
