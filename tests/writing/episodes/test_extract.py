from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from geb_assets.writing.episodes.extract import extract, sentences

TEXTS = st.lists(st.text(alphabet='abc .!?"\u3002', max_size=120), min_size=1, max_size=6)


@settings(deadline=None)
@given(TEXTS)
def test_no_character_of_a_sentence_is_lost(texts: list[str]) -> None:
    for text in texts:
        assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@settings(deadline=None)
@given(texts=TEXTS, words=st.integers(1, 40))
def test_the_budget_holds_and_everything_is_kept_that_fits(texts: list[str], words: int) -> None:
    made = extract(texts, words)
    total = sum(len(text.split()) for text in texts)
    assert len(made.split()) <= words
    if total <= words:
        assert made == " ".join(texts)
    elif any(any(map(str.isalnum, text)) for text in texts):
        assert made


def test_a_quotation_is_one_sentence() -> None:
    assert sentences('I nod. Jake: "Okay. Go!" He says, "3.5 m," loudly.') == [
        "I nod.",
        'Jake: "Okay. Go!"',
        'He says, "3.5 m," loudly.',
    ]


def test_the_rare_sentence_wins_and_every_part_is_heard() -> None:
    texts = ["I look at everyone. I drop the blue kettle.", "I look at everyone. Rain begins now."]
    assert extract(texts, 10) == "I drop the blue kettle. Rain begins now."


def test_one_sentence_longer_than_the_budget_is_cut() -> None:
    assert extract(["one two three four five"], 3) == "one two three"
