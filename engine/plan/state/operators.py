"""Stateful operators, identified by their definition, so that they can be matched between scripts, whatever their
position and column names.

    SELECT tumble('1 minute'), user, count(*) FROM clicks WHERE page = '/' GROUP BY 1, 2

    id        tumble-3f0c9a12   the window, the keys, and the input
    rows      page = '/'        the filters below it
    columns   user, count(*)    the columns of its state, in order

Operators with the same id have the same kind of state over the same source; `rows` and `columns` decide whether the
state of one is right for the other. A hint in the script can replace the id by a name, without changing the operator.
See docs/decisions/operators-are-known-by-what-they-mean.md.

Find the orders in which the aggregates of a window are used above it, because Spark stores them in one of these.

    Project y, x                                   Spark folds the projections into the aggregate, which stores y, x
      Project x, y, k                      orders  x, y, z   x, y   y, x
        WindowAggregate x, y, z by k

So a projection above a window affects its state: Spark does not store an aggregate that it drops, and stores swapped
ones in the new order, with the same types. Projections are not folded through our filters (`spark/lower/rows.py`):
above a filter only the set of used aggregates matters. It is not predicted whether Spark folds a projection, or moves a
filter below it first: wherever an order differs, everything above the window counts. The same holds for a Python
function above it: Spark extracts the call, which changes the position of the aggregates that it uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeGuard

from engine.plan.explain import aggregate_name, orders, over_name, show
from engine.plan.expressions.conditions import is_left_to_python, split_condition
from engine.plan.expressions.expr import Call, Column, Expr
from engine.plan.expressions.expr import walk as walk_expr
from engine.plan.identity.fingerprint import stable_text
from engine.plan.identity.meaning import Code, Columns, Meanings, aggregate_text, digest, order_text, over_text, text_of
from engine.plan.nodes import (
    Aggregate,
    Branch,
    Calendar,
    Cumulate,
    EventTimeOver,
    Filter,
    Hop,
    Project,
    Scan,
    Session,
    Tumble,
    Union,
    UpdatingAggregate,
    UpdatingJoin,
    UpdatingTop,
    WindowAggregate,
    is_updating,
)
from engine.plan.placement.split import Parts
from engine.plan.state.retained_state import needs_values
from engine.plan.tree import Node, inputs_of, walk
from engine.schema import Schema
from engine.types import Type

Stateful: TypeAlias = WindowAggregate | UpdatingAggregate | UpdatingJoin | UpdatingTop | EventTimeOver


@dataclass(frozen=True, slots=True)
class Part:
    """A part of an operator: the script's text, and a short canonical text. `was` is that text in a script with
    narrower numbers, if it is for a wider one."""

    name: str
    meaning: str
    was: str | None = None


@dataclass(frozen=True, slots=True)
class Operator:
    """A stateful operator. `identity` is shared by all operators with the same kind of state over the same source; `id`
    is unique within a program. `number` is that of Spark's checkpoint. `rows` is a text for its input rows;
    `conditions` are their filters, `functions` the user-defined functions below it. `columns` are those of its state.
    `below` are the numbers of all operators below it, `sinks` the tables of its branch. `pin` is its name from a hint.
    A window `is_read_in_order` if all its aggregates are used above it in their own order, which is then Spark's order.
    """

    id: str
    identity: str
    kind: str
    number: int
    branch: int
    node: Stateful
    sources: tuple[str, ...]
    rows: str
    conditions: tuple[Part, ...]
    functions: tuple[str, ...]
    columns: tuple[Part, ...]
    below: tuple[int, ...]
    sinks: tuple[str, ...]
    is_read_in_order: bool = True
    pin: str | None = None


def _stateful_nodes(parts: Parts) -> Iterator[tuple[int, Stateful, Path]]:
    """Yield every stateful node, with its branch, in the order of Spark's operator numbers: those of a branch after
    those of earlier branches, a node before all below it, the left before the right. Each comes with all nodes above
    it, up to the next stateful one."""

    def nodes(node: Node, path: Path) -> Iterator[tuple[Stateful, Path]]:
        if is_stateful(node):
            yield node, path
            path = ()
        for below in inputs_of(node):
            yield from nodes(below, ((node, below), *path))

    for index, branch in enumerate(parts.branches):
        for node, path in nodes(branch, ()):
            yield index, node, path


def is_stateful(node: Node) -> TypeGuard[Stateful]:
    """Whether a node of the stream part keeps state between epochs."""
    return isinstance(node, Stateful) and not (isinstance(node, WindowAggregate) and not node.is_incremental)


def operators_of(parts: Parts, codes: Mapping[str, Code], *, turns: bool = False) -> tuple[Operator, ...]:
    """Return the operators of a plan, before anything was pushed down to the source tasks. `codes` and `turns` are as
    in `Meanings`."""
    meanings = Meanings(codes, parts.branches, turns)
    operators = [
        _operator(meanings, number, branch, node, path, sinks_of(parts, branch))
        for number, (branch, node, path) in enumerate(_stateful_nodes(parts))
    ]
    return tuple(_told_apart(operators))


def keepers_of_objects(parts: Parts) -> frozenset[str]:
    """Return the user's aggregates that store objects instead of the values that they have taken."""
    return frozenset(
        column.aggregate.function
        for _, node, _ in _stateful_nodes(parts)
        if isinstance(node, UpdatingAggregate)
        for column in node.aggregates
        if _may_keep_objects(node, column.aggregate)
    )


