"""What operators know their rows and keys by: hashes of values, which stay what they are when numbers become wider.

    the state     keys n INT, each known by the hash of an INT
    the script    keys n BIGINT
    as it runs    a key that fits into INT is known by the hash of an INT still, any other by that of a BIGINT

So no row changes its bucket, its id or its partners. Which types a value was hashed in is a matter of the state, as
what it began as is (`plan/forms.py`).
"""

from __future__ import annotations

from dataclasses import replace

from engine.plan.expressions.expr import Column, Expr
from engine.plan.nodes import UpdatingAggregate, UpdatingJoin, UpdatingTop, WindowAggregate
from engine.plan.state.former_types import Formers
from engine.plan.tree import Node
from engine.schema import Schema


def hashed_in(node: Node) -> tuple[tuple[Expr, ...], ...]:
    """The values that an operator hashes: the keys of an aggregation, then what each aggregate takes; the columns of
    both sides of a join, then what they are matched by; the columns of a ranking, its order, and its partition; the
    keys of windows, which are hashed where they are kept by pane."""
    match node:
        case WindowAggregate(keys=keys):
            return (tuple(key.expr for key in keys),)
        case UpdatingAggregate(_, keys, aggregates):
            calls = [named.aggregate for named in aggregates]
            taken = [(*call.arguments, *(order.expr for order in call.order)) for call in calls]
            return (tuple(key.expr for key in keys), *taken)
        case UpdatingJoin(left, right, _, equal):
            matched = (tuple(pair[side] for pair in equal) for side in (0, 1))
            return (_columns(left.schema), _columns(right.schema), *matched)
        case UpdatingTop(source, _, partition, order):
            return (_columns(source.schema), tuple(by.expr for by in order), partition)
    raise TypeError(type(node).__name__)


def with_formers(node: Node, formers: Formers) -> Node:
    """The operator over values that were in these types before."""
    match node:
        case UpdatingAggregate() | UpdatingJoin() | UpdatingTop():
            return replace(node, formers=formers)
    raise TypeError(type(node).__name__)


def _columns(schema: Schema) -> tuple[Expr, ...]:
    return tuple(Column(field.name, field.type, field.nullable) for field in schema)
