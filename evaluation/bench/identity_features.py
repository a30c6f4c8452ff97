"""Which picture feature tells one physical object from another of its kind.

``python -m evaluation.bench.identity_features --json`` prints, for each candidate, the area under
the curve, the share of true pairs accepted at 2 % and 5 % false ones, and the cosine where those
points lie. Three sets of pairs:

* ``views``: encounters labelled by hand in the videos of ``$GEB_DATA/video``; a true pair is one
  object from another camera, or at least 5 s later in a moving one; a false pair is another
  object of the same label. Things (people move) seen by a camera that stands still are never
  paired with each other: the background alone would decide.
* ``surroundings``: the same objects pasted on other backgrounds, with other light and scale.
* ``free``: the same with free photographs, false pairs being recoloured ones; needs no video.

The labels (video, encounter, time, box, identity, label) are ``identity_labels.csv`` beside this.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from geb_assets.writing.entities.association import associate
from resources.appearance import mobilenetv2
from resources.appearance.legacy_pt import read_legacy_pt
from resources.appearance.mobilenetv2_graph import MEAN, SIDE, fold
from resources.appearance.mobilenetv2_graph import mobilenetv2 as network
from resources.images import Image
from resources.packages import (
    DEMO_PICTURES,
    MOBILENETV2_WEIGHTS,
    YOLOV3_TINY_CFG,
    YOLOV3_TINY_WEIGHTS,
    fetch,
    fetch_all,
)
from resources.vectors import unit

LABELS = Path(__file__).with_name("identity_labels.csv")
STILL = ("egolife_fixed3_day1_1122.mp4", "egolife_fixed3_day1_1320.mp4")
"""Videos of one camera that stands still."""

Vectors = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class View:
    """One box in one frame, with what is known of it."""

    frame: Image
    box: tuple[int, int, int, int]
    video: str
    encounter: str
    time: float
    identity: str
    label: str


Feature = Callable[[Sequence[View]], Vectors]


# ---- Crops --------------------------------------------------------------------------------------


def crop(view: View, pad: float = 0.0) -> Image:
    """The box, grown (or shrunk) by ``pad`` of its size on every side, within the frame."""
    x1, y1, x2, y2 = view.box
    dx, dy = (x2 - x1) * pad, (y2 - y1) * pad
    height, width = view.frame.shape[:2]
    return view.frame[
        round(max(y1 - dy, 0)) : round(min(y2 + dy, height)),
        round(max(x1 - dx, 0)) : round(min(x2 + dx, width)),
    ]


def ellipse(picture: Image) -> NDArray[np.float32]:
    """Mask [h, w, 1] in 0..1 of the ellipse that touches the sides, its edge softened."""
    height, width = picture.shape[:2]
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    return np.asarray(np.clip((1.05 - np.hypot(x, y)) / 0.1, 0, 1), np.float32)[..., None]


def centred(picture: Image) -> Image:
    """The picture with all outside its ellipse at ImageNet's mean colour."""
    mask = ellipse(picture)
    mixed = picture * mask + MEAN[::-1].astype(np.float32) * (1 - mask)
    return np.asarray(np.round(mixed), np.uint8)


# ---- Candidates ---------------------------------------------------------------------------------


def hue_histogram(views: Sequence[View]) -> Vectors:
    """Square roots of a hue-saturation-value histogram (12 x 4 x 4) of the box's ellipse."""
    rows = []
    for view in views:
        picture = crop(view)
        hsv = cv2.cvtColor(picture, cv2.COLOR_BGR2HSV)
        mask = np.asarray(ellipse(picture)[..., 0] > 0.5, np.uint8)
        bins = cv2.calcHist([hsv], [0, 1, 2], mask, [12, 4, 4], [0, 180, 0, 256, 0, 256])
        rows.append(np.sqrt(bins.ravel() / max(bins.sum(), 1)))
    return unit(np.stack(rows).astype(np.float32))


def band_colours(views: Sequence[View]) -> Vectors:
    """The colours of the embedded profile's feature, alone."""
    return unit(np.stack([mobilenetv2.colours(crop(view)).ravel() for view in views]))


