"""The paper's profile from video to a search, on the real libraries with random weights."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from evaluation.bench.chat_server import Running, running
from evaluation.demo.recording import DEFAULT_SEED, add, name_of
from geb_assets.adding import set_parameters, use_profile
from geb_assets.doctor import examine
from geb_assets.home import Home
from geb_assets.reading.memory import Memory
from geb_assets.stages import STAGES
from geb_assets.tables import TABLES
from resources.store import decode_vectors
from tests.homes import add_all, render, up_to_date
from tests.resources.tiny import Tiny
from tests.test_crash import start

pytestmark = pytest.mark.vision

IN_FLIGHT = 4
ANY_BOX = {
    # Random boxes: few, small or large, and soon lost.
    "detections.max_per_frame": 6,
    "observations.min_visible_s": 0.6,
    "observations.whole_frame_area": 1.0,
    "observations.whole_frame_bordered_area": 1.0,
}


@pytest.fixture
def server() -> Iterator[Running]:
    """A strict chat endpoint that fails as endpoints do."""
    faults = {"limited": 0.05, "broken": 0.05, "malformed": 0.02, "hanging": 0.01}
    with running("tiny-vl", latency=0.01, **faults) as endpoint:
        yield endpoint


@pytest.fixture
def served(server: Running, tiny: Tiny, tmp_path: Path) -> Home:
    """A home served by the paper's adapters with small models."""
    home = Home(tmp_path / "home")
    cpu = {"device": "cpu", "precision": "float32"}
    asked = {"base_url": server.url, "model": "tiny-vl", "timeout_s": 3.0, "backoff_s": 0.01,
             "in_flight": IN_FLIGHT}  # fmt: skip
    options: dict[str, dict[str, Any]] = {
        "detector": {"weights": tiny("yolo"), "device": "cpu", "image_side": 320},
        "appearance": {"clip": tiny("clip"), "dino": tiny("dinov2"), **cpu},
        "identity_embedder": {"model": tiny("qwen3_vl"), **cpu},
        "clip_embedder": {"model": tiny("qwen3_vl"), **cpu},
        "text_embedder": {"model": tiny("qwen3"), **cpu},
        "chat": asked,
        "text_chat": asked,
    }
    assignments = {f"{r}.{name}": v for r, own in options.items() for name, v in own.items()}
    use_profile(home, "paper", assignments)
    return home


@pytest.fixture
def paper(models: Path, served: Home, tmp_path: Path) -> Home:
    """The same with recording ``s``."""
    render(models, tmp_path / "videos")
    add_all(served, tmp_path / "videos", "s")
    set_parameters(served, "s", {"clips.sample_fps": 5.0, **ANY_BOX})
    return served


def test_a_recording_is_built_and_searched_with_the_papers_models(paper: Home) -> None:
    ran = {asset for asset, _ in up_to_date(paper, "s")}
    assert {"detections", "tracks", "observations", "embeddings", "entities", "graph"} <= ran
    assert up_to_date(paper, "s") == []

    rows = {name: paper.store.read(name, recording="s") for name in TABLES}
    assert {name: frame.schema for name, frame in rows.items()} == {
        name: table.empty().schema for name, table in TABLES.items()
    }
    discarded = rows["discards"]["reason"].value_counts()
    assert rows["observations"].height > 0, (discarded, rows["tracks"]["track"].n_unique())
    described = rows["descriptions"]
    assert sorted(described["observation"]) == sorted(rows["observations"]["observation"])
    assert set(described["status"]) <= {"ok", "failed"}
    assert (described["status"] == "ok").sum() > 0
    assert described["model"].str.starts_with("tiny-vl@").all()
    clips = rows["clips"].filter(pl.col("status") == "ok")
    embeddings = rows["embeddings"]
    assert set(embeddings["kind"]) == {"identity", "text", "visual"}
    visual = embeddings.filter(pl.col("kind") == "visual").sort("subject")
    assert visual["subject"].to_list() == sorted(clips["clip"].to_list())
    ends = dict(clips.select("clip", "end_s").iter_rows())
    assert visual["visible_from"].to_list() == [ends[clip] for clip in visual["subject"]]
    assert set(visual["dim"]) == {64}
    assert visual["model"].str.contains("qwen3_vl").all()

    memory = Memory.open(paper, "s")
    assert memory.absent == ()
    found = memory.matches("who drinks from the cup?")
    (seen,) = (one for one in found if one.channel == "visual")
    assert memory.visual_encoder is not None
    query = memory.visual_encoder.embed(["who drinks from the cup?"])[0]
    vectors = decode_vectors(visual["vector"])
    cosines = {
        clip: float(vector @ query / np.linalg.norm(vector))
        for clip, vector in zip(visual["subject"], vectors.astype(np.float32), strict=True)
    }
    ids = [str(memory.index.nodes.ids[place]) for place in seen.places.tolist()]
    assert set(ids) == {clip for clip, cosine in cosines.items() if cosine > 0} != set()
    assert memory.search("who drinks from the cup?")


