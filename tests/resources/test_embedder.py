from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geb_assets.errors import GebError
from resources.appearance.mobilenetv2 import MobileNetV2
from resources.embedder import Film, IdentityEmbedder, Subject, TextEmbedder
from resources.embedder.minilm import MiniLM
from resources.embedder.pooled import PooledIdentity
from resources.embedder.qwen3_text import Qwen3Text, Qwen3TextOptions
from resources.embedder.qwen3_vl import Qwen3VLClips, Qwen3VLIdentity, Qwen3VLOptions
from resources.images import Image
from resources.torch_models import batches
from tests.resources.tiny import Tiny

TEXTS = [
    "a red refrigerator in the kitchen",
    "the fridge is red",
    "a dog runs over the grass",
    "",
    "she pours milk into the white cup that stands beside the coffee maker " * 40,
    "a red refrigerator in the kitchen",
]


VISION = pytest.mark.vision
ON_CPU = {"device": "cpu", "precision": "float32"}


def qwen3(tiny: Tiny, **options: Any) -> Qwen3Text:
    return Qwen3Text(Qwen3TextOptions.model_validate({"model": tiny("qwen3"), **ON_CPU, **options}))


def vl_options(tiny: Tiny, **options: Any) -> Qwen3VLOptions:
    return Qwen3VLOptions.model_validate({"model": tiny("qwen3_vl"), **ON_CPU, **options})


def rounding(embedder: object) -> float:
    """Batches on torch differ in the last bits; the embedded profile's rows never do."""
    return 0.0 if isinstance(embedder, MiniLM | PooledIdentity) else 2e-5


@pytest.fixture(params=["minilm", pytest.param("qwen3", marks=VISION)])
def text_embedder(request: pytest.FixtureRequest, models: Path, tiny: Tiny) -> TextEmbedder:
    return MiniLM(models) if request.param == "minilm" else qwen3(tiny)


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
    atol = rounding(text_embedder)
    np.testing.assert_allclose(together, alone, rtol=0, atol=atol)
    np.testing.assert_allclose(together[::-1], text_embedder.embed(TEXTS[::-1]), rtol=0, atol=atol)


def test_meaning_is_near(models: Path) -> None:
    rows = MiniLM(models).embed(TEXTS[:3])
    assert rows[0] @ rows[1] > 0.6 > rows[0] @ rows[2]


def test_text_past_the_token_limit_is_cut(models: Path) -> None:
    word = "cup "
    long, longer = MiniLM(models).embed([word * 300, word * 600])
    np.testing.assert_array_equal(long, longer)


@pytest.fixture(params=[0.0, 0.7, 1.0, pytest.param("qwen3_vl", marks=VISION)])
def identity_embedder(request: pytest.FixtureRequest, models: Path, tiny: Tiny) -> IdentityEmbedder:
    if request.param == "qwen3_vl":
        return Qwen3VLIdentity(vl_options(tiny))
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
    if isinstance(identity_embedder, PooledIdentity):
        assert rows[0] @ rows[2] > max(rows[0] @ rows[1], rows[1] @ rows[2])
    alone = np.concatenate([identity_embedder.embed([subject]) for subject in subjects])
    np.testing.assert_allclose(rows, alone, rtol=0, atol=rounding(identity_embedder))
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


# ---- Batches ------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 50), max_size=30), st.integers(1, 120))
def test_a_batch_never_holds_more_than_it_may(sizes: list[int], most: int) -> None:
    made = batches(sizes, most)
    assert sorted(place for batch in made for place in batch) == list(range(len(sizes)))
    for batch in made:
        padded = max(sizes[place] for place in batch) * len(batch)
        assert padded <= most or len(batch) == 1


# ---- Qwen3-Embedding ----------------------------------------------------------------------------


@VISION
def test_a_text_s_row_is_its_last_token_s_state(tiny: Tiny) -> None:
    import torch
    from transformers import AutoTokenizer, Qwen3Model

    tokenizer = AutoTokenizer.from_pretrained(tiny("qwen3"))
    model = Qwen3Model.from_pretrained(tiny("qwen3"), dtype=torch.float32).eval()
    encoded = tokenizer(TEXTS[0], return_tensors="pt")
    assert encoded["input_ids"][0, -1] == tokenizer.convert_tokens_to_ids("<|endoftext|>")
    with torch.no_grad():
        state = model(**encoded).last_hidden_state[0, -1].numpy()
    row = qwen3(tiny).embed(TEXTS)[0]
    np.testing.assert_allclose(row, state / np.linalg.norm(state), atol=1e-5)


@VISION
def test_a_long_text_is_cut_and_a_vector_may_be(tiny: Tiny) -> None:
    cut, longer = qwen3(tiny, max_tokens=16).embed(["cup " * 60, "cup " * 90])
    np.testing.assert_allclose(cut, longer, atol=1e-6)
    whole, short = qwen3(tiny).embed(TEXTS), qwen3(tiny, dimension=32).embed(TEXTS)
    assert short.shape == (len(TEXTS), 32)
    kept = whole[:, :32] / np.linalg.norm(whole[:, :32], axis=1, keepdims=True)
    np.testing.assert_allclose(short, kept, atol=1e-5)


@VISION
def test_half_the_numbers_give_nearly_the_same_rows(tiny: Tiny) -> None:
    for precision in ("bfloat16", "float16"):
        rows = qwen3(tiny, precision=precision).embed(TEXTS[:3])
        assert rows.dtype == np.float32
        np.testing.assert_allclose(rows, qwen3(tiny).embed(TEXTS[:3]), atol=0.05)