@dataclass(frozen=True, eq=False)
class Network:
    """MobileNetV2's last maps, and what its 1,280 pooled features would be."""

    session: Any
    weight: Vectors
    bias: Vectors

    @classmethod
    def load(cls, models: Path) -> Network:
        import onnxruntime

        arrays = read_legacy_pt(fetch(MOBILENETV2_WEIGHTS, models))
        session = onnxruntime.InferenceSession(network(arrays), providers=["CPUExecutionProvider"])
        parts = ("weight", "bias", "running_mean", "running_var")
        weight, bias = fold(
            arrays["features.18.0.weight"], *(arrays[f"features.18.1.{part}"] for part in parts)
        )
        return cls(session, weight[:, :, 0, 0], bias)

    def maps(self, prepare: Callable[[View], Image], *, stretch: bool = False) -> Feature:
        """Last maps [n, 320, 7, 7] of the prepared crops, stretched to the square or amid it."""

        @cache
        def all_of(views: tuple[View, ...]) -> Vectors:
            rows = []
            for view in views:
                picture = prepare(view)
                if stretch:
                    grows = min(picture.shape[:2]) < SIDE
                    how = cv2.INTER_LINEAR if grows else cv2.INTER_AREA
                    resized = cv2.resize(picture, (SIDE, SIDE), interpolation=how)
                    picture = np.asarray(resized, np.uint8)
                given = {"pictures": mobilenetv2.network_input(picture)}
                rows.append(self.session.run(None, given)[0][0])
            return np.stack(rows)

        return lambda views: all_of(tuple(views))

    def pooled(self, maps: Feature) -> Feature:
        """Means of the 1,280 features that the classifier reads."""

        def feature(views: Sequence[View]) -> Vectors:
            rows = [
                np.clip(self.weight @ one.reshape(len(one), -1) + self.bias[:, None], 0, 6)
                for one in maps(views)
            ]
            return unit(np.stack([row.mean(axis=1) for row in rows]))

        return feature


def banded(bands: int, maps: Feature) -> Feature:
    """Means of the maps in horizontal bands, each at one length."""

    def feature(views: Sequence[View]) -> Vectors:
        parts = [p.mean(axis=(2, 3)) for p in np.array_split(maps(views), bands, axis=2)]
        return unit(np.concatenate([unit(part) for part in parts], axis=1))

    return feature


def detector_maps(models: Path, layer: str) -> Feature:
    """Means of one of the detector's own maps over the box's crop at 224 x 224."""
    weights, cfg = fetch_all((YOLOV3_TINY_WEIGHTS, YOLOV3_TINY_CFG), models)
    net = cv2.dnn.readNetFromDarknet(str(cfg), str(weights))

    def feature(views: Sequence[View]) -> Vectors:
        rows = []
        for view in views:
            net.setInput(cv2.dnn.blobFromImage(crop(view), 1 / 255, (224, 224), swapRB=True))
            rows.append(net.forward(layer)[0].mean(axis=(1, 2)))
        return unit(np.stack(rows).astype(np.float32))

    return feature


def joined(weight: float, first: Feature, second: Feature) -> Feature:
    """Two features whose cosines add up with ``weight`` and ``1 - weight``."""
    return lambda views: np.concatenate(
        [
            first(views) * np.float32(weight**0.5),
            second(views) * np.float32((1 - weight) ** 0.5),
        ],
        axis=1,
    )


