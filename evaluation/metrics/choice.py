"""Which option a reply chose, strictly or as MAGIC-Video's released script reads it (spec 5.1).

Strict never takes the article of "A mug" for an answer, sees through bold and boxed letters, and
gives None where the reply does not decide. The released mode keeps that script's results, its
mistakes among them, so that a published number can be compared like with like.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Literal

from geb_assets.errors import GebError

Mode = Literal["strict", "released"]


def parse_choice(text: str, options: Mapping[str, str], *, mode: Mode = "strict") -> str | None:
    """The letter that a reply chose, or None.

    ``options``: letter to text, e.g. {"A": "Tasha", "B": "Alice"}. Strict, in this order: the
    whole reply is a letter, an option's text, both, or JSON with one; the last thing that it
    declares ("The answer is C", "I choose (B)", "D is correct"); a letter with a delimiter in
    front ("C. because"); the only letter in bold, in a box or in <answer>; a letter alone on its
    last line. ``released`` knows the letters A to D only.
    Raises GebError for options that are not single capital letters.
    """
    if mode == "released":
        return _released_letter(text)
    if not options or not all(re.fullmatch("[A-Z]", letter) for letter in options):
        raise GebError(f"options {list(options)} are no letters; give them as A, B, C, ...")
    reply = unicodedata.normalize("NFKC", text.rpartition("</think>")[2]).strip()
    return (
        _whole(reply, options)
        or _declared(reply, options)
        or _leading(reply, options)
        or _marked(reply, options)
        or _last_line(reply, options)
    )


def is_correct(text: str, gold: str, options: Mapping[str, str], *, mode: Mode = "strict") -> bool:
    """Whether a reply chose the gold letter.

    ``released`` also accepts the gold option's text, alone or behind its letter, even where a
    second option has the same text. Raises GebError where gold is none of the options.
    """
    if gold not in options:
        raise GebError(f"gold answer '{gold}' is none of the options {', '.join(options)}")
    if mode == "strict":
        return parse_choice(text, options) == gold
    said = _released_text(text)
    accepted = (options[gold], f"{gold}. {options[gold]}", f"({gold}) {options[gold]}")
    return _released_letter(text) == gold or said in {_released_text(own) for own in accepted}


# --- strict ------------------------------------------------------------------------------------

_MARKUP = r"[*_`\"'“”‘’$#\s]*"


def _letters(options: Mapping[str, str]) -> str:
    return "".join(sorted(options))


def _bare(text: str) -> str:
    """Text as it is compared: case, surrounding marks and repeated spaces put aside."""
    return re.sub(r"\s+", " ", text).strip(" \t\n*_`\"'“”‘’$#.,;:!()[]{}").casefold()


def _lone_letter(text: str, options: Mapping[str, str]) -> str | None:
    """The letter of a text that is nothing else: C, c, (C), **C**, "C.", \\boxed{C}, Option C."""
    inner = re.sub(r"\\(?:boxed|text|textbf|mathrm)\b", "", text)
    letter = re.sub(r"^(?:option|choice|answer)\b[\s:]*", "", _bare(inner)).strip(" ()[]{}*.:")
    return letter.upper() if len(letter) == 1 and letter.upper() in options else None


def _named(text: str, options: Mapping[str, str]) -> str | None:
    """The letter of an option's text, alone or behind its letter; None where two share it."""
    said = _bare(text)
    plain = [letter for letter, own in options.items() if said and said == _bare(own)]
    if plain:
        return plain[0] if len(plain) == 1 else None
    split = re.fullmatch(r"([a-z])\s*[.):,\-–—\]]*\s*(.+)", said, re.DOTALL)
    if split is None or (letter := split[1].upper()) not in options:
        return None
    return letter if _bare(split[2]) == _bare(options[letter]) else None


def _whole(reply: str, options: Mapping[str, str]) -> str | None:
    return _lone_letter(reply, options) or _named(reply, options) or _from_json(reply, options)


def _from_json(reply: str, options: Mapping[str, str]) -> str | None:
    """The letter under "answer" or "choice" of a JSON object, which may stand in a code fence."""
    fenced = re.sub(r"^```\w*", "", reply).removesuffix("```").strip()
    if not fenced.startswith("{"):
        return None
    try:
        given: Any = json.loads(fenced)
    except ValueError:
        return None
    said = {str(key).casefold(): value for key, value in given.items()}
    for key in ("answer", "final_answer", "choice", "option", "letter"):
        if isinstance(value := said.get(key), str):
            return _lone_letter(value, options) or _named(value, options)
    return None


