from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from geb_assets.errors import GebError
from resources.appearance import Appearance
from resources.appearance.clip_dinov2 import ClipDino, ClipDinoOptions, clip_dino_score
from resources.appearance.legacy_pt import read_legacy_pt
from resources.appearance.mobilenetv2 import MobileNetV2
from resources.appearance.mobilenetv2_graph import DEVIATION, MEAN, fold, mobilenetv2
from resources.images import Image
from resources.packages import MOBILENETV2_WEIGHTS
from tests.resources.tiny import Tiny

VISION = pytest.mark.vision


def clip_dino(tiny: Tiny, **options: Any) -> ClipDino:
    own = {"clip": tiny("clip"), "dino": tiny("dinov2"), "device": "cpu", "precision": "float32"}
    return ClipDino(ClipDinoOptions.model_validate({**own, **options}))


@pytest.fixture(params=["mobilenetv2", pytest.param("clip_dinov2", marks=VISION)])
def appearance(request: pytest.FixtureRequest, models: Path, tiny: Tiny) -> Appearance:
    return MobileNetV2(models) if request.param == "mobilenetv2" else clip_dino(tiny)


@pytest.fixture
def trained(models: Path) -> Appearance:
    return MobileNetV2(models)


@pytest.fixture
def crops(picture: Callable[[str], Image]) -> list[Image]:
    """Two views of a cat, two of a motorcycle, one cup."""
    cat = picture("chelsea.png")
    return [
        cat[30:280, 100:330],
        np.asarray(cat[20:290, 80:320] * 0.7, np.uint8),
        picture("motorcycle_left.png")[50:450, 100:700],
        picture("motorcycle_right.png")[50:450, 60:660],
        picture("coffee.png")[50:350, 150:450],
    ]


def test_unit_rows_in_order(appearance: Appearance, crops: list[Image]) -> None:
    rows = appearance.embed(crops)
    assert rows.shape == (len(crops), appearance.dimension)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    # Batches on torch differ in the last bits.
    atol = 0 if isinstance(appearance, MobileNetV2) else 1e-5
    np.testing.assert_allclose(rows[::-1], appearance.embed(crops[::-1]), rtol=0, atol=atol)
    np.testing.assert_allclose(rows[2:3], appearance.embed(crops[2:3]), rtol=0, atol=atol)


def test_scores_are_symmetric_whatever_the_length(
    appearance: Appearance, crops: list[Image]
) -> None:
    rows = appearance.embed(crops)
    alike = appearance.similarity(rows * 3)
    np.testing.assert_allclose(alike, appearance.similarity(rows), atol=1e-5)
    assert alike.shape == (len(crops), len(crops))
    np.testing.assert_allclose(alike, alike.T, atol=1e-6)
    assert np.all(alike <= 1)


def test_same_subjects_are_more_alike(trained: Appearance, crops: list[Image]) -> None:
    alike = trained.similarity(trained.embed(crops))
    same = min(alike[0, 1], alike[2, 3])
    assert same > max(alike[0, 2:].max(), alike[1, 2:].max(), alike[2:4, 4].max())


def test_slivers_have_a_row(appearance: Appearance) -> None:
    rows = appearance.embed(
        [np.full(s, 90, np.uint8) for s in ((1, 1, 3), (2, 300, 3), (300, 1, 3))]
    )
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_light_and_size_matter_little(trained: Appearance, crops: list[Image]) -> None:
    dim, small = np.asarray(crops[0] * 0.6, np.uint8), cv2.resize(crops[0], (80, 87))
    rows = trained.embed([crops[0], dim, small])
    assert min(rows[0] @ rows[1], rows[0] @ rows[2]) > 0.85


def test_no_crops_and_empty_crops(appearance: Appearance) -> None:
    assert appearance.embed([]).shape == (0, appearance.dimension)
    with pytest.raises(GebError, match="crop 1"):
        appearance.embed([np.zeros((4, 4, 3), np.uint8), np.zeros((0, 9, 3), np.uint8)])


def test_rows_do_not_depend_on_the_workers(models: Path, crops: list[Image]) -> None:
    one, many = (MobileNetV2(models, workers=n).embed(crops) for n in (1, 4))
    np.testing.assert_array_equal(one, many)


# ---- CLIP and DINOv2 ----------------------------------------------------------------------------