def candidates(models: Path) -> dict[str, Feature]:
    """Every feature compared, by name."""
    net = Network.load(models)
    chosen = mobilenetv2.MobileNetV2(models)
    kept, stretched = net.maps(crop), net.maps(crop, stretch=True)
    bands, pooled = banded(3, kept), net.pooled(stretched)

    def grown(share: float) -> Feature:
        return net.pooled(net.maps(lambda view: crop(view, share), stretch=True))

    return {
        "chosen: maps in 3 bands 0.7, colours 0.3": lambda views: chosen.embed(
            [crop(view) for view in views]
        ),
        "chosen, box grown 10 %": lambda views: chosen.embed([crop(view, 0.1) for view in views]),
        "maps in 3 bands": bands,
        "maps in 3 bands, stretched": banded(3, stretched),
        "maps in 3 bands 0.5, colours 0.5": joined(0.5, bands, band_colours),
        "maps": banded(1, kept),
        "maps, stretched": banded(1, stretched),
        "pooled 1280, stretched": pooled,
        "pooled 1280, aspect kept": net.pooled(kept),
        "pooled 1280, box grown 10 %": grown(0.1),
        "pooled 1280, box grown 25 %": grown(0.25),
        "pooled 1280, box shrunk 10 %": grown(-0.1),
        "pooled 1280, ellipse": net.pooled(
            net.maps(lambda view: centred(crop(view)), stretch=True)
        ),
        "colours in 3 bands": band_colours,
        "hue histogram": hue_histogram,
        "pooled 1280 0.8, hue histogram 0.2": joined(0.8, pooled, hue_histogram),
        "detector's map, 26 x 26": detector_maps(models, "conv_8"),
        "detector's map, 13 x 13": detector_maps(models, "conv_13"),
    }


# ---- Pairs --------------------------------------------------------------------------------------


def read_views(path: Path, videos: Path) -> tuple[list[View], list[str]]:
    """The labelled views whose video is there, and the names of videos that are not."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    views: list[View] = []
    missing: list[str] = []
    for name in sorted({row["video"] for row in rows}):
        if not (videos / name).is_file():
            missing.append(name)
            continue
        capture = cv2.VideoCapture(str(videos / name))
        rate = capture.get(cv2.CAP_PROP_FPS)
        wanted: dict[int, list[dict[str, str]]] = {}
        for row in rows:
            if row["video"] == name:
                wanted.setdefault(round(float(row["time_s"]) * rate), []).append(row)
        for index in range(max(wanted) + 1):
            if not capture.grab():
                break
            if index not in wanted:
                continue
            frame = np.asarray(capture.retrieve()[1], np.uint8)
            for row in wanted[index]:
                x1, y1, x2, y2 = (int(row[side]) for side in ("x1", "y1", "x2", "y2"))
                views.append(
                    View(
                        frame,
                        (x1, y1, x2, y2),
                        name,
                        row["encounter"],
                        float(row["time_s"]),
                        row["identity"],
                        row["label"],
                    )
                )
        capture.release()
    return views, missing


def resurrounded(
    views: Sequence[View], backgrounds: Sequence[Image], *, copies: int, seed: int = 0
) -> list[View]:
    """Each view's ellipse ``copies`` times on other backgrounds, in other light and scale."""
    rng = np.random.default_rng(seed)
    made: list[View] = []
    for view in views:
        picture = crop(view)
        for number in range(copies):
            scale = rng.uniform(0.4, 1.2) * 160 / max(picture.shape[:2])
            size = [max(24, round(side * scale)) for side in picture.shape[1::-1]]
            small = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
            turn = cv2.getRotationMatrix2D((size[0] / 2, size[1] / 2), rng.uniform(-12, 12), 1)
            small = cv2.warpAffine(small, turn, size, borderMode=cv2.BORDER_REFLECT)
            tint = rng.uniform(0.9, 1.1, 3) * rng.uniform(0.6, 1.4)
            lit = 255 * (small / 255) ** rng.uniform(0.8, 1.25) * tint
            ground = backgrounds[int(rng.integers(len(backgrounds)))]
            room = (max(400, size[0] + 9), max(400, size[1] + 9))
            ground = np.asarray(cv2.resize(ground, room), np.uint8)
            y = int(rng.integers(ground.shape[0] - size[1]))
            x = int(rng.integers(ground.shape[1] - size[0]))
            under = ground[y : y + size[1], x : x + size[0]]
            mask = ellipse(np.asarray(small, np.uint8))
            frame = ground.copy()
            frame[y : y + size[1], x : x + size[0]] = np.clip(
                lit * mask + under * (1 - mask), 0, 255
            )
            made.append(
                View(
                    frame,
                    (x, y, x + size[0], y + size[1]),
                    f"{view.video} {number}",
                    f"{view.encounter} {number}",
                    float(number),
                    view.identity,
                    view.label,
                )
            )
    return made


