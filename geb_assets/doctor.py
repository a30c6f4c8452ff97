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
from resources.chat import Message
from resources.chat.openai_compatible import ChatSettings, OpenAICompatible
from resources.describer import Crop, Encounter
from resources.detector import Detections
from resources.embedder import Film, Subject
from resources.images import Image
from resources.packages import fetch_all
from resources.profiles import Asking, Roles


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
    tried: set[str] = set()
    for stage in STAGES:
        served = stage.served_by(profile)
        for role in (one for one in served if one not in tried):
            tried.add(role)
            roles = Roles(profile, home.models, planner.defaults(stage), served, home.calls())
            attempt = partial(_role, role, roles)
            findings.append(_try(home, f"role {role}", attempt))
    for role, serving in profile.roles.items():
        if isinstance(serving.options, ChatSettings):
            answers = partial(_chat, profile.chat_settings(role))
            findings.append(_try(home, f"role {role}", answers))
    if "clip_embedder" not in profile.roles:
        none = f"none: profile {profile.name} has no clip_embedder; searches go by words and text"
        findings.append(Finding("visual channel", True, none))
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


def _chat(settings: ChatSettings) -> str:
    question = Message("user", ("Reply with the one word: ready",))
    reply = OpenAICompatible(settings).reply([question], max_tokens=16)
    return f"{settings.model} at {settings.base_url} says '{reply.text.strip()[:40]}'"


def _encounter(picture: Image) -> Encounter:
    box = np.array([[16, 16, 64, 64]], np.float32)
    return Encounter(
        label="cup",
        confidence=0.9,
        start_s=0.0,
        end_s=2.0,
        times=np.array([0.0, 1.0]),
        boxes=np.repeat(box, 2, axis=0),
        width=picture.shape[1],
        height=picture.shape[0],
        crops=(Crop(picture, box[0]),),
    )


def _role(role: str, roles: Roles) -> str:
    picture = np.full((96, 128, 3), 127, np.uint8)
    match role:
        case "detector":
            (boxes,) = roles.detector().detect([picture])
            return f"{len(boxes)} boxes in a gray picture"
        case "tracker":
            box = np.array([[16, 16, 64, 64]], np.float32)
            found = [Detections(box, np.ones(1, np.float32), ("cup",))] * 3
            numbers = roles.tracker().track(found, [picture] * 3, 10.0)
            return f"{len({int(n) for row in numbers for n in row})} track of a box that stands"
        case "appearance":
            return f"{roles.appearance().embed([picture]).shape[1]} numbers a crop"
        case _ if isinstance(roles.profile.roles[role], Asking):
            asking = roles.profile.identity(role, roles.section)
            return f"{asking} at hand; its chat model is tried below"
        case "describer":
            return f"'{roles.describer().describe(_encounter(picture)).summary}'"
        case "identity_embedder":
            vectors = roles.identity_embedder().embed([Subject((picture,), "a cup")])
            return f"{vectors.shape[1]} numbers a subject"
        case "text_embedder":
            return f"{roles.text_embedder().embed(['a cup']).shape[1]} numbers a text"
        case "clip_embedder":
            embedder = roles.clip_embedder()
            assert embedder is not None
            clips = embedder.embed_clips([Film((picture,) * 4, 1.0)])
            return f"{clips.shape[1]} numbers a clip, {embedder.embed(['a cup']).shape[1]} a query"
        case _:
            raise GebError(f"role {role} is not known to geb doctor; please report it")
