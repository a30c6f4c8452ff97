"""Telling a running UI that the registry changed: it reads it when its code location loads."""

from __future__ import annotations

import json
import urllib.request
from http.client import HTTPException

from geb_assets.home import Home

UI_FILE = "ui.json"
"""Where ``geb ui`` writes the address of the running UI, under the home's Dagster folder."""


def reload_location(home: Home) -> bool:
    """Tells a running UI of this home to read the registry again; False where none answers."""
    path = home.path / "dagster" / UI_FILE
    try:
        address = json.loads(path.read_text())["address"]
        query = "mutation { reloadWorkspace { __typename } }"
        request = urllib.request.Request(
            f"{address}/graphql",
            data=json.dumps({"query": query}).encode(),
            headers={"Content-Type": "application/json"},
        )
        # The UI is on this machine: no proxy of the environment lies between.
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(request, timeout=30) as answer:
            return bool(json.load(answer)["data"]["reloadWorkspace"]["__typename"] == "Workspace")
    except (OSError, ValueError, KeyError, TypeError, HTTPException):
        return False
