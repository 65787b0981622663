"""Base models of request bodies. They refuse JSON values that neither the database nor a response can contain."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

_LARGEST = 2**63 - 1
PLAN_ID = "^[0-9a-f]+$"
"""Pattern of a plan's id."""


class Body(BaseModel):
    """Base class of request bodies: text is Unicode, and numbers fit 64 bits. Unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def refuse_what_cannot_be_kept(cls, body: object) -> object:
        """Check all values of the body, at any depth and under any name."""
        unchecked = [body]
        while unchecked:
            match unchecked.pop():
                case dict() as members:
                    unchecked += [*members, *members.values()]
                case list() as items:
                    unchecked += items
                case str() as text:
                    _check_text(text)
                case int() | float() as number:
                    _check_number(number)
        return body


TagKey = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[^\s=,]+$")]
TagValue = Annotated[str, Field(max_length=256, pattern=r"^[^\s=,]*$")]
Tags = Annotated[dict[TagKey, TagValue], Field(max_length=32)]
"""Labels of a pipeline. No key or value has a space, a comma or `=`, so that a list of them stays readable."""


PlanId = Annotated[str, Field(max_length=64, pattern=PLAN_ID)]
"""Id of an upgrade plan, as it was shown."""


class Udf(Body):
    """User-defined functions, as the source text of a file of them."""

    definition: str = Field(description="The source text.")
    language: Literal["python"] = "python"


def udf_texts(udfs: Iterable[str | Udf]) -> tuple[str, ...]:
    """Return the source texts of files that are given as text or as `Udf`."""
    return tuple(udf if isinstance(udf, str) else udf.definition for udf in udfs)


def _check_text(text: str) -> None:
    """Raise ValueError for half of a surrogate pair, which is no character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("text has half of a surrogate pair, which is no character") from None


def _check_number(number: float) -> None:
    """Raise ValueError for a number that the database cannot store."""
    if not math.isfinite(number) if isinstance(number, float) else abs(number) > _LARGEST:
        raise ValueError("a number does not fit 64 bits")
