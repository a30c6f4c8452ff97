"""Pictures as every role takes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
"""BGR uint8 ``[H, W, 3]``, as OpenCV reads it."""
