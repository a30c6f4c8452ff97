"""Scores as people read them: a Markdown table and a plot."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence

from evaluation.answers import OVERLAPS, UNITS
from evaluation.scoring import ACCURACY, CLIP, COVERAGE, DIFFERENCE, HIT, SIMILARITY, Score

_FRACTIONS = (ACCURACY, HIT, COVERAGE, CLIP, SIMILARITY, *OVERLAPS)

Named = tuple[str, Sequence[Score]]
"""A variant and its figures."""


def show(score: Score) -> str:
    """A figure with its interval; fractions in percent, differences in points."""
    if score.value is None:
        return "not measured"
    scale = 100.0 if is_fraction(score) else 1.0
    sign = "+" if score.metric.endswith(DIFFERENCE) else ""
    text = f"{score.value * scale:{sign}.1f}"
    if score.low is None or score.high is None:
        return text
    return f"{text} [{score.low * scale:{sign}.1f}, {score.high * scale:{sign}.1f}]"


def named(score: Score) -> str:
    """The metric with its unit."""
    if not is_fraction(score):
        return score.metric
    return f"{score.metric}, {'points' if score.metric.endswith(DIFFERENCE) else '%'}"


def headline(score: Score) -> bool:
    """Whether a figure belongs on a screen: everything but evidence and differences by type."""
    general = score.slice in ("all", "needs identity", "needs no identity")
    curve = score.slice.startswith("after round") and score.metric != UNITS
    return score.metric == ACCURACY or general or curve


def is_fraction(score: Score) -> bool:
    return score.metric.removesuffix(f" {DIFFERENCE}") in _FRACTIONS


def side_by_side(
    scores: Mapping[str, Sequence[Score]], shown: Callable[[Score], bool] = lambda one: True
) -> tuple[list[list[str]], list[str]]:
    """Rows of cells, the first one the heading, with a column a variant; and the figures' notes.

    Where the variants' figures are over different numbers of questions, each number is given.
    """
    found = {v: {(one.metric, one.slice): one for one in own} for v, own in scores.items()}
    keys = dict.fromkeys(
        (one.metric, one.slice) for own in scores.values() for one in own if shown(one)
    )
    anchored = any(one.anchor is not None for own in scores.values() for one in own)
    rows = [["metric", "over", *scores, "n", *(["paper"] if anchored else [])]]
    notes: dict[str, None] = {}
    for key in keys:
        own = {v: figures[key] for v, figures in found.items() if key in figures}
        first = next(iter(own.values()))
        paper = "" if first.anchor is None else show(Score(first.metric, "", first.anchor, 0))
        cells = [show(own[variant]) if variant in own else "" for variant in scores]
        counts = "/".join(str(n) for n in dict.fromkeys(one.n for one in own.values()))
        rows.append([named(first), key[1], *cells, counts, *([paper] if anchored else [])])
        for variant, one in own.items():
            if one.note:
                notes[f"{variant}: {' '.join(key)}: {one.note}"] = None
    return rows, list(notes)


def markdown(scores: Sequence[Score]) -> str:
    """A table of all figures."""
    lines = ["| metric | over | value [95 %] | n | paper | note |", "|---|---|---|---|---|---|"]
    for one in scores:
        paper = "" if one.anchor is None else show(Score(one.metric, "", one.anchor, 0))
        lines.append(
            f"| {named(one)} | {one.slice} | {show(one)} | {one.n} | {paper} | {one.note} |"
        )
    return "\n".join(lines)


def plot(variants: Sequence[Named]) -> bytes:
    """PNG: accuracy and evidence of each variant as bars with intervals, and evidence against
    the units received, a point a round."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.4), layout="constrained")
    bars, curves = figure.subplots(1, 2)
    metrics = (ACCURACY, HIT, COVERAGE)
    width = 0.8 / max(1, len(variants))
    for number, (name, scores) in enumerate(variants):
        own = [s for s in scores if s.metric in metrics and s.value is not None]
        shown = [s for s in own if not s.slice.startswith("after round")][:8]
        at = [place + number * width for place in range(len(shown))]
        values = [100 * (s.value or 0.0) for s in shown]
        sides = [
            [v - 100 * (s.low or 0.0) for v, s in zip(values, shown, strict=True)],
            [100 * (s.high or 0.0) - v for v, s in zip(values, shown, strict=True)],
        ]
        bars.bar(at, values, width, yerr=sides, capsize=2, label=name)
        if number == 0:
            labels = [f"{s.metric}\n{s.slice}" for s in shown]
            bars.set_xticks(range(len(shown)), labels, fontsize=6, rotation=30, ha="right")
        rounds = [s for s in own if s.slice.startswith("after round")]
        units = {s.slice: s.value or 0.0 for s in scores if s.metric == UNITS}
        curves.plot(
            [units.get(s.slice, 0.0) for s in rounds],
            [100 * (s.value or 0.0) for s in rounds],
            "o-",
            label=name,
        )
    bars.set(ylabel="%", ylim=(0, 105))
    bars.legend(fontsize=7)
    curves.set(
        xlabel="units received after each round", ylabel="evidence reached, %", ylim=(0, 105)
    )
    curves.legend(fontsize=7)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=80)
    return buffer.getvalue()
