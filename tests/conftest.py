from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from geb_assets.home import Home
from tests import homes
from tests.models import fetched
from tests.resources.chat.scripted import Script, scripted
from tests.resources.tiny import Tiny


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the extra ``vision`` are skipped, saying so, where it is not installed."""
    if importlib.util.find_spec("torch") is None:
        absent = pytest.mark.skip(reason="the extra 'vision' is not installed: make test-vision")
        for item in items:
            if item.get_closest_marker("vision"):
                item.add_marker(absent)


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test touches the user's home, nor one of Dagster's."""
    monkeypatch.setenv("GEB_HOME", str(tmp_path / "geb_home"))
    for name in ("GEB_TABLES", "DAGSTER_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def script() -> Iterator[Script]:
    """A local endpoint that answers chat calls as the test says."""
    with scripted() as one:
        yield one


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """The paper's kinds of models with random weights (tests marked ``vision``)."""
    return Tiny(tmp_path_factory.mktemp("tiny-models"))


@pytest.fixture(scope="session")
def _built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with ``home`` and ``videos`` of the tiny recordings, built once."""
    models = fetched()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GEB_MODELS", str(models))
        folder = tmp_path_factory.mktemp("tiny")
        homes.make(models, folder)
        return folder


@pytest.fixture
def videos(_built: Path) -> Path:
    """The folder of the tiny recordings' videos (see tests.homes)."""
    return _built / "videos"


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Path:
    """Model files, for a home of the test's own; skips where they cannot be had."""
    folder = fetched()
    monkeypatch.setenv("GEB_MODELS", str(folder))
    return folder


@pytest.fixture
def home(_built: Path, models: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Home:
    """A copy of the built home, which ``GEB_HOME`` names too."""
    copied = homes.copy(_built / "home", tmp_path / "home")
    monkeypatch.setenv("GEB_HOME", str(copied.path))
    return copied
