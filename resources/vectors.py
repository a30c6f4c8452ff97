"""What every embedding does to its rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows float32 ``[n, D]`` at length 1; a row of zeros stays zero."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1), np.float32)
