"""A reply as a JSON object of a given form: asked for, validated, repaired once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from geb_assets.errors import GebError
from resources.chat import ChatFailure, Message
from resources.chat.calls import KeptChat

Form = TypeVar("Form", bound=BaseModel)


class NoReply(GebError):
    """No usable reply to one request; the next request may well have one."""


def structured(
    chat: KeptChat,
    messages: Sequence[Message],
    form: type[Form],
    *,
    max_tokens: int,
    temperature: float,
    context: Any = None,
) -> Form:
    """The reply to a request as an object of ``form``, whose validators see ``context``.

    A reply of another form is shown to the model once with what is wrong with it (spec 9.11).
    Raises NoReply where it is still of no use, or where the call failed for now; what was said is
    then forgotten, so that a rerun asks anew. Raises ChatFailure for what the user has to mend.
    """
    schema = strict_schema(form)
    asked = list(messages)
    requests: list[list[Message]] = []
    fault = ""
    try:
        for _ in range(2):
            requests.append(list(asked))
            text = chat.reply(
                asked, schema=schema, max_tokens=max_tokens, temperature=temperature
            ).text
            try:
                return form.model_validate(_object(text), context=context)
            except (ValidationError, ValueError) as error:
                fault = _fault(error)
            asked += [Message("assistant", (text,)), Message("user", (_repair(fault),))]
    except ChatFailure as failure:
        if not failure.passing:
            raise
        fault = str(failure)
    for request in requests:
        chat.forget(request, schema=schema, max_tokens=max_tokens, temperature=temperature)
    raise NoReply(fault)


@lru_cache
def strict_schema(form: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a form as strict endpoints want it: every key required, no others."""
    schema = form.model_json_schema()
    waiting: list[Any] = [schema]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            waiting += one.values()
            if one.get("type") == "object" and "properties" in one:
                one["required"] = list(one["properties"])
                one["additionalProperties"] = False
    return schema


def _object(text: str) -> Any:
    """The JSON object of a reply, which may stand between other words."""
    first, last = text.find("{"), text.rfind("}")
    if first < 0 or last < first:
        raise ValueError("the reply holds no JSON object")
    try:
        return json.loads(text[first : last + 1], strict=False)
    except json.JSONDecodeError as error:
        raise ValueError(f"the reply is no valid JSON: {error}") from None


def _fault(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    faults = []
    for one in error.errors()[:6]:
        where = ".".join(str(part) for part in one["loc"])
        said = one["msg"].removeprefix("Value error, ")
        faults.append(f"{where}: {said}" if where else said)
    return "; ".join(faults)


def _repair(fault: str) -> str:
    return (
        f"That reply cannot be used: {fault}. Send the whole JSON object again with this put right "
        "and nothing else changed. JSON only."
    )
