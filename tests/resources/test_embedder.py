from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from geb_assets.errors import GebError
from resources.appearance.mobilenetv2 import MobileNetV2
from resources.embedder import IdentityEmbedder, Subject, TextEmbedder
from resources.embedder.minilm import MiniLM
from resources.embedder.pooled import PooledIdentity
from resources.images import Image

TEXTS = [
    "a red refrigerator in the kitchen",
    "the fridge is red",
    "a dog runs over the grass",
    "",
    "she pours milk into the white cup that stands beside the coffee maker " * 40,
    "a red refrigerator in the kitchen",
]


@pytest.fixture(params=[MiniLM])
def text_embedder(request: pytest.FixtureRequest, models: Path) -> TextEmbedder:
    made: TextEmbedder = request.param(models)
    return made


def test_texts_become_unit_rows_in_order(text_embedder: TextEmbedder) -> None:
    rows = text_embedder.embed(TEXTS)
    assert rows.shape == (len(TEXTS), text_embedder.dimension)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(rows[0], rows[5])
    assert text_embedder.embed([]).shape == (0, text_embedder.dimension)


def test_a_text_does_not_depend_on_its_neighbours(text_embedder: TextEmbedder) -> None:
    together = text_embedder.embed(TEXTS)
    alone = np.concatenate([text_embedder.embed([text]) for text in TEXTS])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(together[::-1], text_embedder.embed(TEXTS[::-1]))


def test_meaning_is_near(text_embedder: TextEmbedder) -> None:
    rows = text_embedder.embed(TEXTS[:3])
    assert rows[0] @ rows[1] > 0.6 > rows[0] @ rows[2]


def test_text_past_the_token_limit_is_cut(models: Path) -> None:
    word = "cup "
    long, longer = MiniLM(models).embed([word * 300, word * 600])
    np.testing.assert_array_equal(long, longer)


@pytest.fixture(params=[0.0, 0.7, 1.0])
def identity_embedder(request: pytest.FixtureRequest, models: Path) -> IdentityEmbedder:
    return PooledIdentity(MobileNetV2(models), MiniLM(models), picture_weight=request.param)


@pytest.fixture
def subjects(picture: Callable[[str], Image]) -> list[Subject]:
    cat, cup = picture("chelsea.png"), picture("coffee.png")
    return [
        Subject((cat[30:280, 100:330], cat[20:290, 80:320]), "cat. a tabby cat"),
        Subject((cup[50:350, 150:450],), "cup. a cup of coffee"),
        Subject((cat[40:270, 110:340],), "cat. a tabby cat looks up"),
    ]


def test_subjects_become_unit_rows(
    identity_embedder: IdentityEmbedder, subjects: list[Subject]
) -> None:
    rows = identity_embedder.embed(subjects)
    assert rows.shape == (3, identity_embedder.dimension)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert rows[0] @ rows[2] > max(rows[0] @ rows[1], rows[1] @ rows[2])
    alone = np.concatenate([identity_embedder.embed([subject]) for subject in subjects])
    np.testing.assert_array_equal(rows, alone)
    assert identity_embedder.embed([]).shape == (0, identity_embedder.dimension)


def test_a_subject_needs_a_crop(
    identity_embedder: IdentityEmbedder, subjects: list[Subject]
) -> None:
    with pytest.raises(GebError, match="subject 1 has no crops"):
        identity_embedder.embed([subjects[0], Subject((), "cup")])


def test_the_cosine_is_the_weighted_sum(models: Path, subjects: list[Subject]) -> None:
    picture, text, both = (
        PooledIdentity(MobileNetV2(models), MiniLM(models), picture_weight=w).embed(subjects)
        for w in (1.0, 0.0, 0.7)
    )
    np.testing.assert_allclose(
        both @ both.T, 0.7 * picture @ picture.T + 0.3 * text @ text.T, atol=1e-5
    )


def test_the_weight_is_a_share(models: Path) -> None:
    with pytest.raises(GebError, match="picture_weight"):
        PooledIdentity(MobileNetV2(models), MiniLM(models), picture_weight=1.2)
