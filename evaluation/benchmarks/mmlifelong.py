"""MM-Lifelong: open-ended questions on a day, a week or a month of video (spec 5.3).

Its three layouts differ in where the clues lie: Day has ``clue_intervals`` of pairs in seconds,
Week ``clue_intervals`` by video, Month ``clue_interval`` by video.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from evaluation.benchmarks.question import Question, Spans, pairs_of, read_questions, text_of
from geb_assets.errors import GebError

Layout = Literal["day", "week", "month"]


@dataclass(frozen=True)
class LifelongQuestion(Question):
    """An open-ended question; the whole recording is visible (``at`` is None)."""

    temporal_certificate: str = ""
    """How much of the recording has to be seen, as the benchmark classes it."""
    clues: tuple[tuple[str, Spans], ...] = ()
    """Marked spans by video, s from that video's start; the Day layout has one video, "".
    ``evidence`` holds the release's ``total_intervals``, or the Day layout's clues."""

    @property
    def videos(self) -> tuple[str, ...]:
        """The broadcasts that the question is about; it needs the memories of all of them."""
        return tuple(dict.fromkeys(video for video, _ in self.clues if video))


def load(path: str | Path, layout: Layout) -> list[LifelongQuestion]:
    """The questions of one MM-Lifelong file, in its order.

    ``layout`` says which split the file is of; a file of another layout is refused. Questions
    whose type names hallucination are graded without partial credit.
    Raises GebError naming file and question for what is missing or malformed.
    """
    return read_questions(path, "index", lambda item: _question(item, layout))


def _question(item: dict[str, Any], layout: Layout) -> LifelongQuestion:
    index = item.get("index")
    if not isinstance(index, int) or isinstance(index, bool):
        raise GebError("field 'index' is no whole number; take it from the released file")
    kind = text_of(item, "question_type")
    clues = _clues(item, layout)
    total = (
        pairs_of(item["total_intervals"], "total_intervals") if "total_intervals" in item else ()
    )
    spans = total or (clues[0][1] if layout == "day" else ())
    backwards = any(start > end for _, own in (*clues, ("", spans)) for start, end in own)
    return LifelongQuestion(
        id=str(index),
        question=text_of(item, "question"),
        choices={},
        answer=text_of(item, "answer"),
        at=None,
        type=kind,
        evidence=tuple((min(pair), max(pair)) for pair in spans),
        all_or_nothing="hallucinat" in kind.casefold(),
        oddities=("span written backwards",) if backwards else (),
        temporal_certificate=text_of(item, "temporal_certificate"),
        clues=clues,
    )


def _clues(item: dict[str, Any], layout: Layout) -> tuple[tuple[str, Spans], ...]:
    key = "clue_interval" if layout == "month" else "clue_intervals"
    given = item.get(key)
    if not isinstance(given, list) or not given:
        raise GebError(f"field '{key}' is missing or empty; the file is not of the {layout} layout")
    if layout == "day":
        return (("", pairs_of(given, key)),)
    if not all(isinstance(s, dict) and isinstance(s.get("video_id"), str) for s in given):
        raise GebError(f"field '{key}' names no videos; the file is not of the {layout} layout")
    return tuple((source["video_id"], pairs_of(source.get("intervals"), key)) for source in given)
