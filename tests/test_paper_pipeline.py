"""The paper's profile from video to a search, on the real libraries with random weights."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from geb_assets.adding import set_parameters, use_profile
from geb_assets.home import Home
from geb_assets.reading.memory import Memory
from geb_assets.tables import TABLES
from resources import profiles
from resources.store import decode_vectors
from tests.homes import up_to_date
from tests.resources.tiny import Tiny

pytestmark = pytest.mark.vision


@pytest.fixture
def paper(home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Home:
    """A home whose recording ``s`` is served by the paper's adapters, the describer apart."""
    tiny = Tiny(tmp_path / "tiny")
    roles = {**profiles.PAPER.roles, "describer": profiles.EMBEDDED.roles["describer"]}
    own = replace(profiles.PAPER, name="tiny", roles=roles)
    monkeypatch.setattr(profiles, "PROFILES", {**profiles.PROFILES, "tiny": own})
    cpu = {"device": "cpu", "precision": "float32"}
    options = {
        "detector": {"weights": tiny("yolo"), "device": "cpu", "image_side": 320},
        "appearance": {"clip": tiny("clip"), "dino": tiny("dinov2"), **cpu},
        "identity_embedder": {"model": tiny("qwen3_vl"), **cpu},
        "clip_embedder": {"model": tiny("qwen3_vl"), **cpu},
        "text_embedder": {"model": tiny("qwen3"), **cpu},
    }
    assignments = {f"{r}.{name}": v for r, own in options.items() for name, v in own.items()}
    use_profile(home, "tiny", assignments)
    set_parameters(home, "s", {"detections.max_per_frame": 6, "clips.sample_fps": 5.0})
    return home


def test_a_recording_is_built_and_searched_with_the_papers_models(paper: Home) -> None:
    before = {name: paper.store.scan(name).collect_schema() for name in TABLES}
    ran = {asset for asset, _ in up_to_date(paper, "s")}
    assert {"detections", "tracks", "observations", "embeddings", "entities", "graph"} <= ran
    assert up_to_date(paper, "s") == []
    assert {name: paper.store.scan(name).collect_schema() for name in TABLES} == before

    rows = {name: paper.store.read(name, recording="s") for name in TABLES}
    assert rows["observations"].height > 0
    clips = rows["clips"].filter(pl.col("status") == "ok")
    embeddings = rows["embeddings"]
    assert embeddings["kind"].value_counts().to_dicts().__len__() == 3
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
    vectors = decode_vectors(visual["vector"].to_list(), 64)
    cosines = {
        clip: float(vector @ query / np.linalg.norm(vector))
        for clip, vector in zip(visual["subject"], vectors.astype(np.float32), strict=True)
    }
    ids = [str(memory.index.nodes.ids[place]) for place in seen.places.tolist()]
    in_graph = set(rows["graph_nodes"]["node"]) & set(cosines)
    expected = sorted((c for c in in_graph if cosines[c] > 0), key=lambda c: -cosines[c])[:5]
    assert sorted(ids) == sorted(expected)
    assert memory.search("who drinks from the cup?")