class _Small(Qwen3Text):
    """A device that holds so many texts and no more, as torch itself would say it."""

    holds = 2

    def _rows(self, encoded: Any) -> Any:
        import torch

        if len(encoded) > self.holds:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return super()._rows(encoded)


@VISION
def test_out_of_memory_halves_the_batch_once_and_then_is_one_plain_line(tiny: Tiny) -> None:
    texts = TEXTS[:4]
    options = Qwen3TextOptions.model_validate({"model": tiny("qwen3"), **ON_CPU})
    small = _Small(options)
    np.testing.assert_allclose(small.embed(texts), qwen3(tiny).embed(texts), atol=2e-5)
    smaller = _Small(options)
    smaller.holds = 1
    with pytest.raises(GebError, match="text_embedder: out of memory with a batch of 2") as told:
        smaller.embed(texts)
    assert "lower text_embedder.batch_tokens with geb use" in str(told.value)
    assert _Small(options.model_copy(update={"batch_tokens": 1})).embed(texts).shape == (4, 64)


@VISION
@pytest.mark.parametrize(
    ("model", "line"),
    [
        ("no/such-model", "neither a folder with this model nor to be had from the hub"),
        ("clip", "is a clip model, and this adapter runs qwen3"),
    ],
)
def test_another_model_is_one_plain_line(model: str, line: str, tiny: Tiny) -> None:
    name = tiny("clip") if model == "clip" else model
    with pytest.raises(GebError, match=line) as told:
        qwen3(tiny, model=name).embed(["a cup"])
    assert "\n" not in str(told.value)


@VISION
def test_no_gpu_where_the_profile_asks_for_one(tiny: Tiny) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    with pytest.raises(GebError, match="text_embedder: asks for cuda, and torch sees no GPU"):
        qwen3(tiny, device="cuda").embed(["a cup"])


@VISION
def test_a_folder_is_known_by_its_content(tiny: Tiny, tmp_path: Path) -> None:
    copied = tmp_path / "model"
    shutil.copytree(tiny("qwen3"), copied)
    first = qwen3(tiny).identity
    assert len(first.digest) == 64
    assert qwen3(tiny, model=str(copied)).identity.digest == first.digest
    weights = bytearray((copied / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copied / "model.safetensors").write_bytes(weights)
    assert qwen3(tiny, model=str(copied)).identity.digest != first.digest


# ---- Qwen3-VL-Embedding -------------------------------------------------------------------------


@VISION
def test_identity_reads_pictures_and_text(tiny: Tiny, subjects: list[Subject]) -> None:
    embedder = Qwen3VLIdentity(vl_options(tiny))
    first = subjects[0]
    rows = embedder.embed(
        [
            first,
            Subject(first.crops, "another text"),
            Subject(first.crops[::-1], first.text),
            Subject((np.zeros((1, 300, 3), np.uint8), *first.crops), first.text),
        ]
    )
    apart = rows @ rows.T
    assert (apart[np.triu_indices(4, 1)] < 1 - 1e-6).all()


@VISION
def test_clips_and_queries_share_a_space(tiny: Tiny, subjects: list[Subject]) -> None:
    embedder = Qwen3VLClips(vl_options(tiny, dimension=32, batch_tokens=600))
    frame = subjects[0].crops[0]
    films = [Film((frame,) * 16, 0.5), Film((frame[::-1],) * 5, 1.0), Film((frame,), 1.0)]
    rows = embedder.embed_clips(films)
    alone = np.concatenate([embedder.embed_clips([film]) for film in films])
    np.testing.assert_allclose(rows, alone, atol=2e-5)
    queries = embedder.embed(["who drinks?", "where is the cup"])
    assert rows.shape == (3, 32)
    assert queries.shape == (2, 32)
    for found in (rows, queries):
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert embedder.embed([]).shape == embedder.embed_clips([]).shape == (0, 32)
    with pytest.raises(GebError, match="clip 1 has no frames"):
        embedder.embed_clips([films[0], Film((), 1.0)])


@VISION
def test_a_query_s_row_is_its_last_token_s_state(tiny: Tiny) -> None:
    import torch
    from transformers import Qwen3VLModel

    embedder = Qwen3VLClips(vl_options(tiny))
    encoded = embedder._encoded(
        "Retrieve images or text relevant to the user's query.",
        [{"type": "text", "text": "a red cup"}],
    )
    model = Qwen3VLModel.from_pretrained(tiny("qwen3_vl"), dtype=torch.float32).eval()
    with torch.no_grad():
        state = model(input_ids=encoded["input_ids"]).last_hidden_state[0, -1].numpy()
    row = embedder.embed(["a red cup", "she pours milk into the white cup"])[0]
    np.testing.assert_allclose(row, state / np.linalg.norm(state), atol=1e-5)


@VISION
def test_what_two_roles_run_is_loaded_once(tiny: Tiny) -> None:
    identity, clips = Qwen3VLIdentity(vl_options(tiny)), Qwen3VLClips(vl_options(tiny))
    assert identity._loaded[1] is clips._loaded[1]
    other = Qwen3VLClips(vl_options(tiny, precision="bfloat16"))
    assert other._loaded[1] is not clips._loaded[1]


@VISION
def test_the_prompt_is_the_model_s_own_with_the_instruction_first(tiny: Tiny) -> None:
    embedder = Qwen3VLClips(vl_options(tiny))
    processor, _ = embedder._loaded
    (ids,) = embedder._encoded("Represent it.", [{"type": "text", "text": "a cup"}])["input_ids"]
    assert processor.tokenizer.decode(ids) == (
        "<|im_start|>system\nRepresent it.<|im_end|>\n<|im_start|>user\na cup<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
