"""Every error a user can meet, each with a stable code.

Clients, tests and retries look at `code` and `retryable`, never at the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where in a script something stands; both numbers count from one."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


class EngineError(Exception):
    """Something a user can understand and mend; `message` says what is wrong, `hint` what to do next."""

    code: ClassVar[str] = "engine.error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str | None = None, at: Place | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.at = at

    def __str__(self) -> str:
        place = f" at {self.at}" if self.at else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{self.code}{place}: {self.message}{hint}"


class ScriptRefused(EngineError):  # noqa: N818 - it is not one error but the list of them
    """A script with at least one complaint; `complaints` has all of them, in the order of the text."""

    code = "sql.refused"

    def __init__(self, complaints: Sequence[EngineError]) -> None:
        self.complaints = tuple(sorted(complaints, key=lambda complaint: complaint.at or Place(0, 0)))
        super().__init__("\n".join(str(complaint) for complaint in self.complaints))

    def __str__(self) -> str:
        return self.message


class SqlError(EngineError):
    """The text of a script is at fault; nothing was run."""

    code = "sql.error"


class OptionError(SqlError):
    """A WITH option is at fault; nothing was run."""

    code = "option.error"


class DataError(EngineError):
    """A record that was read cannot be taken as its table says."""

    code = "data.error"


class StateError(EngineError):
    """The state directory does not fit what is asked of it; nothing was changed."""

    code = "state.error"


class RunError(EngineError):
    """A run failed for a reason outside the script."""

    code = "run.error"
