"""Scores as people read them: a Markdown table and a plot."""

from __future__ import annotations

import io
from collections.abc import Sequence

from evaluation.scoring import ACCURACY, COVERAGE, DIFFERENCE, HIT, Score

Named = tuple[str, Sequence[Score]]
"""A variant and its figures."""


def show(score: Score) -> str:
    """A figure with its interval; fractions as percentages."""
    if score.value is None:
        return "not measured"
    scale, unit = (100.0, " %") if is_fraction(score) else (1.0, "")
    if score.metric.endswith(DIFFERENCE):
        unit = " points"
    text = f"{score.value * scale:.1f}{unit}"
    if score.low is None or score.high is None:
        return text
    return f"{text} [{score.low * scale:.1f}, {score.high * scale:.1f}]"


def is_fraction(score: Score) -> bool:
    return score.metric.removesuffix(f" {DIFFERENCE}") in (ACCURACY, HIT, COVERAGE)


def markdown(scores: Sequence[Score]) -> str:
    """A table of all figures."""
    lines = ["| metric | over | value [95 %] | n | paper | note |", "|---|---|---|---|---|---|"]
    for one in scores:
        paper = "" if one.anchor is None else show(Score(one.metric, "", one.anchor, 0))
        lines.append(
            f"| {one.metric} | {one.slice} | {show(one)} | {one.n} | {paper} | {one.note} |"
        )
    return "\n".join(lines)


def plot(variants: Sequence[Named]) -> bytes:
    """PNG: accuracy and evidence of each variant as bars with intervals, and evidence against the
    rounds of search and the units received."""
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
        units = next((s.value for s in scores if s.metric == "units received"), None)
        label = name if units is None else f"{name}: {units:.1f} units"
        curves.plot(
            range(1, len(rounds) + 1), [100 * (s.value or 0.0) for s in rounds], "o-", label=label
        )
    bars.set(ylabel="%", ylim=(0, 105))
    bars.legend(fontsize=7)
    curves.set(xlabel="rounds of search", ylabel="evidence reached, %", ylim=(0, 105))
    curves.legend(fontsize=7)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=80)
    return buffer.getvalue()
