"""Choices: the strict parser on what models write, the released one against its rules."""

from __future__ import annotations

import random
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.metrics.choice import is_correct, parse_choice
from geb_assets.errors import GebError

OPTIONS = {"A": "Tasha", "B": "Alice", "C": "The red mug", "D": "A mug"}


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("B", "B"),
        ("b", "B"),
        (" (c) ", "C"),
        ("C.", "C"),
        ("**B**", "B"),
        ("\\boxed{D}", "D"),
        ("The answer is $\\boxed{C}$", "C"),
        ("Ｃ", "C"),
        ("Option C", "C"),
        ("alice", "B"),
        ("Alice.", "B"),
        ("A mug", "D"),
        ("A Tasha", "A"),
        ("C) The red mug", "C"),
        ("A person held it. The answer is C", "C"),
        ("Answer: C", "C"),
        ("answer: (b)", "B"),
        ("**Answer: C**", "C"),
        ("Answer:\nC", "C"),
        ("Final answer: **C**", "C"),
        ("Answer is 'C'", "C"),
        ("The correct option is (C)", "C"),
        ("The answer is (A) Tasha", "A"),
        ("<answer>C</answer>", "C"),
        ('{"answer": "C", "why": "seen"}', "C"),
        ('```json\n{"answer": "Alice"}\n```', "B"),
        ("I'd go with option B because she held it", "B"),
        ("B is correct", "B"),
        ("A is the best option", "A"),
        ("At first the answer is A. Then, final answer: C", "C"),
        ("I didn't choose B; I chose C", "C"),
        ("<think>the answer is A</think>\nB", "B"),
        ("C, because he said so", "C"),
        ("D - it was hers", "D"),
        ("A\nbecause she was there", "A"),
        ("She was there.\n\nC", "C"),
        ("Reasoning.\n**C. The red mug**", "C"),
        # What does not decide.
        ("", None),
        ("A cup was there", None),
        ("A cup", None),
        ("The answer is a cup", None),
        ("the answer is A cup", None),
        ("I choose A cup", None),
        ("The answer is not C", None),
        ("The answer isn't B", None),
        ("I would not choose B", None),
        ("B is not correct", None),
        ("A, B and C are wrong", None),
        ("**A** or **B**", None),
        ("The answer is C's", None),
        ("E", None),
        ("答案", None),
    ],
)
def test_strict(reply: str, letter: str | None) -> None:
    assert parse_choice(reply, OPTIONS) == letter


@pytest.mark.parametrize("letter", "ABCD")
@pytest.mark.parametrize(
    "form",
    ["{}", "({})", "{}.", "**{}**", "\\boxed{{{}}}", "Answer: {}", "The answer is {}.", "`{}`"],
)
@given(filler=st.text(string.ascii_lowercase + " ,\n", max_size=30))
def test_declared_letters_survive_what_stands_before(form: str, letter: str, filler: str) -> None:
    declared = form.format(letter)
    if "nswer" in declared:
        declared = f"A person {filler} here. {declared}"
    assert parse_choice(declared, OPTIONS) == letter


@given(st.text(string.ascii_lowercase + " ,.", min_size=2, max_size=60))
def test_the_article_is_never_an_answer(rest: str) -> None:
    assert parse_choice(f"A z{rest}", {"A": "one", "B": "two"}) is None


@given(st.text(max_size=200))
def test_any_text_is_read(reply: str) -> None:
    for mode in ("strict", "released"):
        assert parse_choice(reply, OPTIONS, mode=mode) in {*OPTIONS, None}  # type: ignore[arg-type]


def test_two_options_of_one_text() -> None:
    """The text alone does not decide strictly; the released script takes it for the gold one."""
    options = {"A": "Nicous", "B": "Choiszt", "C": "Choiszt"}
    assert parse_choice("Choiszt", options) is None
    assert not is_correct("Choiszt", "C", options)
    assert is_correct("Choiszt", "C", options, mode="released")
    assert is_correct("C. Choiszt", "C", options) and not is_correct("B. Choiszt", "C", options)


def test_bad_options() -> None:
    with pytest.raises(GebError, match="no letters"):
        parse_choice("a", {"a": "one"})
    with pytest.raises(GebError, match="none of the options"):
        is_correct("A", "E", OPTIONS)


def test_long_replies_are_read_quickly() -> None:
    for unit in ("answer:" + " " * 1000, "** ", "x\n", "answer is ", "'", "\\boxed{", "n't "):
        start = time.process_time()
        parse_choice((unit * 50_000)[:50_000], OPTIONS)
        assert time.process_time() - start < 2.0, unit


