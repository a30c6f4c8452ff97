"""A question as it is put to a memory, checked once, and what its wording asks for."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from geb_assets.clock import Clock
from geb_assets.errors import GebError
from geb_assets.reading.readout import parse_readout
from geb_assets.reading.times import When, named_times

LONGEST = 10_000
"""Most characters of a question or a choice."""

Asks = Literal["who", "where", "when", "how many", "why", "whether", "what"]
Order = Literal["first", "last", "before", "after", "none"]

_ASKS: tuple[tuple[Asks, str], ...] = (
    ("how many", r"how (?:many|much|often)|how many times|number of"),
    ("who", r"who|whom|whose|which (?:person|people|of us|friend)"),
    ("where", r"where|(?:in|on|at) (?:which|what) (?:room|place|floor)"),
    ("when", r"when(?! i\b| we\b| he\b| she\b| they\b)|what time|how long ago|(?:on )?which day"),
    ("why", r"why|what for|for what reason"),
    ("what", r"what|which|how"),
)
_OPENS_WHETHER = re.compile(
    r"(?:is|are|was|were|did|does|do|has|have|had|could|can|will|would)\b", re.I
)
_ORDERS: tuple[tuple[Order, str], ...] = (
    ("first", r"first|earliest|initially|originally|the first time|at the beginning"),
    ("last", r"last|latest|lately|recent|recently|most recently|just now|just|previous time"),
    ("before", r"before|earlier|previously|prior to|used to|ago|already"),
    ("after", r"after|afterwards|then|next|following|later|since"),
)


def require_text(written: str, what: str) -> None:
    """Raises GebError where bytes that are no UTF-8 stand in what a terminal handed over."""
    try:
        written.encode()
    except UnicodeEncodeError:
        raise GebError(f"{what} holds bytes that are no UTF-8 text; type it again") from None


@dataclass(frozen=True)
class Question:
    """A question asked of a memory at a time (None: of all of it)."""

    text: str
    clock: Clock
    at: float | None = None
    choices: tuple[str, ...] = ()
    evidence_in: tuple[float, float] | None = None
    """The stretch of the recording clock, s, in which the answer has to name the seconds that it
    rests on; None: no times are wanted."""

    @classmethod
    def of(
        cls,
        text: str,
        *,
        clock: Clock,
        at: float | None = None,
        choices: Sequence[str] = (),
        evidence_in: tuple[float, float] | None = None,
    ) -> Question:
        """Raises GebError for an empty question, one of over 10,000 characters or of bytes that
        are no text, one choice, an empty choice, or more choices than there are letters."""
        if not text.strip():
            raise GebError("the question is empty; write what you want to know")
        for written in (text, *choices):
            require_text(written, "the question or a choice")
            if len(written) > LONGEST:
                raise GebError(
                    f"a question or choice of {len(written):,} characters is too long; "
                    f"write at most {LONGEST:,}"
                )
        if len(choices) == 1:
            raise GebError("one choice is no choice; give at least two, or none")
        if len(choices) > len(string.ascii_uppercase):
            raise GebError(f"{len(choices)} choices are too many; give at most 26")
        if any(not choice.strip() for choice in choices):
            raise GebError("a choice is empty; write each of them out")
        told = tuple(" ".join(choice.split()) for choice in choices)
        return cls(" ".join(text.split()), clock, at, told, evidence_in)

    @property
    def letters(self) -> tuple[str, ...]:
        return tuple(string.ascii_uppercase[: len(self.choices)])

    @property
    def with_choices(self) -> str:
        """The question and its choices as one text."""
        return " ".join((self.text, *self.choices))

    def whens(self, *, now: float) -> list[When]:
        """The times that its text names; ``now`` is the moment, s, of a question without one."""
        at = now if self.at is None else self.at
        written = parse_readout(self.text, clock=self.clock)
        spoken = named_times(self.text, clock=self.clock, at=at)
        return [*spoken, When(*written)] if written else spoken

    @property
    def asks(self) -> Asks:
        """What kind of thing the answer is: the first asking word, read from the left."""
        if _OPENS_WHETHER.match(self.text):
            return "whether"
        found = [
            (match.start(), rank, asks)
            for rank, (asks, form) in enumerate(_ASKS)
            if (match := re.search(rf"\b(?:{form})\b", self.text, re.IGNORECASE))
        ]
        return min(found)[2] if found else "what"

    @property
    def order(self) -> Order:
        """Which occurrence the question is about, as far as its words say."""
        for order, form in _ORDERS:
            if re.search(rf"\b(?:{form})\b", self.text, re.IGNORECASE):
                return order
        return "none"
