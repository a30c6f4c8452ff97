"""Pictures beside the biographies: the two thresholds are set by looking at these (spec 9.18)."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from geb_assets.spread import spread
from geb_assets.writing.entities.association import CloseCall, Explanation, Rule
from geb_assets.writing.pictures import contact_sheet

_PAIRS = 12


def similarity_plot(explanation: Explanation, rule: Rule) -> bytes:
    """PNG: similarities of decisions against the thresholds, accept rate, and entity sizes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    best = np.fmax(explanation.max_similarity, explanation.runner_up_max)
    worst = np.fmax(explanation.min_similarity, explanation.runner_up_min)
    bins = np.linspace(0, 1, 51).tolist()
    left.hist(best[~np.isnan(best)], bins, alpha=0.6, label="highest to the references")
    left.hist(worst[~np.isnan(worst)], bins, alpha=0.6, label="lowest to the references")
    left.axvline(rule.theta_match, color="C0", linestyle="--", label="theta_match")
    left.axvline(rule.theta_cons, color="C1", linestyle="--", label="theta_cons")
    left.set(title="Best candidate of each observation", xlabel="cosine", ylabel="observations")
    left.legend(fontsize=7)
    thetas = np.linspace(0.3, 1, 71)
    middle.plot(thetas, [accept_rate(best, theta) for theta in thetas])
    middle.axvline(rule.theta_match, color="C0", linestyle="--")
    middle.set(title="Share with a reference at or above", xlabel="theta_match", ylim=(0, 1))
    sizes = np.bincount(explanation.entity) if len(explanation.entity) else np.zeros(1, np.int64)
    right.hist(sizes, bins=np.arange(0.5, max(10, sizes.max()) + 1).tolist())
    if len(sizes) > 100:
        right.set_yscale("log")
    right.set(title="Encounters per biography", xlabel="encounters", ylabel="biographies")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=72)
    return buffer.getvalue()


def accept_rate(best: NDArray[np.float32], theta: float) -> float:
    """Share of observations whose best similarity reaches a threshold."""
    return float(np.mean(np.nan_to_num(best, nan=-1.0) >= theta)) if len(best) else 0.0


def close_call_sheet(calls: Sequence[CloseCall], crops: Mapping[int, bytes]) -> bytes:
    """Contact sheet of pairs (observation, reference), nearest to the threshold first.

    ``crops`` maps an observation's row to JPEG bytes; pairs without both are left out.
    """
    jpegs: list[bytes] = []
    captions: list[str] = []
    for call in calls:
        if call.observation in crops and call.reference in crops and len(jpegs) < 2 * _PAIRS:
            jpegs += [crops[call.observation], crops[call.reference]]
            verdict = "joined" if call.accepted else "refused"
            captions += [f"{call.similarity:.3f}", verdict]
    return contact_sheet(jpegs, captions, columns=8)


def biography_sheet(crops: Sequence[Sequence[bytes]], names: Sequence[str]) -> bytes:
    """Contact sheet with one biography a row, its encounters in time order."""
    columns = 10
    blank = contact_sheet([], columns=1)
    jpegs: list[bytes] = []
    captions: list[str] = []
    for own, name in zip(crops, names, strict=True):
        chosen = spread(own, columns)
        jpegs += [*chosen, *[blank] * (columns - len(chosen))]
        captions += [name, *[""] * (columns - 1)]
    return contact_sheet(jpegs, captions, columns=columns)
