"""``geb doctor``: tries the home, the model files and each role once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from geb_assets.errors import GebError, refusal
from geb_assets.home import Home
from geb_assets.lineage import Planner
from geb_assets.registry import Registry
from geb_assets.run import rebuild_ledger
from geb_assets.stage import Finding
from geb_assets.stages import STAGES
from resources.embedder import Subject
from resources.packages import fetch_all
from resources.profiles import Roles


def examine(home: Home) -> list[Finding]:
    """One finding each for the home, the registry, the ledger, the models and every role."""
    findings = [
        _try(home, "home", lambda: _writable(home)),
        _try(home, "registry", lambda: f"{len(home.registry().recordings)} recordings"),
        _try(home, "ledger", lambda: _ledger(home)),
        _try(home, "models", lambda: _models(home)),
    ]
    try:
        profile = home.profile()
    except GebError:
        return findings  # told above already
    planner = Planner(STAGES, Registry(), profile, {})
    for stage in STAGES:
        for role in stage.roles:
            roles = Roles(profile, home.models, planner.defaults(stage), stage.roles, home.calls())
            attempt = partial(_role, role, roles)
            findings.append(_try(home, f"role {role}", attempt))
    return findings


def _try(home: Home, check: str, attempt: Callable[[], str]) -> Finding:
    try:
        return Finding(check, True, attempt())
    except (GebError, OSError) as error:
        return Finding(check, False, str(refusal(home.path, error) or error))


def _writable(home: Home) -> str:
    probe = home.path / ".doctor"
    try:
        home.path.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise refusal(home.path, error) or error from None
    return str(home.path)


def _ledger(home: Home) -> str:
    with home.alone():
        before = home.ledger.entries()
        rebuilt = rebuild_ledger(home, STAGES)
        after = home.ledger.entries()
    moved = sum(before.get(key) != after.get(key) for key in before.keys() | after.keys())
    return f"rebuilt from the commits: {rebuilt} partitions, {moved} differed"


def _models(home: Home) -> str:
    files = home.profile().files
    fetch_all(files, home.models)
    return f"{len(files)} files of profile {home.profile().name} under {home.models}"


def _role(role: str, roles: Roles) -> str:
    picture = np.full((96, 128, 3), 127, np.uint8)
    match role:
        case "detector":
            found = roles.detector().detect([picture])
            return f"{len(found[0])} boxes in a gray picture"
        case "tracker":
            return f"{roles.tracker().identity} at hand"
        case "appearance":
            return f"{roles.appearance().embed([picture]).shape[1]} numbers a crop"
        case "describer":
            return f"{roles.describer().identity} at hand"
        case "identity_embedder":
            vectors = roles.identity_embedder().embed([Subject((picture,), "a cup")])
            return f"{vectors.shape[1]} numbers a subject"
        case "text_embedder":
            return f"{roles.text_embedder().embed(['a cup']).shape[1]} numbers a text"
        case _:
            raise GebError(f"role {role} is not known to geb doctor; please report it")
