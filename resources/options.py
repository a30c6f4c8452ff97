"""What a home may choose of the model behind a role: which weights, and where and how they run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from geb_assets.errors import GebError


class Options(BaseModel):
    """The options of one role's adapter; this one has none.

    Apart from the parameters, which are the method's and belong to a recording: options are a
    home's. What changes rows (weights, revision, precision) goes into the model's identity; what
    does not (device, batch, address) stays out of it, so that no other machine makes a row stale.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def fetched(self) -> tuple[str, ...]:
        """Models that the adapter's library fetches where they are not here."""
        return ()

    def having(self, where: str, values: Mapping[str, Any]) -> Self:
        """These options with some values replaced.

        Raises GebError, naming ``where`` they were set, for an unknown option or a wrong value.
        """
        try:
            return type(self).model_validate({**self.model_dump(), **values})
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"][:1])
            if first["type"] == "extra_forbidden":
                known = ", ".join(type(self).model_fields) or "none"
                raise GebError(f"{where} has no option '{name}'; it has {known}") from None
            raise GebError(f"{where}.{name}: {first['msg']} (got {first['input']!r})") from None


Device = Annotated[str, Field(pattern=r"^(cpu|mps|cuda(:\d+)?)$")]
"""Where a model runs, as torch names it: ``cpu``, ``cuda``, ``cuda:1``, ``mps``."""

Precision = Literal["float32", "bfloat16", "float16"]
"""The numbers that a model computes in."""
