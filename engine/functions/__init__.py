"""One declaration per SQL function; what is not declared here cannot be called."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from engine.functions.aggregates import AGGREGATE_FUNCTIONS
from engine.functions.base import AggregateFunction, Function, Signature
from engine.functions.conditional import CONDITIONAL_FUNCTIONS
from engine.functions.hashing import BINARY_FUNCTIONS, HASH_FUNCTIONS
from engine.functions.math import MATH_FUNCTIONS
from engine.functions.operators import OPERATORS
from engine.functions.regex import REGEX_FUNCTIONS
from engine.functions.text import TEXT_FUNCTIONS
from engine.functions.time import TIME_FUNCTIONS

__all__ = ["AGGREGATES", "FUNCTIONS", "AggregateFunction", "Function", "Signature", "find_aggregate", "find_function"]

_SCALARS = (
    *OPERATORS,
    *CONDITIONAL_FUNCTIONS,
    *MATH_FUNCTIONS,
    *TEXT_FUNCTIONS,
    *REGEX_FUNCTIONS,
    *HASH_FUNCTIONS,
    *BINARY_FUNCTIONS,
    *TIME_FUNCTIONS,
)

FUNCTIONS: Mapping[str, Function] = MappingProxyType({function.name: function for function in _SCALARS})
AGGREGATES: Mapping[str, AggregateFunction] = MappingProxyType(
    {function.name: function for function in AGGREGATE_FUNCTIONS}
)

_BY_ANY_NAME = {name: function for function in _SCALARS for name in (function.name, *function.aliases)}
_AGGREGATES_BY_ANY_NAME = {
    name: function for function in AGGREGATE_FUNCTIONS for name in (function.name, *function.aliases)
}


def find_function(name: str) -> Function | None:
    """The scalar function of that name or alias, without regard to case, or None."""
    return _BY_ANY_NAME.get(name.lower())


def find_aggregate(name: str) -> AggregateFunction | None:
    """The aggregate function of that name or alias, without regard to case, or None."""
    return _AGGREGATES_BY_ANY_NAME.get(name.lower())
