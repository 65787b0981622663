"""The functions that scripts may call."""

from __future__ import annotations

from itertools import groupby

from engine.docs.markdown import code, page, section, table
from engine.functions import AGGREGATES, FUNCTIONS, AggregateFunction, Function


def functions_page() -> str:
    """Scalar functions by family, then aggregates."""
    families = groupby(FUNCTIONS.values(), key=lambda function: function.family)
    sections = [section(family.capitalize(), _listing(list(functions))) for family, functions in families]
    aggregates = section("Aggregates", "Of all rows of a group.", _listing(list(AGGREGATES.values())))
    return page(
        "Functions",
        "What is not on this page cannot be called. Names are known without regard to case.",
        [*sections, aggregates],
    )


def _listing(functions: list[Function] | list[AggregateFunction]) -> str:
    return table(
        ["call", "gives", "also called"],
        [[code(each.usage), each.doc, ", ".join(map(code, each.aliases))] for each in functions],
    )
