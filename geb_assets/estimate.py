"""What building would ask of chat models, told before it is spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from geb_assets.home import Home
from geb_assets.lineage import Planner, Step
from geb_assets.run import trial_of, work_of
from geb_assets.stage import Expected, Stage
from resources.chat.openai_compatible import ChatSettings
from resources.profiles import CHATS, Asking, Profile


@dataclass(frozen=True)
class Calls:
    """The calls of one role for one partition: how many at most, and about how many tokens.

    None where it cannot be told before an earlier asset is built, or a benchmark's questions are
    found again. A reply that cannot be read, and is asked for once more, is not foreseen.
    """

    asset: str
    partition: str
    role: str
    model: str
    calls: int | None
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None

    def shown(self) -> tuple[str, str, str]:
        if self.calls is None:
            return "not known yet", "", ""
        tokens = (self.prompt_tokens or 0) + (self.completion_tokens or 0)
        return f"{self.calls:,}", f"{tokens:,}", "" if self.cost is None else f"{self.cost:,.2f}"


def estimate(home: Home, planner: Planner, steps: Sequence[Step]) -> list[Calls]:
    """For each partition that is not up to date, what its roles would ask.

    Tokens are the mean of the model's kept replies to the same role, else the stage's own guess.
    Replies that are kept already are counted as calls: whether one is asked for again is known
    only when it is.
    """
    found: list[Calls] = []
    cache = home.calls().cache
    for step in steps:
        stage = planner.stages[step.asset]
        for role, expected in stage.calls.items():
            settings = _asked(planner.profile, role)
            if settings is None:
                continue
            key = (step.asset, step.partition, role, settings.model)
            asked = _expected(home, planner, stage, step, expected)
            if asked is None:
                found.append(Calls(*key, None, None, None, None))
                continue
            if not asked.calls:
                continue
            guess = (asked.prompt_tokens, asked.completion_tokens)
            prompt, completion = (
                round(asked.calls * mean)
                for mean in cache.mean_tokens(settings.model, role) or guess
            )
            cost = settings.cost(prompt, completion)
            found.append(Calls(*key, asked.calls, prompt, completion, cost))
    return found


def _asked(profile: Profile, role: str) -> ChatSettings | None:
    """The chat model that serves a role, or is it; None where none does."""
    serving = profile.roles.get(role)
    if isinstance(serving, Asking):
        return profile.chat_settings(serving.chat)
    return profile.chat_settings(role) if serving is not None and role in CHATS else None


def _expected(
    home: Home,
    planner: Planner,
    stage: Stage,
    step: Step,
    expected: Callable[[Any], Expected | None],
) -> Expected | None:
    if stage.partition == "benchmark":
        # Its questions are known before its memories are.
        return expected(trial_of(home, planner, stage, step.partition))
    if step.state != "stale" or planner.missing(stage, step.partition) is not None:
        return None
    return expected(work_of(home, planner, stage, step.partition))
