"""SubRip cues, also EgoLife's bilingual ones, whose English is the last line (spec 2.2)."""

from __future__ import annotations

import re

from geb_assets.errors import GebError
from geb_assets.writing.lines.daytime import start_in
from geb_assets.writing.lines.imported import LineKind, LineRows, split_speaker

ARROW = "-->"
_TIMES = re.compile(
    r"\s*(?:(\d+):)?(\d{1,2}):(\d{2})[,.](\d{1,3})\s*-->\s*(?:(\d+):)?(\d{1,2}):(\d{2})[,.](\d{1,3}).*"
)
_NUMBER = re.compile(r"\s*\d+\s*")
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|\{\\[^{}]*\}")
_HAN = re.compile("[\u3400-\u9fff]")


def srt_lines(name: str, text: str, kind: LineKind, start_s: float | None) -> LineRows:
    """The cues of one file as lines of ``kind``.

    Cue times count from the day and hour in the file's name (``..._DAY1_11000000.srt``), else from
    ``start_s``. A cue of several lines that say the same in two languages keeps the last; other
    cues of several lines are joined. Raises GebError naming file and line number.
    """
    named = start_in(name)
    base = named if named is not None else start_s
    if base is None:
        raise GebError(f"{name} counts its times from its start; give the recording's start")
    rows = LineRows(name)
    lines = text.splitlines()
    cues = [number for number, line in enumerate(lines) if ARROW in line]
    head = [line for line in lines[: cues[0]] if line.strip() and not _NUMBER.fullmatch(line)]
    if head:
        raise GebError(f"{name} line 1: text without times before the first cue; remove or time it")
    for number, following in zip(cues, [*cues[1:], len(lines) + 1], strict=True):
        times = _TIMES.fullmatch(lines[number])
        if times is None:
            raise GebError(
                f"{name} line {number + 1}: '{lines[number].strip()}' holds no times; "
                "write 00:00:01,000 --> 00:00:02,500"
            )
        start, end = _seconds(times.groups()[:4]), _seconds(times.groups()[4:])
        body = lines[number + 1 : following]
        if following <= len(lines) and body and _NUMBER.fullmatch(body[-1]):
            body.pop()  # the next cue's number
        spoken = [part for line in body if (part := _MARKUP.sub("", line).strip())]
        rows.add(base + start, base + end, kind, _said(spoken, bilingual=named is not None))
    return rows


def _seconds(parts: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, fraction = parts
    whole = int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    return whole + int((fraction or "0").ljust(3, "0")) / 1000


def _said(lines: list[str], *, bilingual: bool) -> str:
    if len(lines) < 2:
        return lines[0] if lines else ""
    speakers = {split_speaker(line)[0] for line in lines}
    translated = bool(_HAN.search(lines[0])) and not _HAN.search(lines[-1])
    if bilingual or translated or (len(lines) == 2 and len(speakers) == 1 and "" not in speakers):
        return lines[-1]
    return " ".join(lines)
