from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from resources.images import Image
from resources.packages import DEMO_PICTURES
from tests.models import fetched
from tests.resources.tiny import Tiny


@pytest.fixture(scope="session")
def models() -> Path:
    """Folder with the embedded profile's files and the free photographs."""
    return fetched()


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """The paper's kinds of models with random weights (tests marked ``vision``)."""
    return Tiny(tmp_path_factory.mktemp("tiny-models"))


@pytest.fixture(scope="session")
def picture(models: Path) -> Callable[[str], Image]:
    """A free photograph by its file name, BGR."""
    paths = {Path(p.member).name: models / p.name for p in DEMO_PICTURES}
    return lambda name: np.asarray(cv2.imread(str(paths[name]), cv2.IMREAD_COLOR), np.uint8)
