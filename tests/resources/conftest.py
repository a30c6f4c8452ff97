from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest

from resources.images import Image
from resources.packages import DEMO_PICTURES
from tests.models import fetched


@pytest.fixture(scope="session")
def models() -> Path:
    """Folder with the embedded profile's files and the free photographs."""
    return fetched()


@pytest.fixture(scope="session")
def picture(models: Path) -> Callable[[str], Image]:
    """A free photograph by its file name, BGR."""
    paths = {Path(p.member).name: models / p.name for p in DEMO_PICTURES}
    return lambda name: np.asarray(cv2.imread(str(paths[name]), cv2.IMREAD_COLOR), np.uint8)