def free_views(models: Path) -> list[View]:
    """Free photographs, each as it is and in two other colours (other objects of its kind)."""
    paths = {Path(p.member).name: models / p.name for p in DEMO_PICTURES}
    boxes = {
        "coffee.png": ("cup", (170, 30, 480, 330)),
        "chelsea.png": ("cat", (100, 20, 400, 290)),
        "astronaut.png": ("person", (40, 0, 400, 512)),
        "motorcycle_left.png": ("motorbike", (60, 80, 690, 450)),
        "rocket.jpg": ("rocket", (230, 20, 400, 420)),
    }
    made = []
    for name, (label, box) in boxes.items():
        hsv = cv2.cvtColor(np.asarray(cv2.imread(str(paths[name]))), cv2.COLOR_BGR2HSV)
        for shift in (0, 40, 110):
            other = hsv.copy()
            other[..., 0] = (other[..., 0].astype(int) + shift) % 180
            frame = np.asarray(cv2.cvtColor(other, cv2.COLOR_HSV2BGR), np.uint8)
            made.append(View(frame, box, name, f"{name} {shift}", 0.0, f"{name} {shift}", label))
    return made


def encounters(views: Sequence[View], rows: Vectors) -> tuple[list[View], Vectors]:
    """The first view and the mean row, as a unit, of each encounter."""
    order: dict[str, list[int]] = {}
    for index, view in enumerate(views):
        order.setdefault(f"{view.video} {view.encounter}", []).append(index)
    firsts = [views[indices[0]] for indices in order.values()]
    return firsts, unit(np.stack([rows[indices].mean(axis=0) for indices in order.values()]))


