"""What an importer returns: lines, released episodes, and what was left out."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from geb_assets.errors import GebError

LineKind = Literal["caption", "transcript"]

LINES = pl.Schema(
    {
        "start_s": pl.Float64,
        "end_s": pl.Float64,
        "kind": pl.String,
        "speaker": pl.String,
        "text": pl.String,
        "source": pl.String,
    }
)
"""A line as imported: the lines table without its keys and its visible_from."""

EPISODES = pl.Schema(
    {"scale": pl.String, "start_s": pl.Float64, "end_s": pl.Float64, "text": pl.String}
)
"""A released episode as imported."""

FAILED_CAPTION = "Error generating caption."
"""The text that a failed caption leaves in released files (spec 2.2, 12.8)."""

_SPACE = re.compile(r"\s+")
# A name before a colon: it starts with a letter or a bracket, and is no time of day ("At 19:30").
_SPEAKER = re.compile(
    r"\s*([^\W\d_(（][^:：\n]{0,39}|[(（][^:：\n]{1,38})\s*[:：]\s*(?=\S)(.*)", re.S
)
_CLOCK_IN_TEXT = re.compile(r"\d\s*[:：]\s*\d")
MAX_SPEAKER_WORDS = 4


@dataclass(frozen=True)
class Imported:
    """The content of the files: lines [LINES] in time order and released episodes [EPISODES].

    ``notes`` says in plain words what was left out or changed.
    """

    lines: pl.DataFrame
    episodes: pl.DataFrame
    notes: list[str] = field(default_factory=list)


def split_speaker(text: str) -> tuple[str, str]:
    """``Speaker: text`` into its two parts; the speaker is empty where the text names none."""
    found = _SPEAKER.fullmatch(text)
    if found is None or len(found[1].split()) > MAX_SPEAKER_WORDS:
        return "", text
    edge = found.end(1)
    if _CLOCK_IN_TEXT.fullmatch(text[edge - 1 : edge + 2].strip()):
        return "", text
    return found[1].strip(), found[2].strip()


class LineRows:
    """Lines of one file, gathered row by row and checked on the way in."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.dropped: Counter[str] = Counter()
        self._columns: dict[str, list[Any]] = {
            name: [] for name in ("start_s", "end_s", "kind", "speaker", "text")
        }

    def add(
        self,
        start_s: float,
        end_s: float,
        kind: str,
        text: str,
        *,
        speaker: str | None = None,
    ) -> None:
        """Add one line; a transcript without a given speaker is split at ``Speaker:``.

        Failed captions and lines without text are counted and left out; a line that ends before
        it starts is kept as an instant and counted.
        """
        text = _SPACE.sub(" ", text).strip()
        if text == FAILED_CAPTION:
            self.dropped["failed"] += 1
            return
        if speaker is None:
            speaker, text = split_speaker(text) if kind == "transcript" else ("", text)
        if not text:
            self.dropped["empty"] += 1
            return
        if end_s < start_s:
            self.dropped["reversed"] += 1
            end_s = start_s
        for name, value in zip(self._columns, (start_s, end_s, kind, speaker, text), strict=True):
            self._columns[name].append(value)

    def frame(self) -> pl.DataFrame:
        """The lines, LINES, in the order they were added."""
        columns = self._columns | {"source": [self.source] * len(self._columns["text"])}
        return pl.DataFrame(columns, schema=LINES)


_NOTES = {
    "failed": f"captions left out that read '{FAILED_CAPTION}': ",
    "empty": "lines left out that have no text: ",
    "reversed": "lines that end before they start, kept as instants: ",
    "skipped": "files skipped that are no .json, .srt, .csv, .tsv or .txt: ",
}


def notes_of(dropped: Counter[str]) -> list[str]:
    """Plain sentences for what was counted, in a fixed order."""
    return [f"{text}{dropped[key]}" for key, text in _NOTES.items() if dropped[key]]


def text_of(value: object, where: str) -> str:
    """A text value; raises GebError where it is none."""
    if not isinstance(value, str):
        raise GebError(f"{where} has no text; give each line a text")
    return value
