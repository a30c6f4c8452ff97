"""``geb models``: what serves each role of the profile, and what of it is here."""

from __future__ import annotations

import importlib.util
from typing import Any

from rich.table import Table as RichTable

from geb_assets.cli.output import Output
from geb_assets.home import Home
from geb_assets.lineage import Planner
from geb_assets.registry import Registry
from geb_assets.stages import STAGES
from resources.chat.openai_compatible import ChatSettings
from resources.packages import is_present
from resources.profiles import Profile
from resources.published import PUBLISHED, hub_cache, is_here, library_of


def list_models(output: Output, home: Home) -> dict[str, Any]:
    """Tells of the profile's roles, options and files; returns the same as JSON values."""
    profile = home.profile()
    planner = Planner(STAGES, Registry(), profile, {})
    roles = {
        role: str(profile.identity(role, planner.defaults(stage)))
        for stage in STAGES
        for role in stage.served_by(profile)
    }
    options = {
        role: serving.options.model_dump(mode="json", exclude_none=True)
        for role, serving in profile.roles.items()
    }
    files = [*_files(profile, home), *_fetched(profile, home)]
    output.plain.print(f"profile {profile.name}", _shown_roles(roles, profile), "")
    if files:
        output.plain.print(_shown_files(files), "")
    if any(file["by"] == "transformers" for file in files):
        output.say(f"transformers keeps its models in {hub_cache()}")
    if any(file["by"] for file in files) and importlib.util.find_spec("torch") is None:
        output.say("the extra 'vision' is not installed: its roles cannot run in this environment")
    own = home.registry().options.get(profile.name, {})
    for role, values in own.items():
        told = "  ".join(f"{role}.{name}={value}" for name, value in values.items())
        output.say(f"set in this home: {told}")
    output.say("every option: geb models --json    set one: geb use PROFILE ROLE.OPTION=VALUE")
    return {"profile": profile.name, "roles": roles, "options": options, "files": files}


def _files(profile: Profile, home: Home) -> list[dict[str, Any]]:
    """Files out of registry packages, which this package fetches itself."""
    return [
        {
            "file": file.name,
            "package": f"{file.project} {file.version}",
            "by": "",
            "size": file.size,
            "licence": file.licence,
            "present": is_present(file, home.models),
        }
        for file in profile.files
    ]


def _fetched(profile: Profile, home: Home) -> list[dict[str, Any]]:
    """Models that a library fetches at their first use, each once."""
    names = dict.fromkeys(
        name for serving in profile.roles.values() for name in serving.options.fetched()
    )
    return [
        {
            "file": name,
            "package": "",
            "by": library_of(name),
            "size": PUBLISHED[name].size if name in PUBLISHED else None,
            "licence": PUBLISHED[name].licence if name in PUBLISHED else "see the model's card",
            "present": is_here(name, home.models),
        }
        for name in names
    ]


def _shown_roles(roles: dict[str, str], profile: Profile) -> RichTable:
    """Roles of the stages, then the chat models that some of them ask."""
    shown = _table("role", "model")
    for role, serving in profile.roles.items():
        if isinstance(serving.options, ChatSettings):
            asked = profile.chat_settings(role)
            shown.add_row(role, f"{asked.model} at {asked.base_url}")
        else:
            shown.add_row(role, roles[role])
    return shown


def _shown_files(files: list[dict[str, Any]]) -> RichTable:
    shown = _table("file", "size", "", "from", "licence")
    for file in files:
        state = "present" if file["present"] else "will be downloaded"
        origin = file["package"] or file["by"] or "this machine"
        # A kept file is named after its package, which stands beside it here.
        name = file["file"].removeprefix(f"{file['package'].replace(' ', '-')}-")
        shown.add_row(name, _size(file["size"]), state, origin, file["licence"])
    return shown


def _size(size: int | None) -> str:
    if size is None:
        return "?"
    return f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{size / 1e3:,.1f} kB"


def _table(*columns: str) -> RichTable:
    shown = RichTable(box=None)
    for name in columns:
        shown.add_column(name, overflow="fold")
    return shown
