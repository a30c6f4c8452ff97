"""The page of a benchmark: its figures and plots, and for each question what was received and why
each variant answered as it did."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from html import escape
from textwrap import shorten
from typing import Any

import polars as pl

from evaluation.scoring import Score
from evaluation.tables import plot, side_by_side
from geb_assets.reading.record import Record
from geb_assets.reading.units import Unit

_STYLE = """
body{font:14px/1.5 sans-serif;max-width:75em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;margin:1em 0}td,th{padding:.15em .8em;text-align:left;
border-bottom:1px solid #ddd;vertical-align:top}.t{color:#666}.right{color:#17722b}
.wrong{color:#b3261e}section{border-top:2px solid #ccc;margin-top:1.5em}img{max-width:100%}
"""
_LONGEST = 220
"""Characters of a unit's text."""

Clocked = Callable[[str, float], str]
"""Recording and seconds on its clock to the written time."""


def page(
    name: str,
    scores: Mapping[str, Sequence[Score]],
    predictions: Mapping[str, pl.DataFrame],
    clock: Clocked,
) -> str:
    """HTML of one benchmark.

    ``scores`` and ``predictions`` (rows of that table) are by variant, the full system first.
    """
    return "\n".join(
        [
            f"<!doctype html><meta charset='utf-8'><title>{escape(name)}</title>",
            f"<style>{_STYLE}</style><h1>{escape(name)}</h1>",
            _figures(scores),
            _picture(plot(list(scores.items()))),
            *_differing(predictions),
            *_questions(predictions, clock),
        ]
    )


def _picture(png: bytes) -> str:
    return f"<img src='data:image/png;base64,{base64.b64encode(png).decode()}'>"


def _figures(scores: Mapping[str, Sequence[Score]]) -> str:
    (head, *rows), notes = side_by_side(scores)
    lines = [f"<tr>{''.join(f'<th>{escape(cell)}</th>' for cell in head)}</tr>"]
    lines += [f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows]
    told = (f"<p class=t>{escape(note)}</p>" for note in notes)
    return "\n".join(["<table>", *lines, "</table>", *told])


def _differing(predictions: Mapping[str, pl.DataFrame]) -> list[str]:
    """Which questions one variant answers right and another wrong."""
    right = {
        variant: dict(rows.filter(pl.col("run") == 0).select("question", "correct").iter_rows())
        for variant, rows in predictions.items()
    }
    first, *others = right
    lines: list[str] = []
    for other in others:
        won = [q for q, one in right[first].items() if one and right[other].get(q) is False]
        lost = [q for q, one in right[first].items() if one is False and right[other].get(q)]
        links = [", ".join(f"<a href='#{escape(q)}'>{escape(q)}</a>" for q in side) or "none"
                 for side in (won, lost)]  # fmt: skip
        lines.append(
            f"<p><b>{escape(first)}</b> is right and <b>{escape(other)}</b> wrong on {len(won)}: "
            f"{links[0]}<br>the other way round on {len(lost)}: {links[1]}</p>"
        )
    return lines


def _questions(predictions: Mapping[str, pl.DataFrame], clock: Clocked) -> list[str]:
    rows = {
        variant: {
            row["question"]: row for row in own.filter(pl.col("run") == 0).iter_rows(named=True)
        }
        for variant, own in predictions.items()
    }
    lines: list[str] = []
    for name, row in next(iter(rows.values())).items():
        lines += _question(row, clock)
        lines += [
            line
            for variant, own in rows.items()
            if name in own
            for line in _answered(variant, own[name], clock)
        ]
        lines.append("</section>")
    return lines


def _question(row: Mapping[str, Any], clock: Clocked) -> list[str]:
    recording = row["recording"]
    asked = "" if row["at_s"] is None else f", asked at {clock(recording, row['at_s'])}"
    windows = _spans(row["windows"], recording, clock)
    return [
        f"<section id='{escape(row['question'])}'><h3>{escape(row['text'])}</h3>",
        f"<p class=t>{escape(row['question'])}, {escape(row['type'])}, {escape(recording)}{asked}"
        f"<br>right: {escape(row['gold'])}<br>evidence: {windows or 'none marked'}</p>",
    ]


def _spans(spans: Sequence[Sequence[float]], recording: str, clock: Clocked) -> str:
    return "; ".join(f"{clock(recording, start)} - {clock(recording, end)}" for start, end in spans)


def _answered(variant: str, row: Mapping[str, Any], clock: Clocked) -> list[str]:
    verdict = {True: "right", False: "wrong", None: ""}[row["correct"]]
    said = f"{row['choice']} {row['answer']}".strip() or row["error"] or "no answer"
    reached = row["reached"][-1] if row["reached"] else 0
    named = _spans(row["intervals"] or [], row["recording"], clock)
    rests = "" if row["intervals"] is None else f"<br>rests on: {named or 'no interval'}"
    lines = [
        f"<p><b>{escape(variant)}</b>: <span class={verdict or 't'}>{escape(said)} {verdict}</span>"
        f"<br>{escape(row['why'])}{rests}"
        f"<br><span class=t>{len(row['units'])} units in {row['rounds']} "
        f"searches reached {reached} of {len(row['windows'])} windows</span></p>"
    ]
    if not row["record"]:
        return lines
    record = Record.model_validate_json(row["record"])
    supports = set(record.supports)
    for number, one in enumerate(record.searches, 1):
        lines.append(
            f"<details><summary class=t>search {number}: {escape(shorten(one.query, 120))} "
            f"({len(one.units)} new units){'; ' + escape(one.why) if one.why else ''}</summary><ul>"
        )
        lines += [_unit(unit, supports, row["recording"], clock) for unit in one.units]
        lines += [f"<li class=t>{escape(note)}</li>" for note in one.notes]
        lines.append("</ul></details>")
    return lines


def _unit(unit: Unit, supports: set[str], recording: str, clock: Clocked) -> str:
    decided = unit.id in supports or (unit.entity or "") in supports
    text = escape(shorten(unit.text, _LONGEST))
    return (
        f"<li><span class=t>{clock(recording, unit.start_s)} "
        f"{escape(unit.entity or unit.scale or unit.kind)}</span> "
        f"{f'<b>{text}</b>' if decided else text}</li>"
    )
