"""The embedded profile with every chat role served by an endpoint; runs as a program too.

python -m tests.told HOME ASSET PARTITION
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from geb_assets.home import Home
from geb_assets.run import run_partition
from geb_assets.stages import STAGES
from resources import profiles
from resources.profiles import EMBEDDED, PAPER, Adapter, Asking

TOLD = replace(
    EMBEDDED,
    name="told",
    roles={
        **EMBEDDED.roles,
        **{role: one for role, one in PAPER.roles.items() if isinstance(one, Asking)},
        **{
            name: Adapter(PAPER.roles[name].make, PAPER.roles[name].options)
            for name in ("chat", "text_chat")
        },
    },
)


def register() -> None:
    """Makes the profile known in this process."""
    profiles.PROFILES["told"] = TOLD  # type: ignore[index]


def options(url: str, **own: object) -> dict[str, object]:
    """Options of both chats for ``use_profile``."""
    shared = {"base_url": url, "model": "m", "backoff_s": 0.01, "timeout_s": 0.5, **own}
    return {f"{chat}.{name}": v for chat in ("chat", "text_chat") for name, v in shared.items()}


if __name__ == "__main__":
    register()
    home, asset, partition = Home(Path(sys.argv[1])), sys.argv[2], sys.argv[3]
    stage = next(one for one in STAGES if one.asset == asset)
    outcome = run_partition(home, STAGES, stage, partition, uuid4().hex)
    print(outcome.entry.failed)
