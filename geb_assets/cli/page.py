"""A run as one HTML page: the answer, its biographies with crops, its rounds with frames."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterator
from pathlib import Path

from geb_assets.cli.pictures import crops, frames
from geb_assets.cli.record import answer_line, biography_line, excerpts_of
from geb_assets.cli.units import called, span
from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.reading.biography import Excerpt
from geb_assets.reading.memory import Memory
from geb_assets.reading.record import Record, Round

_FRAMES = 3
"""Most frames of one caption."""
_STYLE = """
body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em}
h2{margin:1.6em 0 .2em;font-size:1.1em} img{height:90px;margin:2px 6px 2px 0;vertical-align:middle}
.t{color:#666} .answer{font-size:1.2em} li{margin:.3em 0}
"""


def require_page(page: Path) -> None:
    """Raises GebError, before anything is asked, where the page could not be written."""
    if page.is_dir() or not page.absolute().parent.is_dir():
        raise GebError(f"{page} cannot be written: name a file in a folder that exists")


def write_page(home: Home, memory: Memory, record: Record, page: Path) -> None:
    """Writes the page of one answer. Raises GebError where the file cannot be written."""
    try:
        page.write_text("\n".join(_page(home, memory, record)), encoding="utf-8")
    except OSError as error:
        raise GebError(f"{page} cannot be written: {error.strerror}; name another file") from None


def _page(home: Home, memory: Memory, record: Record) -> Iterator[str]:
    text = html.escape
    yield "<!doctype html><meta charset='utf-8'><title>geb ask</title>"
    yield f"<style>{_STYLE}</style>"
    yield f"<h1>{text(record.question)}</h1>"
    if record.choices:
        yield f"<p>{text(' / '.join(record.choices))}</p>"
    at = "the whole recording" if record.at is None else f"as of {memory.clock.show(record.at)}"
    yield f"<p class=t>{text(record.recording)}, {at}</p>"
    yield f"<p class=answer><b>{text(answer_line(record))}</b></p><p>{text(record.why)}</p>"
    entities = list(dict.fromkeys(unit.entity for unit in record.units if unit.entity))
    met = excerpts_of(memory, record, entities) if entities else []
    jpegs = crops(
        home, memory.recording, [block.observation for one in met for block in one.blocks]
    )
    for excerpt in sorted(met, key=lambda one: one.entity not in record.supports):
        yield from _biography(memory, record, excerpt, jpegs)
    for number, round_ in enumerate(record.searches, 1):
        yield from _round(memory, record, number, round_)


def _biography(
    memory: Memory, record: Record, excerpt: Excerpt, jpegs: dict[str, bytes]
) -> Iterator[str]:
    used = " &mdash; decided the answer" if excerpt.entity in record.supports else ""
    yield f"<h2>{html.escape(biography_line(memory, excerpt))}{used}</h2>"
    for block in excerpt.blocks:
        yield (
            f"<p>{_picture(jpegs.get(block.observation))}"
            f"<span class=t>{memory.clock.show(block.start_s)}</span> {html.escape(block.text)}</p>"
        )


def _round(memory: Memory, record: Record, number: int, round_: Round) -> Iterator[str]:
    yield f"<h2>Round {number}: {html.escape(round_.query)}</h2>"
    if round_.why:
        yield f"<p class=t>{html.escape(round_.why)}</p>"
    yield "<ul>"
    names = called(memory, round_.units, record.at)
    for unit in round_.units:
        what = names[unit.entity] if unit.entity else unit.scale or unit.kind
        shown = (
            frames(memory, record, unit, most=_FRAMES)
            if unit.scale == "30sec" or unit.kind == "clip"
            else []
        )
        yield (
            f"<li><span class=t>{span(memory, unit)} {html.escape(what)} {unit.score:.4f} "
            f"{html.escape(unit.id)}</span><br>{html.escape(unit.text)}"
            f"{'<br>' * bool(shown)}{''.join(_picture(frame.jpeg) for frame in shown)}</li>"
        )
    yield "</ul>"


def _picture(jpeg: bytes | None) -> str:
    if jpeg is None:
        return ""
    return f"<img src='data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}'>"