def sinks_of(parts: Parts, branch: int) -> frozenset[str]:
    """Return the tables that get the output of a branch."""
    reads = (
        write for write in parts.writes for node in walk(write) if isinstance(node, Branch) and node.index == branch
    )
    return frozenset(write.table for write in reads)


def _operator(
    meanings: Meanings, number: int, branch: int, node: Stateful, path: Path, sinks: frozenset[str]
) -> Operator:
    kind = kind_of(node)
    identity = digest(meanings.origin_of(node))
    sides = ("left ", "right ") if isinstance(node, UpdatingJoin) else ("",)
    inputs = meanings.inputs(node)
    conditions = [
        Part(f"{side}{shown}", digest(side, text))
        for side, below in zip(sides, inputs, strict=True)
        for text, shown in sorted(below.rows.items())
    ]
    functions = meanings.functions_in(_exprs(node)).union(*(below.functions for below in inputs))
    return Operator(
        id=node.pin or f"{kind}-{identity[:8]}",
        identity=identity,
        kind=kind,
        number=number,
        branch=branch,
        node=node,
        sources=tuple(sorted({part.table for part in walk(node) if isinstance(part, Scan)})),
        rows=digest(*(below.row_digest for below in inputs), *sorted(functions)),
        conditions=tuple(conditions),
        functions=tuple(sorted(functions)),
        columns=(*_columns(meanings, node), *_read_above(meanings, node, path)),
        below=tuple(range(number + 1, number + sum(map(is_stateful, walk(node))))),
        sinks=tuple(sorted(sinks)),
        is_read_in_order=not isinstance(node, WindowAggregate) or not reading_steps(node, path),
        pin=node.pin,
    )


def kind_of(node: Stateful) -> str:
    """Return the name of an operator's kind, as used in operator ids."""
    match node:
        case WindowAggregate(window=Tumble()):
            return "tumble"
        case WindowAggregate(window=Hop()):
            return "hop"
        case WindowAggregate(window=Session()):
            return "session"
        case WindowAggregate(window=Calendar() as window):
            return "tumble" if window.slide == window.width else "hop"
        case WindowAggregate(window=Cumulate()):
            return "cumulate"
        case UpdatingAggregate():
            return "updating-aggregate"
        case UpdatingJoin():
            return "updating-join"
        case UpdatingTop():
            return "updating-top"
        case EventTimeOver():
            return "over"
    raise TypeError(type(node).__name__)


