"""Print calls of user-defined functions as Spark SQL, under names that clash with no function of Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.functions import FUNCTIONS
from engine.plan.expressions.expr import Call

UNCOPIED = "once "
"""Prefix of a function whose call Spark must not duplicate."""


def is_udf(call: Call) -> bool:
    """Whether the call is one of a user-defined function."""
    return call.function not in FUNCTIONS


def uncopied(call: Call) -> Call:
    """Return the call as one that Spark must not copy. It must be alone in a column."""
    return replace(call, function=UNCOPIED + call.function)


def udf_to_sql(name: str, arguments: Sequence[str], when: str | None = None) -> str:
    """Return a call of a user-defined function; `when` is the condition under which it is called, printed like the
    arguments."""
    if when is None:
        return f"{name_of_udf(name)}({', '.join(arguments)})"
    return f"{name_of_udf(name, when=True)}({', '.join([when, *arguments])})"


def rows_to_sql(arguments: Sequence[str]) -> str:
    """Return the arguments of a user-defined aggregate as one value that is never NULL, to be gathered in a list."""
    members = ", ".join(f"'c{index}', {argument}" for index, argument in enumerate(arguments))
    return f"named_struct({members})"


def name_of_udf(name: str, *, when: bool = False) -> str:
    """Return Spark's name of a function; its prefix tells how the function is called."""
    mark, _, plain_name = name.lower().rpartition(" ")
    return f"arroyo_own{mark}{'when' * when}_{plain_name}"
