"""HD-EPIC's object-movement questions, whose evidence is every movement of one physical object.

The ground truth says which movements are of the same object, so identity itself is measured: a
memory keyed by name mixes the 2,354 of 8,382 objects that share their name with another of the same
video.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl

from evaluation.benchmarks.question import Faults, Question, pairs_of, read_json, text_of
from geb_assets.errors import GebError

TOLERANCE_S = 0.05
"""How near the time in a question lies to a start or end of its object's movement."""

LETTERS = "ABCDEFGHIJ"

MOVEMENTS = pl.Schema(
    {
        "video": pl.String,
        "object": pl.String,
        "name": pl.String,
        "base_name": pl.String,
        "track": pl.String,
        "start_s": pl.Float64,
        "end_s": pl.Float64,
    }
)
"""One movement a row: the true object that moved, how annotators name it, and when."""

_SEEN = re.compile(r"<TIME (\d+):(\d{1,2}):(\d{1,2}(?:\.\d+)?) video 1>")
_NUMBER = re.compile(r"[\s_]*\d+$")


def load_movements(path: str | Path) -> pl.DataFrame:
    """The movements of ``assoc_info.json``, MOVEMENTS, in the order of time within each video.

    ``base_name`` is the name in small letters without the number that tells look-alikes apart
    (``bowl2`` is ``bowl``). Raises GebError naming file and object for what is malformed.
    """
    file = Path(path)
    videos = read_json(file)
    if not isinstance(videos, dict):
        raise GebError(f"{file} maps no videos to objects; give HD-EPIC's assoc_info.json")
    faults = Faults(file)
    rows: list[tuple[str, str, str, str, str, float, float]] = []
    for video, objects in videos.items():
        for name, thing in objects.items() if isinstance(objects, dict) else ():
            with faults.of(f"{video} object {name}"):
                rows += _movements(video, name, thing)
    faults.stop()
    frame = pl.DataFrame(rows, schema=MOVEMENTS, orient="row")
    return frame.sort("video", "start_s", "end_s", "track")


def load(path: str | Path, movements: pl.DataFrame) -> list[Question]:
    """The questions of ``vqa_object_motion_object_movement_itinerary.json``, in its order.

    ``evidence`` holds every movement of the one object of which a movement starts or ends within
    0.05 s of the time in the question (449 of the 500); a question with no such object or several
    has none, and says so among its oddities. ``recording`` is the video.
    Raises GebError naming file and question for what is missing or malformed.
    """
    file = Path(path)
    items = read_json(file)
    if not isinstance(items, dict) or not items:
        raise GebError(f"{file} maps no names to questions; give HD-EPIC's released file")
    known = {str(key[0]): own for key, own in movements.group_by("video")}
    faults = Faults(file)
    questions: list[Question] = []
    for name, item in items.items():
        with faults.of(name):
            questions.append(_question(name, item, known))
    faults.stop()
    return questions


def base_name(name: str) -> str:
    """The name without the number that tells look-alikes of one video apart."""
    return _NUMBER.sub("", name.strip().lower())


def seen_at(question: str) -> float:
    """The time in the question, s from the video's start; raises GebError where there is none."""
    found = _SEEN.search(question)
    if found is None:
        raise GebError("the question names no <TIME hh:mm:ss video 1>; take it as released")
    return int(found[1]) * 3600 + int(found[2]) * 60 + float(found[3])


def _movements(
    video: str, name: str, thing: Any
) -> list[tuple[str, str, str, str, str, float, float]]:
    if not isinstance(thing, dict) or not isinstance(thing.get("tracks"), list):
        raise GebError("has no list 'tracks'; take it from the released file")
    called = text_of(thing, "name")
    rows = []
    for track in thing["tracks"]:
        if not isinstance(track, dict) or not track.get("track_id"):
            raise GebError("has a track without an id; take it from the released file")
        ((start, end),) = pairs_of([track.get("time_segment")], "time_segment")
        rows.append((video, name, called, base_name(called), str(track["track_id"]), start, end))
    return rows


def _question(name: str, item: Any, movements: dict[str, pl.DataFrame]) -> Question:
    if not isinstance(item, dict):
        raise GebError("is no object; take it from the released file")
    text = text_of(item, "question")
    choices, correct = item.get("choices"), item.get("correct_idx")
    if not isinstance(choices, list) or not 2 <= len(choices) <= len(LETTERS):
        raise GebError(f"field 'choices' is no list of 2 to {len(LETTERS)} texts")
    if not isinstance(correct, int) or not 0 <= correct < len(choices):
        raise GebError(f"gold answer {correct!r} is none of the {len(choices)} choices")
    try:
        video = str(item["inputs"]["video 1"]["id"])
    except (KeyError, TypeError):
        raise GebError("names no 'video 1'; take it from the released file") from None
    if video not in movements:
        raise GebError(f"video {video} has no movements; give the assoc_info.json of this release")
    own = movements[video]
    seen = seen_at(text)
    near = own.filter(
        ((pl.col("start_s") - seen).abs() <= TOLERANCE_S)
        | ((pl.col("end_s") - seen).abs() <= TOLERANCE_S)
    )["object"].unique()
    found = own.filter(pl.col("object") == near[0]) if len(near) == 1 else own.clear()
    odd = {0: ("no object moves at its time",), 1: ()}.get(
        len(near), ("several objects move at its time",)
    )
    return Question(
        id=name,
        question=text,
        choices=dict(zip(LETTERS, map(str, choices), strict=False)),
        answer=LETTERS[correct],
        at=None,
        type="object movement itinerary",
        recording=video,
        evidence=tuple(found.sort("start_s", "end_s").select("start_s", "end_s").iter_rows()),
        oddities=odd,
    )
