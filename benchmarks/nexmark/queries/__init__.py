"""All of Nexmark's queries."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence

from benchmarks.nexmark.queries.base import Query
from benchmarks.nexmark.queries.grouped import GROUPED
from benchmarks.nexmark.queries.joined import JOINED
from benchmarks.nexmark.queries.stateless import STATELESS
from benchmarks.nexmark.queries.windowed import WINDOWED

QUERIES: Mapping[str, Query] = {
    query.name: query
    for query in sorted((*STATELESS, *WINDOWED, *JOINED, *GROUPED), key=lambda query: int(query.name[1:]))
}
NINE = ("q0", "q1", "q2", "q3", "q5", "q7", "q8", "q11", "q12")
"""Those that goals are set for."""


def queries_of(text: str) -> Sequence[str]:
    """Those that an argument names, with commas, or all of them."""
    names = list(QUERIES) if text == "all" else text.split(",")
    if unknown := set(names) - set(QUERIES):
        raise ArgumentTypeError(f"no query {', '.join(sorted(unknown))}; there are {', '.join(QUERIES)}")
    return names
