"""MobileNetV2 (Sandler et al. 2018, table 2, width 1.0) as an ONNX graph built from its arrays.

Up to the last bottleneck: what follows it serves the classifier.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Mean and deviation of ImageNet's RGB values, in 0..255.
MEAN = np.array([0.485, 0.456, 0.406], np.float32) * 255
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32) * 255
MAPS = 320
SIDE = 224

# (first stride, blocks) of each stage of inverted residuals.
_STAGES = ((1, 1), (2, 2), (2, 3), (2, 4), (1, 3), (2, 3), (1, 1))
_EPSILON = 1e-5


def fold(
    weight: NDArray[np.float32],
    scale: NDArray[np.float32],
    bias: NDArray[np.float32],
    mean: NDArray[np.float32],
    variance: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """A convolution's weight ``[out, in, h, w]`` and bias with its batch norm folded in."""
    factor = scale.astype(np.float64) / np.sqrt(variance.astype(np.float64) + _EPSILON)
    folded = weight * factor[:, None, None, None]
    shifted = bias - mean * factor
    return folded.astype(np.float32), shifted.astype(np.float32)


def mobilenetv2(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Serialised graph: ``pictures`` float32 ``[n, 3, 224, 224]`` to ``maps`` ``[n, 320, 7, 7]``.

    ``pictures`` are RGB less ``MEAN``; the division by ``DEVIATION`` is folded into the first
    convolution (exact: its zero padding stays zero). ``arrays`` are the network's own, by name.
    """
    from onnx import TensorProto, checker, helper, numpy_helper

    nodes: list[Any] = []
    weights: list[Any] = [
        numpy_helper.from_array(np.array(0, np.float32), "zero"),
        numpy_helper.from_array(np.array(6, np.float32), "six"),
    ]

    def convolve(x: str, conv: str, norm: str, *, stride: int = 1, clip: bool = True) -> str:
        weight, bias = fold(
            arrays[f"{conv}.weight"],
            *(
                arrays[f"{norm}.{part}"]
                for part in ("weight", "bias", "running_mean", "running_var")
            ),
        )
        if x == "pictures":
            weight = weight / DEVIATION[None, :, None, None]
        weights.extend(
            (
                numpy_helper.from_array(weight, f"{conv}.weight"),
                numpy_helper.from_array(bias, f"{conv}.bias"),
            )
        )
        side = weight.shape[2]
        # Depthwise where a filter sees one of many channels.
        groups = weight.shape[0] if weight.shape[1] == 1 else 1
        nodes.append(
            helper.make_node(
                "Conv",
                [x, f"{conv}.weight", f"{conv}.bias"],
                [conv],
                kernel_shape=[side, side],
                pads=[side // 2] * 4,
                strides=[stride, stride],
                group=groups,
            )
        )
        if not clip:
            return conv
        nodes.append(helper.make_node("Clip", [conv, "zero", "six"], [f"{conv}.relu6"]))
        return f"{conv}.relu6"

    x = convolve("pictures", "features.0.0", "features.0.1", stride=2)
    block = 0
    for first_stride, repeats in _STAGES:
        for repeat in range(repeats):
            block += 1
            stride = first_stride if repeat == 0 else 1
            name = f"features.{block}.conv"
            if block == 1:  # the one block without expansion
                y = convolve(x, f"{name}.0", f"{name}.1", stride=stride)
                y = convolve(y, f"{name}.3", f"{name}.4", clip=False)
            else:
                y = convolve(x, f"{name}.0", f"{name}.1")
                y = convolve(y, f"{name}.3", f"{name}.4", stride=stride)
                y = convolve(y, f"{name}.6", f"{name}.7", clip=False)
            if repeat > 0:
                nodes.append(helper.make_node("Add", [x, y], [f"{name}.sum"]))
                y = f"{name}.sum"
            x = y
    nodes.append(helper.make_node("Identity", [x], ["maps"]))
    graph = helper.make_graph(
        nodes,
        "mobilenetv2",
        [helper.make_tensor_value_info("pictures", TensorProto.FLOAT, ["n", 3, SIDE, SIDE])],
        [helper.make_tensor_value_info("maps", TensorProto.FLOAT, ["n", MAPS, 7, 7])],
        weights,
    )
    # Opset and format that onnxruntime has read for years.
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    checker.check_model(model)
    serialised: bytes = model.SerializeToString()
    return serialised