def finished(home: Home, recording: str) -> pl.DataFrame:
    """The descriptions that chat models made."""
    rows = home.store.read("descriptions", recording=recording)
    return rows.filter(pl.col("model").str.starts_with("tiny-vl@"))


@pytest.mark.slow
def test_the_demonstration_killed_midway_is_described_whole_and_nothing_is_paid_for_twice(
    models: Path, served: Home, server: Running
) -> None:
    add(served, DEFAULT_SEED)
    demo = name_of(DEFAULT_SEED)
    # Random boxes lie where the last clip's did, as an overlay's would.
    parameters = {"detections.max_per_frame": 14, "observations.overlay_min_clips": 100}
    set_parameters(served, demo, {"clips.sample_fps": 3.0, **ANY_BOX, **parameters})

    build = start(served)
    while not (done := finished(served, demo).height) or answers(server) < done + 20:
        assert build.poll() is None, build.communicate()
        time.sleep(0.02)
    os.killpg(build.pid, signal.SIGKILL)
    build.communicate()
    at_kill = server.stats()["answered"]
    seen = served.store.read("observations", recording=demo)["observation"].sort()
    described = finished(served, demo)
    assert 0 < described.height < len(seen) and len(seen) >= 100

    again = start(served)
    _, complaints = again.communicate()
    assert again.returncode == 0, complaints
    ended = finished(served, demo)
    assert ended["observation"].sort().equals(seen)
    assert set(ended["status"]) <= {"ok", "failed"}
    assert (ended["status"] == "ok").sum() >= 0.99 * len(seen)
    assert ended.filter((pl.col("status") == "failed") & (pl.col("summary") != "")).is_empty()
    # The partition that was finished is as it was.
    kept = ended.filter(pl.col("observation").is_in(described["observation"].implode()))
    assert kept.equals(described)

    stats = server.stats()
    told = stats["told"]
    assert all(told[fault] > 0 for fault in ("limited", "broken", "malformed", "hanging")), told
    asked_again = [one for one, count in at_kill.items() if stats["answered"][one] > count]
    # An answer that was under way when the process was killed had not been heard.
    assert len(asked_again) <= IN_FLIGHT
    plan = [step for step in served.planner(STAGES).plan([demo]) if step.state == "stale"]
    assert all(step.why.endswith("failed") for step in plan)
    assert Memory.open(served, demo).search("who takes the cup?")

    before = answers(server)
    last = start(served)
    last.communicate()
    assert last.returncode == 0
    assert answers(server) - before <= (ended["status"] == "failed").sum()


def answers(server: Running) -> int:
    return int(server.stats()["told"].get("answered", 0))


def test_the_doctor_tries_every_role_on_a_tiny_input(served: Home) -> None:
    findings = {one.check: one for one in examine(served)}
    for role in ("detector", "tracker", "appearance", "identity_embedder", "text_embedder",
                 "clip_embedder"):  # fmt: skip
        assert findings[f"role {role}"].passed, findings[f"role {role}"]
    assert "64 numbers a clip, 64 a query" in findings["role clip_embedder"].message
    assert findings["role chat"].passed, findings["role chat"]


def test_the_paper_s_own_device_is_missed_in_plain_words(served: Home) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    use_profile(served, "paper", {"text_embedder.device": "cuda"})
    findings = {one.check: one for one in examine(served)}
    assert not findings["role text_embedder"].passed
    assert "asks for cuda, and torch sees no GPU here" in findings["role text_embedder"].message
