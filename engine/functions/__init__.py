"""Registry of SQL functions. Functions that are declared neither here nor by the user in Python cannot be called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType

from engine.functions.aggregates import AGGREGATE_FUNCTIONS
from engine.functions.arrays import ARRAY_FUNCTIONS
from engine.functions.arrow_types import OTHER_FUNCTIONS
from engine.functions.base import AggregateFunction, Function, Signature
from engine.functions.conditional import CONDITIONAL_FUNCTIONS, STRUCT_FUNCTIONS
from engine.functions.json import JSON_FUNCTIONS
from engine.functions.math import MATH_FUNCTIONS
from engine.functions.operators import OPERATORS
from engine.functions.over import OVER_FUNCTIONS, OverFunction
from engine.functions.text import BINARY_FUNCTIONS, HASH_FUNCTIONS, REGEX_FUNCTIONS, TEXT_FUNCTIONS
from engine.functions.time import TIME_FUNCTIONS

__all__ = [
    "AGGREGATES",
    "FUNCTIONS",
    "OVER",
    "AggregateFunction",
    "Function",
    "OverFunction",
    "Signature",
    "UserFunctions",
    "find_aggregate",
    "find_function",
    "find_over",
    "function_names",
    "user_functions",
]

_SCALARS = (
    *OPERATORS,
    *CONDITIONAL_FUNCTIONS,
    *MATH_FUNCTIONS,
    *TEXT_FUNCTIONS,
    *REGEX_FUNCTIONS,
    *HASH_FUNCTIONS,
    *BINARY_FUNCTIONS,
    *TIME_FUNCTIONS,
    *JSON_FUNCTIONS,
    *ARRAY_FUNCTIONS,
    *STRUCT_FUNCTIONS,
    *OTHER_FUNCTIONS,
)

FUNCTIONS: Mapping[str, Function] = MappingProxyType({function.name: function for function in _SCALARS})
AGGREGATES: Mapping[str, AggregateFunction] = MappingProxyType(
    {function.name: function for function in AGGREGATE_FUNCTIONS}
)

_BY_ANY_NAME = {name: function for function in _SCALARS for name in (function.name, *function.aliases)}
_AGGREGATES_BY_ANY_NAME = {
    name: function for function in AGGREGATE_FUNCTIONS for name in (function.name, *function.aliases)
}


OVER: Mapping[str, OverFunction] = MappingProxyType({function.name: function for function in OVER_FUNCTIONS})


def find_over(name: str) -> OverFunction | None:
    """Return the function of that name that is only valid before OVER, without regard to case, or None."""
    return OVER.get(name.lower())


@dataclass(frozen=True, slots=True)
class UserFunctions:
    """User-defined functions of one script, by lower-case name."""

    scalars: Mapping[str, Function] = field(default_factory=dict)
    aggregates: Mapping[str, AggregateFunction] = field(default_factory=dict)


_USER_FUNCTIONS: ContextVar[UserFunctions] = ContextVar("user_functions", default=UserFunctions())  # noqa: B039 - it is frozen


@contextmanager
def user_functions(functions: UserFunctions) -> Iterator[None]:
    """Make the user's functions available while a script is translated in the context."""
    token = _USER_FUNCTIONS.set(functions)
    try:
        yield
    finally:
        _USER_FUNCTIONS.reset(token)


def function_names() -> list[str]:
    """Return the names of all scalar functions that may be called."""
    return [*FUNCTIONS, *_USER_FUNCTIONS.get().scalars]


def aggregate_names() -> list[str]:
    """Return the names of all aggregate functions that may be called."""
    return [*AGGREGATES, *_USER_FUNCTIONS.get().aggregates]


def find_function(name: str) -> Function | None:
    """Return the scalar function of that name or alias, without regard to case, or None."""
    return _BY_ANY_NAME.get(name.lower()) or _USER_FUNCTIONS.get().scalars.get(name.lower())


def find_aggregate(name: str) -> AggregateFunction | None:
    """Return the aggregate function of that name or alias, without regard to case, or None."""
    return _AGGREGATES_BY_ANY_NAME.get(name.lower()) or _USER_FUNCTIONS.get().aggregates.get(name.lower())
