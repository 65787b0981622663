"""Functions that choose among their arguments."""

from __future__ import annotations

from engine.functions.base import Function, always, takes_alike

CONDITIONAL_FUNCTIONS = (
    Function(
        "coalesce",
        "conditional",
        "coalesce(value, ...)",
        "The first value that is not NULL; NULL when all are.",
        takes_alike(),
        nullable=all,
    ),
    Function(
        "nullif",
        "conditional",
        "nullif(a, b)",
        "NULL when both are equal, else `a`.",
        takes_alike(least=2, most=2),
        nullable=always,
    ),
)
