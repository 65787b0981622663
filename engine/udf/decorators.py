"""Decorators for user-defined functions. The parser of the file (`engine.udf.reading`) interprets them; at run time
they return the function unchanged, so that it can be called and tested."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

Marked = TypeVar("Marked", bound=Callable[..., Any])


@overload
def udf(function: Marked, /) -> Marked: ...
@overload
def udf(
    *,
    vectorized: bool = False,
    ordered: bool = True,
    max_in_flight: int = 1000,
    timeout: str = "5s",
    on_timeout: Literal["error", "null"] = "error",
) -> Callable[[Marked], Marked]: ...
def udf(function: Any = None, /, **_options: object) -> Any:
    """A function of the values of a row. A `vectorized` one gets and gives Arrow arrays. Of an `async` one up to
    `max_in_flight` calls are under way in each task, and each may take as long as `timeout`."""
    return _keep if function is None else function


@overload
def udaf(function: Marked, /) -> Marked: ...
@overload
def udaf(*, state_version: int) -> Callable[[Marked], Marked]: ...
def udaf(function: Any = None, /, **_options: object) -> Any:
    """A function of all rows of a group: one of lists, or a class with `add` and `finish`. As long as its
    `state_version` stays, other code of it goes on with what this one keeps."""
    return _keep if function is None else function


def udtf(function: Marked, /) -> Marked:
    """A function that gives any number of rows for each row."""
    return function


def _keep(function: Any) -> Any:
    return function
