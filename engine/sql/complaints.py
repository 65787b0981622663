"""Collecting everything that is wrong with a script, instead of stopping at the first fault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from engine.errors import EngineError, ScriptRefused, TextPosition


class Complaints:
    """What was found wrong so far."""

    def __init__(self) -> None:
        self._found: list[EngineError] = []

    @contextmanager
    def collect(self, at: TextPosition | None = None) -> Iterator[None]:
        """Note an error of the block and go on after it; one without a place gets `at`."""
        try:
            yield
        except ScriptRefused as refused:
            for one in refused.complaints:
                self.add(one, at)
        except EngineError as error:
            self.add(error, at)

    def add(self, error: EngineError, at: TextPosition | None = None) -> None:
        """Note one error, once."""
        error.at = error.at or at
        if isinstance(error, BrokenTableError) or any(
            (one.code, one.at, one.message) == (error.code, error.at, error.message) for one in self._found
        ):
            return
        self._found.append(error)

    @property
    def found(self) -> tuple[EngineError, ...]:
        """The errors so far, in the order they were met."""
        return tuple(self._found)

    def raise_any(self) -> None:
        """Refuse the script when there was any complaint."""
        if self._found:
            raise ScriptRefused(self._found)


@contextmanager
def errors_located(at: TextPosition | None) -> Iterator[None]:
    """An error of the block that has no place gets this one."""
    try:
        yield
    except EngineError as error:
        error.at = error.at or at
        raise


class BrokenTableError(EngineError):
    """A use of a table whose own declaration was refused; said once, there, and never repeated."""

    code = "sql.broken_table"