def _exprs(node: Stateful) -> list[Expr]:
    """Return the expressions that an operator evaluates itself over its input rows."""
    match node:
        case WindowAggregate() | UpdatingAggregate():
            return [
                *(key.expr for key in node.keys),
                *(expr for named in node.aggregates for expr in named.aggregate.expressions),
            ]
        case UpdatingJoin():
            condition = [] if node.condition is None else [node.condition]
            return [*(expr for pair in node.equal for expr in pair), *condition]
        case UpdatingTop():
            return [*node.partition, *(order.expr for order in node.order)]
        case EventTimeOver():
            arguments = (part for function in node.functions for part in function.arguments)
            return [*node.partition, *(order.expr for order in node.order), *arguments]


def _columns(meanings: Meanings, node: Stateful) -> Iterator[Part]:
    """Yield the columns of an operator's state, in their order. Spark stores the aggregates of windows by position; our
    own operators store columns by number."""
    match node:
        case WindowAggregate() | UpdatingAggregate():
            below = meanings.of(node.input).columns
            for key in node.keys:
                yield _column(show(key.expr), text_of(key.expr, below), key.expr.type)
            for column in node.aggregates:
                yield _aggregate(meanings, node, column.aggregate, below)
        case UpdatingTop(source, function, partition, order, number, limit):
            below = meanings.of(source).columns
            yield from _kept(source.schema, below)
            for part in partition:
                yield _column(f"PARTITION BY {show(part)}", text_of(part, below), part.type)
            for by in order:
                yield _column(f"ORDER BY {orders([by])}", order_text([by], below), by.expr.type)
            shown = "all places" if limit is None else f"the first {limit}"
            yield Part(f"{function}, {shown}", digest(function, str(limit), str(number is not None)))
        case EventTimeOver(source, partition, order, functions):
            below = meanings.of(source).columns
            yield from _kept(source.schema, below)
            for part in partition:
                yield _column(f"PARTITION BY {show(part)}", text_of(part, below), part.type)
            for by in order:
                yield _column(f"ORDER BY {orders([by])}", order_text([by], below), by.expr.type)
            for call in functions:
                yield _column(over_name(call), over_text(call, below), call.type)
        case UpdatingJoin(left, right, _, equal):
            sides = meanings.columns_of_sides(node)
            if len(equal) > 1:
                pairs = [f"{text_of(one, sides)} = {text_of(other, sides)}" for one, other in equal]
                said = ", ".join(f"{show(one)} = {show(other)}" for one, other in equal)
                yield Part(f"joined by {said}, in this order", digest(*pairs))
            split = None if node.condition is None else split_condition(node.condition, left.schema, right.schema)
            for side, extra in ((left, split.left if split else ()), (right, split.right if split else ())):
                yield from _kept(side.schema, sides)
                for named in extra:
                    yield _column(show(named.expr), text_of(named.expr, sides), named.expr.type)


def _read_above(meanings: Meanings, node: Stateful, path: Path) -> Iterator[Part]:
    """Yield how the readers of a window shape its state: the order of its aggregates, and which of them Spark
    stores."""
    if not isinstance(node, WindowAggregate):
        return
    if steps := reading_steps(node, path):
        names = [aggregate_name(node.aggregates[place].aggregate) for place in steps[-1][1]]
        yield Part(f"read as {', '.join(names) or 'nothing'}", digest("read", *map(str, steps)))
    reader = path[-1][0] if path else None
    if reader is not None and is_stateful(reader):
        columns = (column.meaning for column in _columns(meanings, reader))
        yield Part(f"read by {kind_of(reader)}", digest(meanings.origin_of(reader), *columns))


def _kept(schema: Schema, columns: Columns) -> Iterator[Part]:
    """Yield the columns of rows that are stored unchanged. A column of a table keeps its name."""
    for field in schema:
        text = columns[field.name]
        yield _column(text if text.count("(") == 0 else field.name, text, field.type)