def pairs(firsts: Sequence[View]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Row pairs [P, 2] of one label that can be judged, and whether each is one object."""
    found = [
        (i, j)
        for i, a in enumerate(firsts)
        for j, b in enumerate(firsts[i + 1 :], start=i + 1)
        if a.label == b.label
        and not (a.label != "person" and a.video in STILL and b.video in STILL)
        and (a.identity != b.identity or a.video != b.video or abs(a.time - b.time) >= 5)
    ]
    same = np.array([firsts[i].identity == firsts[j].identity for i, j in found], bool)
    return np.array(found, np.int64).reshape(-1, 2), same


# ---- Figures ------------------------------------------------------------------------------------


def auc(true: NDArray[np.floating], false: NDArray[np.floating]) -> float:
    """Chance that a true pair scores above a false one (ties count half)."""
    ordered = np.sort(false)
    below = np.searchsorted(ordered, true, side="left")
    upto = np.searchsorted(ordered, true, side="right")
    return float((below + upto).mean() / 2 / len(false))


def at_false_accepts(
    true: NDArray[np.floating], false: NDArray[np.floating], share: float
) -> tuple[float, float]:
    """(share of true pairs accepted, threshold) where at most ``share`` of the false ones are."""
    ordered = np.sort(false)[::-1]
    threshold = np.nextafter(ordered[int(share * len(false))], np.inf)
    return float((true >= threshold).mean()), float(threshold)


def figures(firsts: Sequence[View], means: Vectors) -> dict[str, float]:
    """The figures of one feature on one set of encounters."""
    index, same = pairs(firsts)
    cosine = (means[index[:, 0]] * means[index[:, 1]]).sum(axis=1)
    labels = np.array([firsts[i].label for i in index[:, 0]])
    true, false = cosine[same], cosine[~same]
    each = [
        auc(cosine[same & (labels == label)], cosine[~same & (labels == label)])
        for label in np.unique(labels)
        if same[labels == label].any() and not same[labels == label].all()
    ]
    found: dict[str, float] = {"auc": auc(true, false), "auc_mean_of_labels": float(np.mean(each))}
    for percent in (1, 2, 5, 10):
        accepted, threshold = at_false_accepts(true, false, percent / 100)
        found |= {f"true_at_{percent}": accepted, f"threshold_{percent}": threshold}
    return {key: round(value, 4) for key, value in found.items()} | {
        "true_pairs": len(true),
        "false_pairs": len(false),
    }


def association(firsts: Sequence[View], means: Vectors) -> list[dict[str, float]]:
    """Pairwise precision, recall and F1 of Equation 3 on the encounters, by its two thresholds.

    Encounters in order of video and time; no separations and no anchors, so that the vectors
    alone decide. Only pairs of one label that can be judged count.
    """
    order = sorted(range(len(firsts)), key=lambda i: (firsts[i].video, firsts[i].time))
    views, rows = [firsts[i] for i in order], means[order]
    index, same = pairs(views)
    none = np.zeros((0, 2), np.int64)
    table = []
    for match in np.arange(0.55, 0.86, 0.05):
        for below in (0.05, 0.1, 0.15, 0.2):
            entity = associate(
                rows,
                clip=np.arange(len(rows)),
                separated=none,
                anchors=none,
                theta_cons=float(match - below),
                theta_match=float(match),
            )
            joined_pairs = entity[index[:, 0]] == entity[index[:, 1]]
            right = int((joined_pairs & same).sum())
            precision = right / max(int(joined_pairs.sum()), 1)
            recall = right / max(int(same.sum()), 1)
            table.append(
                {
                    "theta_match": round(float(match), 2),
                    "theta_cons": round(float(match - below), 2),
                    "precision": round(precision, 4),
                    "recall": round(recall, 4),
                    "f1": round(2 * precision * recall / max(precision + recall, 1e-9), 4),
                    "entities": int(entity.max()) + 1,
                }
            )
    return table


def main(arguments: list[str] | None = None) -> int:
    """Entry point of ``python -m evaluation.bench.identity_features``."""
    parser = argparse.ArgumentParser(
        prog="evaluation.bench.identity_features", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--models",
        type=Path,
        default=Path(os.environ.get("GEB_MODELS") or Path.home() / ".cache" / "geb-models"),
        help="folder of the model files (fetched where they are not there)",
    )
    options = parser.parse_args(arguments)
    grounds = [
        np.asarray(cv2.imread(str(path)), np.uint8)
        for path, file in zip(fetch_all(DEMO_PICTURES, options.models), DEMO_PICTURES, strict=True)
        if Path(file.member).name in ("brick.png", "grass.png", "gravel.png", "camera.png")
    ]
    sets = {"free": resurrounded(free_views(options.models), grounds, copies=8)}
    skipped: list[str] = []
    data = os.environ.get("GEB_DATA")
    if data:
        views, missing = read_views(LABELS, Path(data) / "video")
        skipped += [f"{name} is not in $GEB_DATA/video" for name in missing]
        if views:
            sets["views"] = views
            best = {v.identity: v for v in sorted(views, key=lambda v: _area(v))}
            sets["surroundings"] = resurrounded(list(best.values()), grounds, copies=6)
    else:
        skipped.append("views and surroundings: $GEB_DATA is not set")
    for reason in skipped:
        print(f"skipped: {reason}", file=sys.stderr)
    result: dict[str, dict[str, dict[str, float]]] = {}
    thresholds: list[dict[str, float]] = []
    for name, feature in candidates(options.models).items():
        result[name] = {}
        for kind, views in sets.items():
            firsts, means = encounters(views, feature(views))
            result[name][kind] = figures(firsts, means)
            if kind == "views" and not thresholds:
                thresholds = association(firsts, means)
    if options.json:
        print(json.dumps({"features": result, "association": thresholds, "skipped": skipped}))
        return 0
    for name, kinds in result.items():
        for kind, row in kinds.items():
            print(f"{name:42} {kind:13}", *(f"{key} {value}" for key, value in row.items()))
    for row in thresholds:
        print(*(f"{key} {value}" for key, value in row.items()))
    return 0


def _area(view: View) -> int:
    x1, y1, x2, y2 = view.box
    return (x2 - x1) * (y2 - y1)


if __name__ == "__main__":
    sys.exit(main())
