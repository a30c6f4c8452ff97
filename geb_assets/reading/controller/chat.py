"""A controller that a chat model serves (spec 4, with its defects mended)."""

from __future__ import annotations

from dataclasses import replace

from geb_assets.reading.controller import Decision, Progress
from geb_assets.reading.controller.prompt import REPAIR, SCHEMA, system, user
from geb_assets.reading.replies import json_object
from resources.chat import Chat, ChatFailure, Message

MAX_TOKENS = 1024


class ChatController:
    """Asks the model for a decision in JSON.

    A reply that cannot be used is repaired once; after that, or where the endpoint fails for the
    moment, the search goes on with the question itself, so that a fault costs no round.
    """

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    @property
    def name(self) -> str:
        return f"chat {self._chat.identity}"

    def decide(self, progress: Progress) -> Decision:
        """See :meth:`geb_assets.reading.controller.Controller.decide`."""
        messages = [
            Message("system", (system(progress.question.clock),)),
            Message("user", (user(progress),)),
        ]
        spent = [0, 0]
        fault = ""
        for _ in range(2):
            try:
                reply = self._chat.reply(messages, schema=SCHEMA, max_tokens=MAX_TOKENS)
            except ChatFailure as failure:
                if not failure.passing:
                    raise
                return replace(_go_on(progress, str(failure), spent), failed=True)
            spent[0] += reply.prompt_tokens
            spent[1] += reply.completion_tokens
            decision = parse_decision(reply.text)
            if isinstance(decision, Decision):
                return Decision(
                    decision.action,
                    decision.query,
                    error=fault and f"repaired: {fault}",
                    prompt_tokens=spent[0],
                    completion_tokens=spent[1],
                )
            fault = decision
            messages += [
                Message("assistant", (reply.text,)),
                Message("user", (REPAIR.format(fault=fault),)),
            ]
        return _go_on(progress, f"no usable reply: {fault}", spent)


def parse_decision(text: str) -> Decision | str:
    """The decision in a reply, else what is wrong with it."""
    found = json_object(text, "decision")
    if found is None:
        return "it holds no JSON object with a decision"
    action = str(found["decision"]).strip().lower()
    if action == "answer":
        return Decision("answer")
    if action != "search":
        return f"'{action[:40]}' is no decision"
    query = found.get("search_query")
    if not isinstance(query, str) or not query.strip():
        return "a search needs a search_query"
    return Decision("search", " ".join(query.split()))


def _go_on(progress: Progress, error: str, spent: list[int]) -> Decision:
    """The question itself, then with its choices; once both were searched, the answer."""
    question = progress.question
    searched = {round_.query for round_ in progress.rounds}
    for query in (question.text, question.with_choices):
        if query not in searched:
            return Decision(
                "search", query, error=error, prompt_tokens=spent[0], completion_tokens=spent[1]
            )
    return Decision("answer", error=error, prompt_tokens=spent[0], completion_tokens=spent[1])
