"""How near described encounters come to what an endpoint's latency allows, and in how much memory.

    python -m evaluation.bench.calls --json

An endpoint in a process of its own answers 50 ms after each request, 32 requests at once: at best
640 a second. The encounters have one small close view and three small full pictures, so that the
time measured is that of the calls; `prepare_ms` is what pictures of the paper's size take besides,
of one processor and once an encounter.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from evaluation.bench.chat_server import running
from resources.chat.cache import ReplyCache
from resources.chat.calls import Budget, Calls
from resources.chat.openai_compatible import ChatSettings
from resources.concurrency import in_flight
from resources.describer import Crop, Encounter, Line, SceneFrame
from resources.describer.vision_language import VisionLanguageDescriber, close_view, full_view
from resources.frames import encode_jpeg

ENCOUNTERS, IN_FLIGHT, LATENCY_S = 2000, 32, 0.05


def measure(
    encounters: int = ENCOUNTERS, width: int = IN_FLIGHT, latency_s: float = LATENCY_S
) -> dict[str, Any]:
    """Describes them once against the endpoint and once from the kept replies."""
    with running(latency=latency_s) as server, tempfile.TemporaryDirectory() as folder:
        settings = ChatSettings(base_url=server.url, model="m", in_flight=width)
        calls = Calls(ReplyCache(Path(folder) / "replies.sqlite"), Budget())
        describer = VisionLanguageDescriber(
            calls.chat(settings, "describer"), view="first_person", temperature=0.2, max_tokens=1500
        )
        worked = time.process_time()
        seconds, first_mb, last_mb = _describe(describer, encounters)
        worked = time.process_time() - worked
        again, _, _ = _describe(describer, encounters)
        told = server.stats()
    ideal = encounters * latency_s / width
    return {
        "encounters": encounters,
        "in_flight": width,
        "latency_ms": 1000 * latency_s,
        "seconds": seconds,
        "ideal_seconds": ideal,
        "share_of_ideal": ideal / seconds,
        "per_second": encounters / seconds,
        "processor_ms_per_call": 1000 * worked / encounters,
        "most_in_flight": told["most_in_flight"],
        "calls": sum(told["answered"].values()),
        "memory_mb_at_a_quarter": first_mb,
        "memory_mb_at_the_end": last_mb,
        "kept_per_second": encounters / again,
        "prepare_ms": _prepare_ms(),
    }


def _describe(describer: VisionLanguageDescriber, count: int) -> tuple[float, float, float]:
    """Seconds, and the process's largest memory after a quarter and at the end, MB."""
    started = time.perf_counter()
    quarter = 0.0
    results = in_flight(describer.describe, _encounters(count), describer.in_flight)
    for done, _ in enumerate(results):
        if done == count // 4:
            quarter = _memory_mb()
    return time.perf_counter() - started, quarter, _memory_mb()


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _encounters(count: int, side: int = 48, scenes: int = 3) -> Iterator[Encounter]:
    small = np.random.default_rng(0).integers(0, 255, (24, 24, 3), np.uint8)
    picture = np.asarray(cv2.resize(small, (side, side)), np.uint8)
    jpeg = encode_jpeg(picture, 90)
    box = np.array([side / 4, side / 4, side / 2, side / 2], np.float32)
    lines = [Line(t, t + 2.0, "caption", "", f"I put thing {t} away.") for t in range(-30, 30, 6)]
    for number in range(count):
        yield Encounter(
            label="cup", confidence=0.8, start_s=0.0, end_s=3.0,
            times=np.arange(30) / 10, boxes=np.tile(box, (30, 1)), width=side, height=side,
            crops=(Crop(picture, box),) * (4 if side > 48 else 1),
            scenes=tuple(SceneFrame(float(t), jpeg, box) for t in range(scenes)),
            lines=(*lines, Line(1.0, 2.0, "transcript", "Tasha", f"Take number {number}.")),
        )  # fmt: skip


def _prepare_ms(scenes: int = 8) -> float:
    """Milliseconds of one processor that four close views and eight full pictures take."""
    encounter = next(_encounters(1, side=768, scenes=scenes))
    started = time.process_time()
    for crop in encounter.crops:
        close_view(crop)
    for scene in encounter.scenes:
        full_view(scene)
    return 1000 * (time.process_time() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--encounters", type=int, default=ENCOUNTERS)
    given = parser.parse_args()
    figures = measure(given.encounters)
    if given.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:24} {value:.3f}" if isinstance(value, float) else f"{name:24} {value}")


if __name__ == "__main__":
    main()
