"""The base of all errors, their causes, and the text of exceptions in general.

Clients, tests and retries look at `code`, `retryable` and `is_outage`, never at the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar


@dataclass(frozen=True, slots=True, order=True)
class TextPosition:
    """A position in the text of a script; line and column count from one."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


class Cause(StrEnum):
    """The cause of an error, which decides about retries."""

    OUTAGE = "outage"
    """Another system is down: a retry helps once it is back."""
    MISTAKE = "mistake"
    """Needs a fix first: a retry fails the same way, or does harm."""
    UNKNOWN = "unknown"
    """A retry may help, up to a number of tries."""


class EngineError(Exception):
    """Something a user can understand and put right; `message` says what is wrong, `hint` what to do next, and
    `allowed_by` names the field of the request, if there is one, with which it is done all the same."""

    code: ClassVar[str] = "engine.error"
    retryable: ClassVar[bool] = False
    is_outage: ClassVar[bool] = False
    """Whether another system is down. Every outage is retryable."""

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        at: TextPosition | None = None,
        allowed_by: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.at = at
        self.allowed_by = allowed_by

    def __str__(self) -> str:
        place = f" at {self.at}" if self.at else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{self.code}{place}: {self.message}{hint}"


def cause_of(error: EngineError | type[EngineError]) -> Cause:
    """Return the cause that the error's class declares."""
    if error.is_outage:
        return Cause.OUTAGE
    return Cause.UNKNOWN if error.retryable else Cause.MISTAKE


def message_of(error: BaseException) -> str:
    """Return what an exception says, or its class where it says nothing: never an empty text. Spark's exceptions ask
    the JVM for their text, and raise when it is gone."""
    try:
        text = str(error).strip()
    except Exception:  # noqa: BLE001 - whatever goes wrong there, the first error is the one to show
        text = ""
    return text or type(error).__name__
