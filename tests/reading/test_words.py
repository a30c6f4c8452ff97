"""Words in a comparable form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geb_assets.reading.words import content_words, stem


@pytest.mark.parametrize(
    "forms",
    [
        ("screw", "screws", "screwed", "screwing"),
        ("drink", "drank", "drunk", "drinking", "drinks"),
        ("put", "putting"),
        ("carry", "carries", "carried"),
        ("make", "made", "making", "makes"),
        ("Alice", "Alice's", "alice"),
        ("bike", "bikes"),
    ],
)
def test_forms_of_one_word(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


def test_content_words() -> None:
    assert content_words("Who was the FIRST to drink from Alice’s cup, the cup?") == [
        "drink",
        "alic",
        "cup",
    ]
    assert content_words("") == []


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    found = content_words(text)
    assert len(found) == len(set(found))
