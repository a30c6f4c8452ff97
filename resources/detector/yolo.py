"""YOLOE and YOLO through ultralytics (AGPL-3.0): the paper's detector. Needs the extra ``vision``.

Prompt-free YOLOE names what it sees out of its own 4,585 words; the labels are those of the
weights, whichever they are.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from geb_assets.errors import GebError
from resources.detector import Detections
from resources.identity import ModelIdentity
from resources.images import Image
from resources.options import Device, Options
from resources.torch_models import digest_of, in_batches, usable_device, vision

VERSION = "ultralytics 8.4.190"
_MEND = "set detector.weights with geb use"


class YoloOptions(Options):
    """Which weights, and how they run."""

    weights: str = "yoloe-26x-seg-pf.pt"
    """A name that ultralytics fetches, or the path of a weights file."""
    sha256: Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")] = ""
    """Digest that the weights file has to have; empty to take what is there."""
    device: Device = "cuda"
    half: bool = True
    """Compute in half precision (not on a CPU)."""
    batch: Annotated[int, Field(ge=1)] = 16
    """Frames at a time."""
    image_side: Annotated[int, Field(ge=32, multiple_of=32)] = 640
    """Long side of what the network sees, px."""

    def fetched(self) -> tuple[str, ...]:
        return (self.weights,)


class Yolo:
    """Detector on ultralytics. One object serves one thread at a time.

    Named weights are fetched by ultralytics into the models folder at the first frame.
    """

    def __init__(
        self,
        models: Path,
        options: YoloOptions,
        *,
        min_confidence: float,
        nms_iou: float,
        max_per_frame: int,
    ) -> None:
        self._models = models
        self._options = options
        self._limits = {"conf": min_confidence, "iou": nms_iou, "max_det": max_per_frame}

    @property
    def identity(self) -> ModelIdentity:
        o = self._options
        # A CPU computes in single precision whatever is asked for.
        numbers = "float16" if o.half and o.device != "cpu" else "float32"
        return ModelIdentity(
            Path(o.weights).stem,
            VERSION,
            o.sha256 or (digest_of(o.weights) if _is_path(o.weights) else ""),
            f"{numbers}, {o.image_side} px",
        )

    @cached_property
    def _model(self) -> Any:
        o = self._options
        device = usable_device(o.device, "detector")
        path = Path(o.weights) if _is_path(o.weights) else self._models / o.weights
        if _is_path(o.weights) and not path.is_file():
            raise GebError(f"detector: there is no weights file {path}; {_MEND}")
        # Without being asked it would install packages into this environment.
        os.environ.setdefault("YOLO_AUTOINSTALL", "false")
        ultralytics = vision("ultralytics")
        self._models.mkdir(parents=True, exist_ok=True)
        kind = ultralytics.YOLOE if path.stem.startswith("yoloe") else ultralytics.YOLO
        try:
            path = Path(vision("ultralytics.utils.downloads").attempt_download_asset(str(path)))
            # Before it is unpickled, which may run what stands in it.
            if o.sha256 and path.is_file() and digest_of(str(path)) != o.sha256:
                raise GebError(
                    f"detector: {path} differs from detector.sha256 ({o.sha256[:12]}...); "
                    "put the right file there, or set the digest with geb use"
                )
            model = kind(str(path), task=None, verbose=False)
            model.to(device)
        except GebError:
            raise
        except Exception as error:  # whatever fetching or unpickling stumbles over
            line = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise GebError(
                f"detector: {path.name} cannot be loaded by {VERSION} ({line[:160]}); {_MEND}"
            ) from None
        return model

    def detect(self, frames: Sequence[Image]) -> list[Detections]:
        """See :meth:`resources.detector.Detector.detect`."""
        if not frames:
            return []
        # Only frames of one size share a batch: ultralytics pads mixed ones, and finds other boxes.
        of_size: dict[tuple[int, ...], list[int]] = {}
        for place, frame in enumerate(frames):
            of_size.setdefault(frame.shape, []).append(place)
        most = self._options.batch
        return in_batches(
            [
                places[begin : begin + most]
                for places in of_size.values()
                for begin in range(0, len(places), most)
            ],
            lambda chosen: self._found([frames[place] for place in chosen]),
            role="detector",
            option="batch",
        )

    def _found(self, frames: Sequence[Image]) -> list[Detections]:
        o = self._options
        results = self._model.predict(
            list(frames),
            imgsz=o.image_side,
            device=o.device,
            quantize=16 if o.half and o.device != "cpu" else None,
            batch=len(frames),
            verbose=False,
            save=False,
            **self._limits,
        )
        return [_detections(result, frame) for result, frame in zip(results, frames, strict=True)]


def _is_path(weights: str) -> bool:
    return Path(weights).name != weights


def _detections(result: Any, frame: Image) -> Detections:
    """Boxes inside the frame with an area, in the role's order."""
    found = result.boxes
    boxes = np.asarray(found.xyxy.float().cpu().numpy(), np.float32).reshape(-1, 4)
    confidence = np.asarray(found.conf.float().cpu().numpy(), np.float32)
    classes = np.asarray(found.cls.cpu().numpy(), np.int64)
    height, width = frame.shape[:2]
    np.clip(boxes, 0, np.array([width, height, width, height], np.float32), out=boxes)
    kept = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1]) & (confidence > 0)
    boxes, confidence, classes = boxes[kept], confidence[kept], classes[kept]
    order = np.lexsort((classes, *boxes.T[::-1], -confidence))
    return Detections(
        boxes[order],
        confidence[order],
        tuple(str(result.names[int(number)]) for number in classes[order]),
    )
