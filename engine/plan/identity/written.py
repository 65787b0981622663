"""Canonical form of each sink's rows, to tell changed computations from changed spelling.

In addition to `engine.plan.identity.meaning`, this includes the order of filters and rankings (filtering the best three
rows differs from the best three filtered rows), and the code of user-defined functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

from engine.plan.expressions.expr import Call
from engine.plan.identity.meaning import Code, Meanings, digest, order_text, over_text
from engine.plan.nodes import Aggregate, Branch, EventTimeOver, NamedOver, Over, Top, UpdatingTop
from engine.plan.placement.split import Parts
from engine.plan.tree import Node, walk
from engine.types import Type


def written_by(parts: Parts, codes: Mapping[str, Code]) -> Mapping[str, str]:
    """Return a text for the meaning of each sink's rows, by table. `codes` are as in `Meanings`."""
    meanings = Meanings(codes, parts.branches, turns=True)
    texts: dict[str, list[str]] = {}
    for write in parts.writes:
        meaning = meanings.of(write.input)
        columns = [meaning.columns[name] for name in write.input.schema.names]
        steps = sorted({*_steps(meanings, write.input)})
        texts.setdefault(write.table, []).append(digest(meaning.origin, meaning.row_digest, *columns, *steps))
    return {table: digest(*sorted(rows)) for table, rows in texts.items()}


def _steps(meanings: Meanings, node: Node) -> Iterator[str]:
    """Yield every step that decides which rows are written, and the code of all functions that are called."""
    yield from meanings.code_of(functions_of(node))
    for relation in walk(node):
        match relation:
            case Branch(index):
                yield from _steps(meanings, meanings.branches[index])
            case Over(source, _, functions):
                below = meanings.of(source)
                yield digest("over", *sorted(below.rows), *(over_text(call, below.columns) for call in functions))
            case EventTimeOver(source, _, order, functions):
                below = meanings.of(source)
                by = order_text(order, below.columns)
                yield digest("event time over", by, *(over_text(call, below.columns) for call in functions))
            case Top(source, _, order, limit, offset):
                below = meanings.of(source)
                yield digest("top", *sorted(below.rows), order_text(order, below.columns), f"{limit} after {offset}")
            case UpdatingTop(source, function, _, order, _, limit):
                yield digest("ranking", function, order_text(order, meanings.of(source).columns), str(limit))


def calls_of(node: Node) -> Iterator[Call]:
    """Return every call in the expressions of the node and all nodes below it, whatever fields hold them."""
    return (call for relation in walk(node) for call in _inside(relation) if isinstance(call, Call))


def functions_of(node: Node) -> Iterator[str]:
    """Return the names of all functions and aggregates that the node and all nodes below it call."""
    return (call.function for relation in walk(node) for call in _inside(relation))


def _inside(value: object) -> Iterator[Call | Aggregate | NamedOver]:
    if isinstance(value, Call | Aggregate | NamedOver):
        yield value
    if isinstance(value, tuple):
        parts = list(value)
    elif is_dataclass(value) and not isinstance(value, Type):
        parts = [getattr(value, field.name) for field in fields(value)]
    else:
        return
    for part in parts:
        if not isinstance(part, Node):
            yield from _inside(part)
