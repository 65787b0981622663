"""Find plans that source tasks can execute completely: decode, filter, compute and write.

    INSERT INTO dear SELECT auction, 0.908 * price AS price FROM bids WHERE price > 1000

Rows of different tasks need not meet, and there is no state, so a row never leaves its task. See
docs/decisions/sources-leave-out-what-no-query-wants.md.

Decide which filters a source task may evaluate with Arrow. They are proven equal to Spark's for all values, and
cannot fail. `engine.arrow.evaluate` evaluates them.

    price > 10 AND auction % 123 = 0       yes
    json_get_int(doc, 'a') > 3             yes: otherwise Spark sends all rows to a Python worker for it
    auction % bidder = 0                   no: it fails if bidder is 0, with Spark's error
    price + 1 > 10                         no: it fails if the sum overflows
    channel LIKE 'a%'                      no: Arrow's patterns differ

Decide which epoch parts a single task can execute with Arrow: joins within windows and rankings of an epoch's rows.

    epoch part    Write out <- WindowJoin <- Branch 0        by Spark     rows cached, two shuffles, a sort of each side
                                          <- Branch 1        one task     rows collected, equal keys matched, written

Left to Spark: aggregates of aggregates, lookups, user-defined functions, keys other than whole numbers, texts or times,
and expressions that may fail, so that they fail with Spark's error. See docs/decisions/epoch-parts-in-one-task.md.

Find rows of a window that a ranking need not sort, because only its first places are requested.

    Filter place = 1                             n      possible
      Project w, auction, place                  3      yes
        Over row_number() BY w ORDER BY n DESC   2      no: one row with more came before
                                                 3      yes: depends on the rest of the order
                                                 5      yes

A row that is beaten in the first sort column by as many rows as there are places is dropped. The others are ranked as
usual, and the filter stays above.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine import types
from engine.functions import FUNCTIONS
from engine.plan.expressions.conditions import EVALUATED, can_evaluate, is_left_to_kernel
from engine.plan.expressions.expr import Call, Case, Cast, Column, Expr, Literal, Member, walk
from engine.plan.nodes import Branch, Filter, Fused, Order, Over, Project, Scan, Top, Union, WindowJoin, Write
from engine.plan.placement.reads import read_by
from engine.plan.placement.split import Parts
from engine.plan.rules.limit_rankings import bounds_of
from engine.plan.tree import EVENT_TIME, Node, is_hidden
from engine.plan.tree import walk as walk_tree
from engine.schema import Field


@dataclass(frozen=True, slots=True)
class WholeBranch:
    """A branch whose rows go directly into a sink: its table, its projections (lowest first), and the names of its
    output columns."""

    table: str
    steps: tuple[Project, ...]
    names: tuple[str, ...]


def whole_branch(parts: Parts) -> WholeBranch | None:
    """Return the branch of fused parts if it is the only one and a task can compute all of it."""
    if len(parts.branches) != 1 or [write.input for write in parts.writes] != [Branch(0, parts.branches[0].schema)]:
        return None
    [branch] = parts.branches
    steps, lowest = _projections_of(branch)
    if not (all(map(_is_plain, branch.schema)) and _can_be_done(steps)):
        return None
    # without columns rows could not be counted, and nothing above reads one
    with_columns = tuple(step for step in steps if step.columns)
    match lowest:
        case Fused(Scan(table)):
            return WholeBranch(table, with_columns, branch.schema.names)
        case Scan(table, columns, is_changes=False) if not any(map(is_hidden, columns.names)):
            return WholeBranch(table, with_columns, branch.schema.names)
    return None


def _projections_of(node: Node) -> tuple[list[Project], Node]:
    """Return the projections at the top of a relation, the lowest first, and their input."""
    steps: list[Project] = []
    while isinstance(node, Project):
        steps.insert(0, node)
        node = node.input
    return steps, node


def _is_plain(field: Field) -> bool:
    """Whether a column can be written without Spark. Nested values cannot: Spark puts NULL into the members of a NULL
    struct, which a sink would see."""
    return not (isinstance(field.type, types.Struct | types.Array) or is_hidden(field.name))


def _can_be_done(steps: Sequence[Project]) -> bool:
    """Whether a task can compute the projections: it has event times only for the lowest one, which reads them from the
    table."""
    exprs = [named.expr for step in steps for named in step.columns]
    return all(map(is_fusable, exprs)) and not any(EVENT_TIME in read_by(step) for step in steps[1:])


RANKINGS = ("row_number", "rank", "dense_rank")
_KEYS = types.Text | types.Timestamp | types.Date | types.Boolean


def is_for_one_task(parts: Parts) -> bool:
    """Whether one task can run the epoch part, and the part has work for which Spark would need a shuffle."""
    nodes = [node for write in parts.writes for node in walk_tree(write)]
    meets = any(isinstance(node, WindowJoin | Over | Top) for node in nodes)
    return meets and not parts.is_updating and all(map(_is_known, nodes))


def _is_known(node: Node) -> bool:
    match node:
        case Write() | Branch() | Union():
            return True
        case Project(_, columns):
            return all(is_fusable(named.expr) for named in columns)
        case Filter(_, condition):
            return is_fusable(condition)
        case WindowJoin(equal=equal, condition=condition):
            return all(map(_is_key, (part for pair in equal for part in pair))) and (
                condition is None or is_fusable(condition)
            )
        case Over(functions=functions):
            return all(
                function.function in RANKINGS and _are_keys(function.partition) and _are_ordered(function.order)
                for function in functions
            )
        case Top(order=order):
            return _are_ordered(order)
    return False


def _are_keys(exprs: Iterable[Expr]) -> bool:
    return all(expr.type == types.WINDOW or _is_key(expr) for expr in exprs)


def _is_key(expr: Expr) -> bool:
    """Whether values are equal exactly if their bits are."""
    return is_fusable(expr) and (isinstance(expr.type, _KEYS) or _is_signed(expr.type))


def _are_ordered(order: Iterable[Order]) -> bool:
    return all(_is_key(part.expr) or _is_number_with_fraction(part.expr) for part in order)


def _is_number_with_fraction(expr: Expr) -> bool:
    return isinstance(expr.type, types.Float) and is_fusable(expr)


def _is_signed(kind: types.Type) -> bool:
    return isinstance(kind, types.Integer) and kind.signed


_TESTS = frozenset(name for name in EVALUATED if FUNCTIONS[name].cannot_fail)
"""Comparisons, logic and coalesce."""
_MOST_PARTS = 200
"""Largest number of parts of an expression: nested columns grow fast, and Spark computes shared parts once."""


def is_fusable(expr: Expr) -> bool:
    """Whether the expression may be computed in the task of a source."""
    return len(list(walk(expr))) <= _MOST_PARTS and can_evaluate(expr) and all(map(_is_proven, walk(expr)))


def _is_proven(part: Expr) -> bool:
    match part:
        case Column() | Literal() | Member() | Case():
            return True
        case Cast():
            return _is_exact(part)
        case Call("in", arguments):
            # Spark looks up long lists by the bits of a number, where 0.0 is not -0.0
            return not any(isinstance(argument.type, types.Float) for argument in arguments)
        case Call("%", (dividend, Literal(int(divisor)))):
            return divisor != 0 and isinstance(dividend.type, types.Integer) and dividend.type.signed
        case Call("+" | "-" | "*" | "negate", arguments):
            return all(isinstance(argument.type, types.Float) for argument in arguments)
        case Call(function):
            return function in _TESTS or _has_the_same_kernel(part)


def _has_the_same_kernel(call: Call) -> bool:
    """Whether a Python worker of Spark would compute it with the kernel of the task. The kernel must be able to return
    NULL, for which Spark otherwise fails."""
    declared = FUNCTIONS.get(call.function)
    return (
        declared is not None and declared.family == "json" and declared.nullable is not any and is_left_to_kernel(call)
    )


def _is_exact(cast: Cast) -> bool:
    """Whether every value of the one type is one of the other, or is rounded to the nearest one."""
    match cast.input.type, cast.type:
        case types.Integer() as source, types.Integer() as target:
            return source.bits <= target.bits and source.signed == target.signed
        case types.Integer(), types.Float(64):
            return True
        case types.Float() as source, types.Float() as target:
            return source.bits <= target.bits
        case types.Text(), types.Json(is_part=False):
            return True
        case types.Text(), types.Timestamp():
            return isinstance(cast.input, Literal)
    return False


MOST_PLACES = 1_000
"""Largest number of values per window to remember in a task."""
_RANKINGS = ("row_number", "rank")
_FIRST = "dense_rank"
"""Functions in which equal rows share a place, so that only the first such row gives the number of rows before it."""


@dataclass(frozen=True, slots=True)
class Leading:
    """Window of the ranking, its first sort column, and the number of requested places."""

    window: str
    value: Column
    descending: bool
    places: int


def leading_rows(node: Filter) -> tuple[Over, Leading] | None:
    """Return the ranking below a filter for its first places only, and the condition on the rows of these places; None
    if all rows are needed, or if the order is not one of whole numbers or instants."""
    for bound in bounds_of(node):
        over = _ranking(node.input, bound.column)
        leading = None if over is None else _leading(over, bound.most)
        if over is not None and leading is not None:
            return over, leading
    return None


def leading_of_branch(parts: Parts) -> Leading | None:
    """Return the condition on leading rows if a ranking is the only reader of the only branch, and reads it once."""
    nodes = [node for write in parts.writes for node in walk_tree(write)]
    if sum(isinstance(node, Branch) for node in nodes) != 1:
        return None
    filters = [node for node in nodes if isinstance(node, Filter)]
    found = [ranked for node in filters if (ranked := leading_rows(node)) is not None]
    return next((leading for over, leading in found if isinstance(over.input, Branch)), None)


def _ranking(node: Node, name: str) -> Over | None:
    """Return the relation that computes the column, if all nodes above only pass it on."""
    match node:
        case Over(functions=(function,)) if function.name == name:
            return node
        case Project(source, columns) if all(_is_passed_on(named.expr) for named in columns):
            expr = next((named.expr for named in columns if named.name == name), None)
            return _ranking(source, expr.name) if isinstance(expr, Column) else None
    return None


def _is_passed_on(expr: Expr) -> bool:
    """Whether nothing is computed that could fail for a row that is left out."""
    match expr:
        case Column() | Literal():
            return True
        case Member(inner):
            return _is_passed_on(inner)
    return False


def _leading(over: Over, places: int) -> Leading | None:
    (function,) = over.functions
    is_counted = function.function in _RANKINGS or (function.function == _FIRST and places == 1)
    is_by_window = [_name(part) for part in function.partition] == [over.window]
    if not is_counted or not is_by_window or not function.order or places > MOST_PLACES:
        return None
    first, *others = function.order
    if not isinstance(first.expr, Column) or not _is_whole(first.expr.type):
        return None
    if not all(_is_passed_on(part.expr) for part in others):
        return None
    return Leading(over.window, first.expr, first.descending, places)


def _name(expr: Expr) -> str | None:
    return expr.name if isinstance(expr, Column) else None


def _is_whole(kind: types.Type) -> bool:
    """Whether its values have the order of Spark's whole numbers for them."""
    match kind:
        case types.Integer(_, signed):
            return signed
        case types.Timestamp():
            return True
    return False
