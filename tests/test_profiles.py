"""Profiles: what a home chooses of them, and exactly what a switch makes stale."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from geb_assets.adding import set_parameters, use_profile
from geb_assets.cli.models import list_models
from geb_assets.cli.output import Output
from geb_assets.doctor import examine
from geb_assets.errors import GebError
from geb_assets.home import Home
from geb_assets.lineage import Planner
from geb_assets.registry import Registry
from geb_assets.stages import STAGES
from geb_assets.tables import TABLES
from resources.profiles import EMBEDDED, HOSTED, PAPER, PROFILES, configured

BY_NAME = {stage.asset: stage for stage in STAGES}


def whys(home: Home, state: str = "stale") -> dict[str, str]:
    """Asset to why, of every asset with a partition in that state; all give one reason."""
    found: dict[str, set[str]] = {}
    for step in home.planner(STAGES).plan():
        if step.state == state:
            found.setdefault(step.asset, set()).add(step.why)
    assert all(len(reasons) == 1 for reasons in found.values()), found
    return {asset: reasons.pop() for asset, reasons in found.items()}


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
def test_every_required_role_is_served(profile: object) -> None:
    assert {role for stage in STAGES for role in stage.roles} <= set(profile.roles)  # type: ignore[attr-defined]


def test_the_switch_names_what_it_makes_stale_and_nothing_else(home: Home) -> None:
    use_profile(home, "paper", {})
    stale = whys(home)
    expected = {
        "clips",
        "detections",
        "tracks",
        "observations",
        "descriptions",
        "embeddings",
        "entities",
        "names",
        "episodes",
        "chains",
    }
    assert set(stale) == expected
    assert stale["clips"] == "parameter sample_fps 5.0 -> 10.0"
    assert "model of the detector yolov3-tiny" in stale["detections"]
    assert "-> yoloe-26x-seg-pf" in stale["detections"]
    assert "model of the tracker botsort@trackers" in stale["tracks"]
    assert "model of the appearance" in stale["observations"]
    assert "model of the identity_embedder" in stale["embeddings"]
    assert "model of the text_embedder" in stale["embeddings"]
    assert "model of the clip_embedder none -> " in stale["embeddings"]
    assert "model of the namer none -> " in stale["names"]
    assert "model of the captioner none -> " in stale["episodes"]
    assert "model of the chronicler none -> " in stale["chains"]
    assert "parameter theta_match" in stale["entities"]
    assert "model" not in stale["entities"]
    # No model serves the graph, and the profile sets none of its parameters.
    assert whys(home, "may change") == {"graph": "clips will be recomputed"}


def test_back_again_nothing_is_stale(home: Home) -> None:
    schemas = {name: home.store.scan(name).collect_schema() for name in TABLES}
    use_profile(home, "paper", {"detector.device": "cpu"})
    assert {name: home.store.scan(name).collect_schema() for name in TABLES} == schemas
    use_profile(home, "embedded", {})
    assert whys(home) == {}
    assert home.registry().options == {"paper": {"detector": {"device": "cpu"}}}


def test_where_a_model_runs_makes_nothing_stale_and_what_it_is_does() -> None:
    def models(**options: dict[str, object]) -> dict[str, str]:
        planner = Planner(STAGES, Registry(), configured("paper", {"paper": options}), {})
        return {
            role: str(planner.profile.identity(role, planner.defaults(stage)))
            for stage in STAGES
            for role in stage.served_by(planner.profile)
        }

    assert models(text_embedder={"device": "cuda:1", "batch_tokens": 9}) == models()
    for role, option, value in (
        ("text_embedder", "precision", "float32"),
        ("text_embedder", "dimension", 256),
        ("text_embedder", "revision", "abc"),
        ("identity_embedder", "model", "other/model"),
        ("clip_embedder", "dimension", 128),
        ("appearance", "dino", "facebook/dinov2-base"),
        ("detector", "image_side", 1280),
        ("detector", "half", False),
        ("tracker", "method", "ocsort"),
        ("tracker", "compensate_camera", False),
    ):
        changed = {r for r, m in models(**{role: {option: value}}).items() if m != models()[r]}
        assert changed == {role}, (role, option)


def test_a_weights_file_is_known_by_its_content(tmp_path: Path) -> None:
    def identity() -> str:
        options = {"paper": {"detector": {"weights": str(tmp_path / "own.pt")}}}
        planner = Planner(STAGES, Registry(), configured("paper", options), {})
        stage = BY_NAME["detections"]
        return planner.profile.identity("detector", planner.defaults(stage)).digest

    assert identity() == ""
    (tmp_path / "own.pt").write_bytes(b"one")
    first = identity()
    (tmp_path / "own.pt").write_bytes(b"another")
    assert len(first) == 64
    assert identity() != first


@pytest.mark.parametrize(
    ("profile", "assignments", "line"),
    [
        ("papers", {}, "no profile 'papers'; there are embedded, paper, hosted"),
        ("paper", {"detectors.device": "cpu"}, "profile paper has no role 'detectors'"),
        ("paper", {"detector.devices": "cpu"}, "profile paper: detector has no option 'devices'"),
        ("paper", {"detector.device": "gpu"}, "detector.device: String should match"),
        ("paper", {"device": "cpu"}, "no option 'device'; write ROLE.OPTION=VALUE"),
        ("embedded", {"detector.device": "cpu"}, "detector has no option 'device'; it has none"),
    ],
)  # fmt: skip
def test_what_does_not_exist_is_refused_and_nothing_changes(
    home: Home, profile: str, assignments: dict[str, str], line: str
) -> None:
    before = (home.path / "recordings.toml").read_bytes()
    with pytest.raises(GebError) as refused:
        use_profile(home, profile, assignments)
    assert line in str(refused.value)
    assert (home.path / "recordings.toml").read_bytes() == before


def test_a_recording_whose_parameters_do_not_go_with_the_profile_is_told_of(home: Home) -> None:
    set_parameters(home, "r", {"association.theta_match": 0.5})
    with pytest.raises(GebError, match=r"theta_cons=0\.6 has to be below theta_match=0\.5"):
        use_profile(home, "paper", {})


def test_identities_need_neither_torch_nor_a_model() -> None:
    script = (
        "import sys\n"
        "from geb_assets.lineage import Planner\n"
        "from geb_assets.registry import Registry\n"
        "from geb_assets.stages import STAGES\n"
        "from resources.profiles import PAPER\n"
        "planner = Planner(STAGES, Registry(), PAPER, {})\n"
        "for stage in STAGES:\n"
        "    for role in stage.served_by(PAPER):\n"
        "        assert str(PAPER.identity(role, planner.defaults(stage)))\n"
        "heavy = {'torch', 'transformers', 'ultralytics', 'boxmot'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_hosted_is_the_paper_but_for_its_chat_models() -> None:
    assert HOSTED.parameters == PAPER.parameters
    differ = {role for role in PAPER.roles if HOSTED.roles[role] != PAPER.roles[role]}
    assert differ <= {"describer", "captioner", "controller", "answerer", "chat", "text_chat"}
    assert set(EMBEDDED.roles) <= set(PAPER.roles)


def test_models_lists_what_the_papers_libraries_would_fetch(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    use_profile(home, "paper", {"text_embedder.model": "own/model", "detector.device": "cuda:1"})
    listed = list_models(Output(as_json=True), home)
    files = {file["file"]: file for file in listed["files"]}
    assert set(files) == {
        "yoloe-26x-seg-pf.pt", "openai/clip-vit-base-patch32", "facebook/dinov2-giant",
        "Qwen/Qwen3-VL-Embedding-8B", "own/model",
    }  # fmt: skip
    assert not any(file["present"] for file in files.values())
    assert files["yoloe-26x-seg-pf.pt"]["by"] == "ultralytics"
    assert files["yoloe-26x-seg-pf.pt"]["size"] == 167_000_000
    assert "AGPL-3.0" in files["yoloe-26x-seg-pf.pt"]["licence"]
    assert files["own/model"]["size"] is None
    assert listed["options"]["detector"]["device"] == "cuda:1"
    assert listed["roles"]["text_embedder"].startswith("own/model@main")

    snapshot = tmp_path / "hub" / "hub" / "models--own--model" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "model.safetensors").touch()
    again = list_models(Output(as_json=True), home)["files"]
    assert {file["file"] for file in again if file["present"]} == {"own/model"}


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is not None, reason="the extra 'vision' is installed"
)
def test_without_the_extra_a_role_is_one_plain_line(home: Home) -> None:
    use_profile(home, "paper", {})
    roles = {
        one.check: one for one in examine(home) if one.check in ("role detector", "role tracker")
    }
    for finding in roles.values():
        assert not finding.passed
        assert "install the extra 'vision'" in finding.message
        assert "\n" not in finding.message
