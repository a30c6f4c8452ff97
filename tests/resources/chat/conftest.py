from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.resources.chat.scripted import Script, scripted


@pytest.fixture
def script() -> Iterator[Script]:
    with scripted() as one:
        yield one
