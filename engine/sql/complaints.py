"""Collecting everything that is wrong with a script, instead of stopping at the first fault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from engine.errors import EngineError, ScriptRefused, TextPosition


class Complaints:
    """What is wrong with a script, as far as it has been read."""

    def __init__(self) -> None:
        self._errors: list[EngineError] = []

    @contextmanager
    def collect(self, at: TextPosition | None = None) -> Iterator[None]:
        """Note an error of the block and go on after it; one without a position gets `at`."""
        try:
            yield
        except ScriptRefused as refused:
            for complaint in refused.complaints:
                self.add(complaint, at)
        except EngineError as error:
            self.add(error, at)

    def add(self, error: EngineError, at: TextPosition | None = None) -> None:
        """Note one error, once."""
        error.at = error.at or at
        # The same fault may be met more than once, as in a query that several others are made of.
        is_known = any(
            (noted.code, noted.at, noted.message) == (error.code, error.at, error.message) for noted in self._errors
        )
        if not is_known and not isinstance(error, BrokenTableError):
            self._errors.append(error)

    @property
    def errors(self) -> tuple[EngineError, ...]:
        """The errors so far, in the order they were met."""
        return tuple(self._errors)

    def raise_any(self) -> None:
        """Refuse the script when there was any complaint."""
        if self._errors:
            raise ScriptRefused(self._errors)


@contextmanager
def errors_located(at: TextPosition | None) -> Iterator[None]:
    """Give an error of the block that has no position this one."""
    try:
        yield
    except EngineError as error:
        error.at = error.at or at
        raise


class BrokenTableError(EngineError):
    """A use of a table whose own declaration was refused; said once, there, and never repeated."""

    code = "sql.broken_table"
