"""One declaration per SQL function; what is not declared here cannot be called."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from engine.functions.aggregates import AGGREGATE_FUNCTIONS
from engine.functions.base import AggregateFunction, Function, Signature
from engine.functions.conditional import CONDITIONAL_FUNCTIONS
from engine.functions.hashing import BINARY_FUNCTIONS, HASH_FUNCTIONS
from engine.functions.json import JSON_FUNCTIONS
from engine.functions.math import MATH_FUNCTIONS
from engine.functions.operators import OPERATORS
from engine.functions.over import OVER_FUNCTIONS, OverFunction
from engine.functions.regex import REGEX_FUNCTIONS
from engine.functions.text import TEXT_FUNCTIONS
from engine.functions.time import TIME_FUNCTIONS

__all__ = [
    "AGGREGATES",
    "FUNCTIONS",
    "OVER",
    "AggregateFunction",
    "Function",
    "OverFunction",
    "Signature",
    "find_aggregate",
    "find_function",
    "find_over",
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
    """The function of that name that stands before OVER only, without regard to case, or None."""
    return OVER.get(name.lower())


def find_function(name: str) -> Function | None:
    """The scalar function of that name or alias, without regard to case, or None."""
    return _BY_ANY_NAME.get(name.lower())


def find_aggregate(name: str) -> AggregateFunction | None:
    """The aggregate function of that name or alias, without regard to case, or None."""
    return _AGGREGATES_BY_ANY_NAME.get(name.lower())