@given(st.integers(1, 6), st.integers(0, 10_000))
def test_the_score_is_the_formula_of_the_paper(tracks: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    clip, dino = (rng.normal(size=(tracks, d)).astype(np.float32) for d in (5, 7))
    found = clip_dino_score(clip, dino)
    for a in range(tracks):
        for b in range(tracks):
            looks, shapes = (
                float(rows[a] @ rows[b] / np.linalg.norm(rows[a]) / np.linalg.norm(rows[b]))
                for rows in (clip, dino)
            )
            expected = 0.15 / (1 + math.exp(-20 * (looks - 0.925))) + 0.85 * shapes
            assert found[a, b] == pytest.approx(expected, abs=1e-4)


@VISION
def test_a_row_is_what_the_two_models_say(tiny: Tiny, crops: list[Image]) -> None:
    """Against transformers' own picture processor, at 224 pixels with the aspect given up."""
    import torch
    from transformers import CLIPImageProcessor, CLIPModel, Dinov2Model

    size = {"height": 224, "width": 224}
    square = [cv2.resize(crop, (224, 224), interpolation=cv2.INTER_AREA) for crop in crops]
    prepare = CLIPImageProcessor(size=size, do_center_crop=False, do_resize=False)
    dino_mean = {"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}
    rgb = [np.ascontiguousarray(one[..., ::-1]) for one in square]
    clip, dino = (
        CLIPModel.from_pretrained(tiny("clip")),
        Dinov2Model.from_pretrained(tiny("dinov2")),
    )
    with torch.no_grad():
        looks = clip.get_image_features(**prepare(rgb, return_tensors="pt")).pooler_output
        seen = prepare(rgb, return_tensors="pt", **dino_mean)
        shapes = dino(**seen).last_hidden_state[:, 0]
    rows = clip_dino(tiny, batch=2).embed(crops)
    parts = [
        torch.nn.functional.normalize(part, dim=1).numpy() / 2**0.5 for part in (looks, shapes)
    ]
    large = [max(crop.shape[:2]) > 224 for crop in crops]
    np.testing.assert_allclose(rows[large], np.concatenate(parts, axis=1)[large], atol=1e-4)


@VISION
def test_another_model_s_weights_are_refused(tiny: Tiny, crops: list[Image]) -> None:
    with pytest.raises(GebError, match="another model's"):
        clip_dino(tiny, dino=tiny("clip")).embed(crops)
    with pytest.raises(GebError, match=r"appearance: 'no/such-model' .* neither a folder"):
        clip_dino(tiny, clip="no/such-model").embed(crops)


# ---- The graph against a plain reading of the architecture --------------------------------------

Arrays = dict[str, NDArray[Any]]


def convolve(x: NDArray[Any], weight: NDArray[Any], stride: int) -> NDArray[Any]:
    """[c, h, w] by [out, in, k, k] with same padding; depthwise where ``in`` is 1."""
    pad = weight.shape[2] // 2
    side = weight.shape[2]
    windows = sliding_window_view(np.pad(x, ((0, 0), (pad, pad), (pad, pad))), (side, side), (1, 2))
    windows = windows[:, ::stride, ::stride]
    if weight.shape[1] == 1:
        return np.einsum("chwij,cij->chw", windows, weight[:, 0])
    return np.einsum("chwij,ocij->ohw", windows, weight, optimize=True)


def norm(x: NDArray[Any], arrays: Arrays, name: str) -> NDArray[Any]:
    scale, bias, mean, variance = (
        arrays[f"{name}.{p}"][:, None, None]
        for p in ("weight", "bias", "running_mean", "running_var")
    )
    return (x - mean) / np.sqrt(variance + 1e-5) * scale + bias


def reference(arrays: Arrays, rgb: NDArray[Any]) -> NDArray[Any]:
    """MobileNetV2's maps [320, 7, 7] of one RGB picture [3, 224, 224] in 0..255, unfolded."""

    def layer(
        x: NDArray[Any], conv: str, bn: str, stride: int = 1, clip: bool = True
    ) -> NDArray[Any]:
        y = norm(convolve(x, arrays[f"{conv}.weight"], stride), arrays, bn)
        return np.clip(y, 0, 6) if clip else y

    x = (rgb - MEAN[:, None, None]) / DEVIATION[:, None, None]
    x = layer(x, "features.0.0", "features.0.1", 2)
    strides = [1, 2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1]
    for block, stride in enumerate(strides, start=1):
        at = f"features.{block}.conv"
        y = x
        first = 0
        if block > 1:
            y, first = layer(y, f"{at}.0", f"{at}.1"), 3
        y = layer(y, f"{at}.{first}", f"{at}.{first + 1}", stride)
        y = layer(y, f"{at}.{first + 3}", f"{at}.{first + 4}", clip=False)
        x = x + y if stride == 1 and x.shape[0] == y.shape[0] else y
    return x


def test_the_graph_is_the_network(models: Path, picture: Callable[[str], Image]) -> None:
    import onnxruntime

    arrays = read_legacy_pt(models / MOBILENETV2_WEIGHTS.name)
    session = onnxruntime.InferenceSession(mobilenetv2(arrays), providers=["CPUExecutionProvider"])
    crop = picture("chelsea.png")[40:264, 100:324, ::-1].transpose(2, 0, 1).astype(np.float64)
    centred = (crop - MEAN[:, None, None]).astype(np.float32)[None]
    (maps,) = session.run(None, {"pictures": centred})
    np.testing.assert_allclose(maps[0], reference(arrays, crop), atol=2e-3, rtol=1e-3)


def test_folding_a_batch_norm_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    weight = rng.normal(size=(5, 3, 3, 3)).astype(np.float32)
    parts = {
        "weight": rng.normal(size=5),
        "bias": rng.normal(size=5),
        "running_mean": rng.normal(size=5),
        "running_var": rng.uniform(0.1, 2, 5),
    }
    arrays: Arrays = {f"bn.{k}": v.astype(np.float32) for k, v in parts.items()}
    x = rng.normal(size=(3, 8, 8))
    folded, bias = fold(weight, *arrays.values())
    np.testing.assert_allclose(
        convolve(x, folded, 1) + bias[:, None, None],
        norm(convolve(x, weight, 1), arrays, "bn"),
        atol=1e-5,
    )


def test_a_weights_file_runs_no_code(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "ran",))

    path = tmp_path / "evil.pt"
    with path.open("wb") as file:
        for part in (0x1950A86A20F9469CFC6C, 1001, {}, Evil(), []):
            pickle.dump(part, file, protocol=2)
    with pytest.raises(GebError, match="not a readable weights file"):
        read_legacy_pt(path)
    assert not (tmp_path / "ran").exists()


def test_a_cut_weights_file_is_refused(models: Path, tmp_path: Path) -> None:
    data = (models / MOBILENETV2_WEIGHTS.name).read_bytes()
    for size in (0, 100, 60_000):
        (tmp_path / "cut.pt").write_bytes(data[:size])
        with pytest.raises(GebError, match="not a readable weights file"):
            read_legacy_pt(tmp_path / "cut.pt")
