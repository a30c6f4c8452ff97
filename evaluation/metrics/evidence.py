"""Evidence access: whether what was received reaches the annotated windows (spec 5.6, paper 4.3).

Windows and received spans are arrays [n, 2] of start and end, s on the recording clock. Two spans
overlap where they share more than an instant; spans that only touch do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geb_assets.errors import GebError

FINEST = "30sec"
"""The one scale of captions that counts; coarser ones reach nearly everything."""


class ReceivedUnit(Protocol):
    """One unit that a search returned."""

    @property
    def kind(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def start_s(self) -> float: ...
    @property
    def end_s(self) -> float: ...
    @property
    def scale(self) -> str | None: ...


def received_spans(
    units: Sequence[ReceivedUnit], contexts: Mapping[str, tuple[float, float]]
) -> NDArray[np.float64]:
    """The spans [n, 2] that count: 30-second episodes, and observations by their context window.

    ``contexts`` gives each described observation's context window, start and end in s; an
    observation that is not in it was not described and does not count. Clips carry no text and
    coarser episodes are left out (paper, Appendix C).
    """
    spans = [
        (unit.start_s, unit.end_s) if unit.kind == "episode" else contexts[unit.id]
        for unit in units
        if (unit.kind == "episode" and unit.scale == FINEST)
        or (unit.kind == "observation" and unit.id in contexts)
    ]
    return as_spans(spans)


def reached(windows: ArrayLike, received: ArrayLike) -> NDArray[np.bool_]:
    """For each window whether a received span overlaps it: bool [n]."""
    w, r = as_spans(windows), as_spans(received)
    shared = np.minimum(w[:, None, 1], r[None, :, 1]) - np.maximum(w[:, None, 0], r[None, :, 0])
    return np.asarray((shared > 0).any(axis=1))


def evidence_hit(windows: ArrayLike, received: ArrayLike) -> bool:
    """Whether any window was reached: the evidence hit of EgoLifeQA."""
    return bool(reached(windows, received).any())


def complete_coverage(windows: ArrayLike, received: ArrayLike) -> bool:
    """Whether every window was reached: `All` of MultiHop-EgoQA. Raises GebError without windows,
    of which every one would be reached."""
    found = reached(windows, received)
    if len(found) == 0:
        raise GebError("a question without evidence windows has no coverage; leave it out")
    return bool(found.all())


def union_seconds(received: ArrayLike, *, end_s: float | None = None) -> float:
    """Seconds that received spans cover together, each counted once, cut to [0, end_s]."""
    spans = as_spans(received)
    if end_s is not None:
        spans = np.clip(spans, 0.0, end_s)
    spans = spans[np.argsort(spans[:, 0], kind="stable")]
    reach = np.concatenate([[-np.inf], np.maximum.accumulate(spans[:, 1])[:-1]])[: len(spans)]
    return float(np.maximum(spans[:, 1] - np.maximum(spans[:, 0], reach), 0.0).sum())


def clip_fraction(received: ArrayLike, duration_s: float) -> float:
    """Union of received spans over the recording's duration: `Clip` of MultiHop-EgoQA."""
    return union_seconds(received, end_s=duration_s) / duration_s


def after_each_round(
    windows: ArrayLike, rounds: Sequence[ArrayLike], count: int, *, complete: bool
) -> NDArray[np.bool_]:
    """Whether the evidence was reached after each of ``count`` rounds: bool [count].

    ``rounds`` holds what each search returned, read off the search log. A question that stopped
    early keeps its final value (paper, Table 13). ``complete`` asks for all windows, else for any.
    """
    found = np.zeros((count, len(as_spans(windows))), dtype=bool)
    for number, received in enumerate(rounds[:count]):
        found[number] = reached(windows, received)
    found = np.logical_or.accumulate(found, axis=0)
    return np.asarray(found.all(axis=1) if complete else found.any(axis=1))


def as_spans(spans: ArrayLike) -> NDArray[np.float64]:
    """The spans as float64 [n, 2]; raises GebError for other shapes and for unknown times."""
    array = np.asarray(spans, dtype=np.float64)
    if array.size == 0:
        return np.empty((0, 2))
    if array.ndim != 2 or array.shape[1] != 2 or np.isnan(array).any():
        raise GebError(f"spans of shape {array.shape} are no pairs of start and end in seconds")
    return array
