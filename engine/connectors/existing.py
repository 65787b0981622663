"""Option for a target that another pipeline has written."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import Field as Option

Existing: TypeAlias = Literal["fail", "take_over"]


def existing_option(taken_over: str) -> Any:
    """Return the option `sink.existing`; `taken_over` says what happens to existing content, as the end of a
    sentence."""
    return Option(
        "fail",
        alias="sink.existing",
        description="What the pipeline does where it would write over what it has not written itself, or where "
        f"another pipeline writes: `fail` stops; `take_over` makes it the owner, {taken_over}.",
    )
