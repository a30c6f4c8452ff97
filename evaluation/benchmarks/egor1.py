"""Ego-R1-Bench: 25 human-written and 25 model-generated questions on A1's week (spec 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

from evaluation.benchmarks.egolifeqa import question_of
from evaluation.benchmarks.question import Faults, Question, read_items, unique

Split = Literal["manual", "gemini"]
SPLITS: tuple[Split, ...] = get_args(Split)


def load(
    folder: str | Path, *, participant: str = "A1_JAKE", splits: Sequence[Split] = SPLITS
) -> list[Question]:
    """The questions of the splits, in order: ``<folder>/<split>-benchmark/<participant>.json``.

    The two splits share ids, so ``id`` is ``manual/12``; of a question time "a-b" the later counts.
    Evidence windows are those of :func:`evaluation.benchmarks.egolifeqa.windows`.
    Raises GebError naming file and question for a missing file or a question that is not whole.
    """
    questions: list[Question] = []
    for split in splits:
        file = Path(folder) / f"{split}-benchmark" / f"{participant}.json"
        faults = Faults(file)
        read: list[Question] = []
        for place, item in enumerate(read_items(file), 1):
            with faults.of(f"{split}/{item.get('ID', f'at place {place}')}"):
                question = question_of(item)
                read.append(replace(question, id=f"{split}/{question.id}"))
        unique([question.id for question in read], faults)
        faults.stop()
        questions += read
    return questions


def split_of(question: Question) -> str:
    """The split that a question is of."""
    return question.id.partition("/")[0]