# --- the released script's rules, read letter by letter ----------------------------------------


def word(character: str) -> bool:
    return character.isalnum() or character == "_"


def skip_spaces(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def letter_at(text: str, at: int) -> str | None:
    """A letter a to d at a place, an opening bracket before it allowed."""
    at += text[at : at + 1] == "("
    found = text[at : at + 1].lower()
    return found.upper() if found and found in "abcd" else None


def after_words(text: str, at: int, *words: str) -> int | None:
    """The place behind words that stand one after the other, spaces between them."""
    for number, each in enumerate(words):
        if number:
            spaced = skip_spaces(text, at)
            if spaced == at:
                return None
            at = spaced
        if text[at : at + len(each)].lower() != each:
            return None
        at += len(each)
    return at


def plain_released(text: str) -> str | None:
    text = text.strip()
    if found := letter_at(text, 0):
        behind = text[1 + (text[0] == "(") :][:1]
        if behind == "" or behind in ".):," or behind.isspace():
            return found
    for begin in range(len(text)):
        if text[begin : begin + 8].lower() == '"answer"':
            at = skip_spaces(text, begin + 8)
            if text[at : at + 1] == ":":
                at = skip_spaces(text, at + 1)
                if text[at : at + 1] == '"' and text[at + 2 : at + 3] == '"':
                    inner = text[at + 1].lower()
                    if inner in "abcd":
                        return inner.upper()
    for begin in range(len(text)):
        at = after_words(text, begin, "answer", "is")
        if at is not None:
            at = skip_spaces(text, at)
            at = skip_spaces(text, at + 1) if text[at : at + 1] == ":" else at
            if found := letter_at(text, at):
                return found
    for begin in range(len(text)):
        at = after_words(text, begin, "answer")
        if at is not None:
            at = skip_spaces(text, at)
            if text[at : at + 1] == ":" and (found := letter_at(text, skip_spaces(text, at + 1))):
                return found
    for begin in range(len(text)):
        for words in (
            [subject, *would, *verb]
            for subject in ("i",)
            for would in ([], ["would"])
            for verb in (["choose"], ["pick"], ["select"], ["go", "with"])
        ):
            at = after_words(text, begin, *words)
            spaced = at if at is None else skip_spaces(text, at)
            if at is not None and spaced > at and (found := letter_at(text, spaced)):
                return found
    for begin, character in enumerate(text):
        if character.lower() in "abcd" and (begin == 0 or not word(text[begin - 1])):
            for words in (
                [*the, *kind]
                for the in ([], ["the"])
                for kind in (["correct"], ["best"], ["most", "supported"])
            ):
                at = after_words(text, begin, character.lower(), "is", *words)
                if at is not None and not (at < len(text) and word(text[at])):
                    return character.upper()
    for begin in range(len(text) - 1, int(len(text) * 0.8) - 1, -1):
        alone = (begin == 0 or not word(text[begin - 1])) and (
            begin + 1 == len(text) or not word(text[begin + 1])
        )
        if text[begin].lower() in "abcd" and alone:
            return text[begin].upper()
    return None


PIECES = (
    *"ABCDabcdE",
    *" ().:,*\n",
    "A ",
    "b ",
    "The answer is ",
    "answer:",
    "answer is: ",
    '"answer": "',
    '"',
    "I choose ",
    "I would go with ",
    "I pick ",
    " is the best",
    " is correct",
    "is most supported",
    "mug ",
    "person held it. ",
    "because ",
)


def test_released_equals_its_rules_on_thousands() -> None:
    draw = random.Random(3)
    seen = set()
    for _ in range(4000):
        reply = "".join(draw.choices(PIECES, k=draw.randint(0, 8)))
        expected = plain_released(reply)
        seen.add(expected)
        assert parse_choice(reply, OPTIONS, mode="released") == expected, repr(reply)
    assert seen == {None, *"ABCD"}


@pytest.mark.parametrize(
    ("reply", "letter"),
    [("A person held it. The answer is C", "A"), ("A mug", "A"), ("**B**", None)],
)
def test_released_keeps_its_mistakes(reply: str, letter: str | None) -> None:
    assert parse_choice(reply, OPTIONS, mode="released") == letter


@pytest.mark.parametrize("reply", ["alice", " Alice. ", "B. Alice", "(B) Alice)", "B", "answer: b"])
def test_released_scores_text_and_letter(reply: str) -> None:
    assert is_correct(reply, "B", OPTIONS, mode="released")
    assert not is_correct(reply, "C", OPTIONS, mode="released")
