"""What a command says of chat models before any is asked."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rich.table import Table as RichTable

from evaluation.readers import READER
from geb_assets.cli.output import Output
from geb_assets.estimate import Calls
from resources.profiles import Profile


def tell_calls(output: Output, asked: Sequence[Calls]) -> None:
    """A row for each role and partition that asks anything."""
    if not asked:
        return
    table = RichTable("chat model", "for", "calls at most", "tokens, about", "cost", box=None)
    for one in asked:
        table.add_row(one.model, f"{one.asset} of {one.partition}", *one.shown())
    output.plain.print("", table)
    if any(one.asset == "predictions" for one in asked):
        output.say("a question is counted with all its rounds; the controller may stop sooner")


def tell_unused_chat(output: Output, profile: Profile) -> None:
    """A note where the environment names a chat model that no benchmark asks."""
    if os.environ.get("GEB_CHAT_URL") and READER not in profile.roles:
        output.say(
            f"note: GEB_CHAT_URL is set and not used here: benchmarks are read by the profile's "
            f"own models, and {profile.name} has no chat model (geb use)"
        )
