"""How many calls may be in flight at once: fewer after a refusal, more again after successes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Limiter:
    """Additive increase, multiplicative decrease between 1 and ``most``.

    A call holds a place while it is in flight. One that was refused for its number, or kept
    waiting too long, halves the places (at most once for all calls that were in flight then);
    each success wins back a part of one, so that a full round of successes wins back one place.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._width = float(most)
        self._flying = 0
        self._begun = 0
        self._halved_at = 0
        self._changed = threading.Condition()

    @property
    def width(self) -> int:
        """Calls that may be in flight now."""
        return max(1, int(self._width))

    @contextmanager
    def place(self) -> Iterator[int]:
        """Waits for a place; gives the call's number, for :meth:`pushed_back`."""
        with self._changed:
            while self._flying >= self.width:
                self._changed.wait()
            self._flying += 1
            self._begun += 1
            number = self._begun
        try:
            yield number
        finally:
            with self._changed:
                self._flying -= 1
                self._changed.notify()

    def succeeded(self) -> None:
        """Tells of a reply that came."""
        with self._changed:
            self._width = min(float(self.most), self._width + 1.0 / self._width)
            self._changed.notify()

    def pushed_back(self, number: int) -> None:
        """Tells of a call that the endpoint refused for its number, or did not answer in time."""
        with self._changed:
            if number > self._halved_at:
                self._width = max(1.0, self._width / 2.0)
                self._halved_at = self._begun