def _column(name: str, text: str, kind: Type) -> Part:
    return Part(f"{name} {kind}", digest(text, stable_text(kind)))


def _aggregate(
    meanings: Meanings, node: WindowAggregate | UpdatingAggregate, aggregate: Aggregate, below: Columns
) -> Part:
    code = meanings.kept_for(aggregate.function, as_objects=_may_keep_objects(node, aggregate))
    text = aggregate_text(aggregate, below)
    return Part(aggregate_name(aggregate), digest(text, stable_text(aggregate.type), aggregate.takes, *code))


def _may_keep_objects(node: WindowAggregate | UpdatingAggregate, aggregate: Aggregate) -> bool:
    """Whether objects of a user's class are stored instead of the values that they have taken."""
    if isinstance(node, WindowAggregate) or aggregate.takes == "all":
        return False
    return not needs_values(aggregate, only_appends=not is_updating(node.input))


def _told_apart(operators: list[Operator]) -> Iterator[Operator]:
    """Yield the operators with unique ids: those that differ only in their rows have a text for these in their id, and
    those that are equal are counted."""
    shared = Counter(operator.id for operator in operators)
    counted: Counter[str] = Counter()
    for operator in operators:
        name = operator.id
        if shared[name] > 1:
            name = f"{name}-{operator.rows[:4]}"
            counted[name] += 1
            name += f"-{counted[name]}" * (counted[name] > 1)
        yield replace(operator, id=name)


Path = Sequence[tuple[Node, Node]]
"""Relations above another one, lowest first, each with the input that leads there."""
_Read = Mapping[str, tuple[int, ...]]
"""Aggregates in each column, by index in the window."""


Step = tuple[str, tuple[int, ...]]
"""A relation above a window, and the indices of the aggregates in its order."""


def reading_steps(node: WindowAggregate, path: Path) -> Sequence[Step]:
    """Return the order in which the aggregates of a window are read, up to the end of its branch or the next stateful
    operator. Return nothing if every relation has them in the window's own order, since Spark then keeps that order."""
    columns: _Read = {named.name: (place,) for place, named in enumerate(node.aggregates)}
    order = tuple(range(len(node.aggregates)))
    steps: list[Step] = []
    is_computed = False
    tested: set[int] | None = None
    for parent, child in path:
        columns_below, exprs = columns, list[Expr]()
        match parent:
            case Filter(condition=condition):
                exprs = [condition]
                tested = {*(tested or ()), *_read(condition, columns)}
            case Project():
                exprs = [named.expr for named in parent.columns]
                columns = {named.name: tuple(_read(named.expr, columns)) for named in parent.columns}
                read = tuple(dict.fromkeys(place for places in columns.values() for place in places))
                order = read if tested is None else tuple(place for place in order if place in {*read, *tested})
            case Union():
                names = zip(parent.schema.names, child.schema.names, strict=True)
                columns = {name: columns.get(below, ()) for name, below in names}
        if len(node.aggregates) > 1 and (computed := tuple(_read_in_python(exprs, columns_below))):
            is_computed = True
            steps.append(("computed", computed))
        steps.append((type(parent).__name__, order))
    is_other = any(len(order) < len(node.aggregates) or order != tuple(sorted(order)) for _, order in steps)
    return steps if is_computed or is_other else ()


def _read(expr: Expr, columns: _Read) -> Iterator[int]:
    for part in walk_expr(expr):
        if isinstance(part, Column):
            yield from columns.get(part.name, ())


def _read_in_python(exprs: Iterable[Expr], columns: _Read) -> Iterator[int]:
    """Yield the aggregates that are read by functions that Spark does not compute itself: the user's, and those of ours
    over Arrow."""
    for expr in exprs:
        for part in walk_expr(expr):
            if isinstance(part, Call) and is_left_to_python(part):
                yield from _read(part, columns)
