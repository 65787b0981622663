"""Reference of SQL functions."""

from __future__ import annotations

from itertools import groupby

from engine.docs.markdown import code, page, section, table
from engine.functions import AGGREGATES, FUNCTIONS, OVER, AggregateFunction, Function, OverFunction

_HEADINGS = {
    "json": "JSON",
    "regex": "Regular expressions",
    "array": "Arrays",
    "struct": "Structs",
    "operators": "Operators",
}


def functions_page() -> str:
    """Scalar functions by family, then aggregates."""
    families = groupby(FUNCTIONS.values(), key=lambda function: function.family)
    sections = [
        section(_HEADINGS.get(family, family.capitalize()), _listing(list(functions))) for family, functions in families
    ]
    aggregates = section("Aggregates", "Of all rows of a group.", _listing(list(AGGREGATES.values())))
    doc = "Of a row among the rows of its window. Aggregates may be used with OVER as well."
    over = section("Before OVER", doc, _over_listing(list(OVER.values())))
    return page(
        "Functions",
        "What is not on this page cannot be called. The case of names does not matter.",
        [*sections, aggregates, over],
    )


def _listing(functions: list[Function] | list[AggregateFunction]) -> str:
    return table(
        ["call", "gives", "also called"],
        [[code(function.usage), function.doc, ", ".join(map(code, function.aliases))] for function in functions],
    )


def _over_listing(functions: list[OverFunction]) -> str:
    return table(["call", "gives"], [[code(function.usage), function.doc] for function in functions])