def _declared(reply: str, options: Mapping[str, str]) -> str | None:
    """The letter that the reply last declares its answer."""
    plain = _unmarked(reply)
    letters = _letters(options)
    # A capital letter, unless it is the article ("the answer is A mug"); a small one only where
    # nothing but a mark follows ("answer: b").
    letter = (
        rf"(?i:(?:option|choice|letter) )?(?P<letter>[{letters}](?!\w|['’]\w)(?!(?<=A) [a-z])"
        rf"|[{letters.lower()}](?=\W{{0,3}}(?:$|\n)))"
    )
    patterns = (
        rf"(?i:\banswer ?(?:is\b|(?:would|should|must) be\b|[:=]))\s?[:=]?\s?{letter}",
        rf"(?i:\b(?:correct|best|right) (?:option|choice) ?(?:is\b|[:=])) ?[:=]?\s?{letter}",
        r"(?i:\bI(?: would| will|['’]d|['’]ll)? (?:choose|chose|pick|select|go with)) ?:? ?"
        + letter,
        rf"\b(?P<letter>[{letters}])\.? "
        r"(?i:is (?:the )?(?:correct|best|right|most supported|most likely)\b)",
    )
    found = [
        (match.start("letter"), match["letter"].upper())
        for pattern in patterns
        for match in re.finditer(pattern, plain)
        if not _NEGATED.search(plain[max(0, match.start() - 40) : match.start()])
    ]
    return max(found)[1] if found else None


_NEGATED = re.compile(r"(?i:\b(?:not|never|neither|nor|cannot|\w+n['’]t) (?:\w+ )?)$")


def _unmarked(reply: str) -> str:
    """The reply without marks and boxes, its spaces single; a letter in marks gets a full stop."""
    plain = re.sub(r"\\(?:boxed|textbf|text|mathrm)\b|</?answer>", "", reply)
    plain = re.sub(
        r"(?:\*\*|[(\[{\"“'‘`])([A-Z])(?:\*\*|[)\]}\"”'’`])|\b([A-Z])\)", r" \1\2. ", plain
    )
    plain = re.sub(r"[*_`\"“”‘$#{}()\[\]]|(?<!\w)['’]|['’](?!\w)", " ", plain)
    plain = re.sub(r"[^\S\n]+", " ", plain)
    return re.sub(r" ?\n[ \n]*", "\n", plain)


def _leading(reply: str, options: Mapping[str, str]) -> str | None:
    """A capital letter in front, closed by a delimiter or by the end of its line."""
    found = re.match(
        rf"{_MARKUP}[(\[]?([{_letters(options)}])(?:{_MARKUP}[.):\]]|,(?!\s*(?:(?:and|or)\s+)?[A-Z]\b)"
        r"|\s+[-–—]\s|[*_` \t]*\n)",
        reply,
    )
    return found[1] if found else None


def _marked(reply: str, options: Mapping[str, str]) -> str | None:
    """The only letter that is in bold, in a box or in <answer> tags."""
    letters = _letters(options)
    body = rf"\s*\(?([{letters}])(?:[.):][^*<}}\n]*)?\)?\s*"
    found = {
        letter.upper()
        for pattern in (
            rf"\*\*{body}\*\*",
            rf"\\boxed\{{(?:\\text\{{)?{body}\}}",
            rf"<answer>{body}</answer>",
        )
        for letter in re.findall(pattern, reply)
    }
    return found.pop() if len(found) == 1 else None


def _last_line(reply: str, options: Mapping[str, str]) -> str | None:
    lines = [line for line in reply.splitlines() if line.strip()]
    return _lone_letter(lines[-1], options) if lines else None


# --- as released -------------------------------------------------------------------------------

_RELEASED = (
    re.compile(r'"answer"\s*:\s*"([a-d])"', re.IGNORECASE),
    re.compile(r"answer\s+is\s*:?\s*\(?([a-d])", re.IGNORECASE),
    re.compile(r"answer\s*:\s*\(?([a-d])", re.IGNORECASE),
    re.compile(r"I\s+(?:would\s+)?(?:choose|pick|select|go\s+with)\s+\(?([a-d])", re.IGNORECASE),
    re.compile(r"\b([a-d])\s+is\s+(?:the\s+)?(?:correct|best|most\s+supported)\b", re.IGNORECASE),
)
_LAST_PART = 0.8


def _released_letter(text: str) -> str | None:
    reply = text.strip()
    if found := re.match(r"\(?([A-Da-d])(?:[.):,]|\s|$)", reply):
        return found[1].upper()
    for pattern in _RELEASED:
        if found := pattern.search(reply):
            return found[1].upper()
    begin = int(len(reply) * _LAST_PART)
    words = [m for m in re.finditer(r"\b[A-Da-d]\b", reply) if m.start() >= begin]
    return words[-1][0].upper() if words else None


def _released_text(text: str) -> str:
    return text.lower().strip().rstrip(".,)")
