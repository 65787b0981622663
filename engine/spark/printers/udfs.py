"""Print calls of user-defined functions as Spark SQL, under names that clash with no function of Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.functions import FUNCTIONS
from engine.plan.expressions.expr import Call

UNCOPIED = "once "
"""Prefix of a function whose call Spark must not duplicate."""


def is_udf(call: Call) -> bool:
    """Whether it is a call of a function of the user's."""
    return call.function not in FUNCTIONS


def uncopied(call: Call) -> Call:
    """Return the call as one that Spark must not copy. It may only stand alone in a column."""
    return replace(call, function=UNCOPIED + call.function)


def udf_to_sql(name: str, arguments: Sequence[str], when: str | None = None) -> str:
    """Return a call of a function of the user's; `when` is the condition it is called under, printed as the
    arguments are."""
    if when is None:
        return f"{name_of_udf(name)}({', '.join(arguments)})"
    return f"{name_of_udf(name, when=True)}({', '.join([when, *arguments])})"


def rows_to_sql(arguments: Sequence[str]) -> str:
    """Return the arguments of an aggregate of the user's as one value that is never NULL, to be gathered in a list."""
    members = ", ".join(f"'c{index}', {argument}" for index, argument in enumerate(arguments))
    return f"named_struct({members})"


def name_of_udf(name: str, *, when: bool = False) -> str:
    """Return Spark's name of a function; the mark before its name tells how it is called."""
    mark, _, plain_name = name.lower().rpartition(" ")
    return f"arroyo_own{mark}{'when' * when}_{plain_name}"
