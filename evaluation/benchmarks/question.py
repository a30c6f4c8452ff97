"""One benchmark question, how question files are read, and the plain count of what was read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from geb_assets.errors import GebError

Spans: TypeAlias = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Question:
    """One question with its gold answer and the evidence that its annotators marked."""

    id: str
    question: str
    choices: Mapping[str, str]
    """Letter to text; empty for an open-ended question."""
    answer: str
    """The gold letter, or the reference answer of an open-ended question."""
    at: float | None
    """When it is asked, s on the recording clock; None: the whole recording is visible."""
    type: str = ""
    recording: str = ""
    """The video that it is about, where the benchmark has several."""
    evidence: Spans = ()
    """Marked spans, s on the recording clock; an instant has equal ends. MultiHop-EgoQA's are
    inclusive whole seconds."""
    all_or_nothing: bool = False
    """Graded without partial credit."""
    oddities: tuple[str, ...] = ()
    """What the file has unlike the others, each in a few words."""


Asked = TypeVar("Asked", bound=Question)


@dataclass(frozen=True)
class Survey:
    """The plain count of what a question file holds."""

    questions: int
    types: Mapping[str, int]
    with_window: int
    windows: int
    oddities: Mapping[str, tuple[str, ...]]
    """Each oddity with the ids of its questions."""

    def lines(self) -> list[str]:
        """The count in plain sentences, one a line."""
        kinds = ", ".join(f"{kind} {count}" for kind, count in self.types.items())
        return [
            f"{self.questions} questions" + (f": {kinds}" if kinds else ""),
            f"{self.with_window} with an evidence window, {self.windows} windows in all",
            *(
                f"{text}: {len(ids)} ({', '.join(ids[:12])}{', ...' if len(ids) > 12 else ''})"
                for text, ids in self.oddities.items()
            ),
        ]


def survey(
    questions: Sequence[Question], windows: Sequence[Sequence[tuple[float, float]]]
) -> Survey:
    """The count over questions and each question's evidence windows."""
    oddities: dict[str, list[str]] = {}
    for question in questions:
        for text in question.oddities:
            oddities.setdefault(text, []).append(question.id)
    if bare := [q.id for q, found in zip(questions, windows, strict=True) if not found]:
        oddities["no evidence window"] = bare
    return Survey(
        questions=len(questions),
        types=dict(sorted(Counter(q.type for q in questions if q.type).items())),
        with_window=sum(bool(found) for found in windows),
        windows=sum(len(found) for found in windows),
        oddities={text: tuple(ids) for text, ids in oddities.items()},
    )


def type_masks(questions: Sequence[Question]) -> dict[str, NDArray[np.bool_]]:
    """The slices `all` and one a type: name to bool [N]."""
    kinds = np.array([question.type for question in questions], dtype=object)
    masks = {"all": np.ones(len(questions), dtype=bool)}
    return masks | {str(kind): kinds == kind for kind in sorted(set(kinds)) if kind}


def outside(questions: Sequence[Question], start_s: float, end_s: float) -> tuple[str, ...]:
    """Ids of the questions that cannot be of a recording from start_s to end_s: asked before it
    begins, or with evidence that lies wholly before or behind it."""
    return tuple(
        question.id
        for question in questions
        if (question.at is not None and question.at < start_s)
        or any(end < start_s or start > end_s for start, end in question.evidence)
    )


def read_json(path: Path) -> Any:
    """The file's content; raises GebError where it is missing, cut off or not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise GebError(f"{path} does not exist; download the benchmark and give its path") from None
    except (OSError, UnicodeDecodeError) as error:
        raise GebError(f"{path} cannot be read: {error}") from None
    except ValueError as error:
        raise GebError(f"{path} is not whole JSON ({error}); download it again") from None


def read_items(path: Path) -> list[dict[str, Any]]:
    """A question file's list of objects; raises GebError where it is something else or empty."""
    items = read_json(path)
    if not isinstance(items, list) or not items or not all(isinstance(i, dict) for i in items):
        raise GebError(f"{path} holds no list of questions; give the benchmark's released file")
    return items


@dataclass
class Faults:
    """Faults of a question file, gathered so that one message names the first and counts all."""

    file: Path
    found: list[str] = field(default_factory=list)

    @contextmanager
    def of(self, question: str) -> Iterator[None]:
        """Gathers a GebError raised while this question is read."""
        try:
            yield
        except GebError as error:
            self.found.append(f"question {question}: {error}")

    def stop(self) -> None:
        """Raises GebError where a fault was found: no question is dropped silently."""
        if self.found:
            more = (
                f" ({len(self.found) - 1} more faults like it or others)" if self.found[1:] else ""
            )
            raise GebError(f"{self.file.name} {self.found[0]}{more}")


def unique(ids: Sequence[str], faults: Faults) -> None:
    """Gathers a fault for each id that more than one question has."""
    for name, count in Counter(ids).items():
        if count > 1:
            with faults.of(name):
                raise GebError(f"{count} questions have this id; keep one of them")


def read_questions(
    path: str | Path, key: str, read: Callable[[dict[str, Any]], Asked]
) -> list[Asked]:
    """The questions of a file that is one list, in its order, each read by ``read``.

    Raises GebError naming the file and the question, by its field ``key``, for what ``read``
    refuses, and for an id used twice.
    """
    file = Path(path)
    faults = Faults(file)
    questions: list[Asked] = []
    for place, item in enumerate(read_items(file), 1):
        with faults.of(str(item.get(key, f"at place {place}"))):
            questions.append(read(item))
    unique([question.id for question in questions], faults)
    faults.stop()
    return questions


def text_of(item: Mapping[str, Any], key: str) -> str:
    """A text field; raises GebError where it is missing or empty."""
    value = item.get(key)
    if not isinstance(value, str) or not value.strip():
        raise GebError(f"field '{key}' is missing or empty; take it from the released file")
    return value.strip()


def pairs_of(value: object, what: str) -> Spans:
    """A list of [start, end] pairs in seconds as spans; raises GebError for anything else."""
    if not isinstance(value, list) or not all(
        isinstance(pair, list)
        and len(pair) == 2
        and all(isinstance(t, int | float) and not isinstance(t, bool) and t >= 0 for t in pair)
        for pair in value
    ):
        raise GebError(f"{what} {value!r:.60} is no list of [start, end] in seconds")
    return tuple((float(start), float(end)) for start, end in value)
