"""What every section of parameters is."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator


class Section(BaseModel):
    """The parameters of one asset."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    asset: ClassVar[str]

    @field_validator("*", mode="before")
    @classmethod
    def _no_truth_value(cls, value: Any, info: ValidationInfo) -> Any:
        if (
            isinstance(value, bool)
            and cls.model_fields[str(info.field_name)].annotation is not bool
        ):
            raise ValueError("Input should be a number, not true or false")
        return value
