"""A shorter text out of several, by choosing sentences; no model, and nothing outside the texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log, sqrt

_WORD = re.compile(r"\w+")
_END = re.compile(r"[.!?…][\"”’')]*(?=\s)|[。！？][\"”’')]*")


def sentences(text: str) -> list[str]:
    """The sentences of a text, each with its end mark; a quotation is never cut."""
    parts, start = [], 0
    for end in (found.end() for found in _END.finditer(text)):
        if text.count('"', start, end) % 2 == 0:
            parts.append(text[start:end].strip())
            start = end
    return [part for part in (*parts, text[start:].strip()) if part]


def extract(texts: Sequence[str], words: int) -> str:
    """At most ``words`` words of ``texts``, as whole sentences in their order.

    Every text gets an equal share of the words still left, so that the choice is spread over the
    window; within its share the sentences with the rarest words per length win, the earlier one of
    a tie. Rarity is counted inside ``texts`` alone, so that nothing later shapes an earlier
    caption. Sentences that repeat an earlier one are left out. Everything is kept if it fits.
    """
    if sum(len(text.split()) for text in texts) <= words:
        return " ".join(texts)
    told: set[str] = set()
    parts: list[list[tuple[str, set[str]]]] = []
    for text in texts:
        fresh = []
        for sentence in sentences(text):
            terms = _WORD.findall(sentence.casefold())
            key = " ".join(terms)
            if terms and key not in told:
                told.add(key)
                fresh.append((sentence, set(terms)))
        parts.append(fresh)
    holding = Counter(term for part in parts for _, terms in part for term in terms)
    total = len(told)
    left, chosen = words, []
    for place, part in enumerate(parts):
        share = left // (len(parts) - place)
        taken = _best(part, share, holding, total)
        chosen += taken
        left -= sum(len(sentence.split()) for sentence in taken)
    # Only sentences longer than every share: begin the first text instead of saying nothing.
    return " ".join(chosen) if chosen else " ".join(" ".join(texts).split()[:words])


def _best(
    part: Sequence[tuple[str, set[str]]], share: int, holding: Counter[str], total: int
) -> list[str]:
    lengths = [len(sentence.split()) for sentence, _ in part]
    worth = [
        sum(log(total / holding[term]) for term in sorted(terms)) / sqrt(length)
        for (_, terms), length in zip(part, lengths, strict=True)
    ]
    kept: list[int] = []
    for index in sorted(range(len(part)), key=lambda index: (-worth[index], index)):
        if lengths[index] <= share:
            kept.append(index)
            share -= lengths[index]
    return [part[index][0] for index in sorted(kept)]
