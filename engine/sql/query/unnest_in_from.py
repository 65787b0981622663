"""Arrays in FROM: `FROM rows, unnest(rows.tags) AS tag` has a row for every element.

FROM rows LEFT JOIN unnest(rows.tags) AS tag ON true      a row without elements stays, with NULL: it is taken apart
                                                          as if it had the array [NULL]
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from engine import types
from engine.errors import JoinError, UnsupportedClauseError
from engine.functions import find_function
from engine.plan.expressions.expr import Case, Column, Expr, Literal
from engine.plan.nodes import Filter, Unnest
from engine.sql.column_names import numbered, usable
from engine.sql.query.unnest_in_select import ArrayUnnesting
from engine.sql.scalar.calls import make_call
from engine.sql.scalar.expressions import Expressions
from engine.sql.scope import Scope, ScopedRows, Visible
from engine.sql.text.parse import Script

_JOINS = "the elements of an array are joined with CROSS JOIN, or LEFT JOIN ... ON true"


@dataclass(frozen=True, slots=True)
class ArrayElements:
    """The elements of an array that other rows in FROM have: the call that gives it, and what they are called."""

    call: exp.Anonymous
    table: str | None
    column: str


def read_elements(node: exp.Expr) -> ArrayElements | None:
    """The elements that an item of FROM stands for; None when it is a relation of its own."""
    inner = node.this if isinstance(node, exp.Lateral | exp.Table) else node
    match inner:
        case exp.Unnest():
            call = exp.Anonymous(this="unnest", expressions=inner.expressions)
            ordinality = inner.args.get("offset") or node.args.get("ordinality")
        case exp.Anonymous() if _gives_rows(inner.name):
            call, ordinality = inner, node.args.get("ordinality")
        case _:
            return None
    if ordinality:
        raise UnsupportedClauseError("WITH ORDINALITY is not supported", hint="leave it out")
    table = node.alias or None
    return ArrayElements(call, table, usable(_column_alias(node) or table or str(call.this)))


def _column_alias(node: exp.Expr) -> str | None:
    """The name that `AS tags(tag)` gives to the column."""
    alias = node.args.get("alias")
    columns = [column.name for column in alias.args.get("columns") or []] if alias is not None else []
    if len(columns) > 1:
        raise UnsupportedClauseError("an element is one column", hint="name one; the members of a struct have a dot")
    return columns[0] if columns else None


def join_elements(script: Script, join: exp.Join, left: ScopedRows, elements: ArrayElements) -> ScopedRows:
    """The rows once for every element of their array; with a left join, once with NULL when it has none."""
    _check_kind(join)
    if elements.table and elements.table.lower() in left.scope.tables:
        raise JoinError(f"{elements.table!r} appears twice in FROM", hint="give one of them an alias")
    unnesting = ArrayUnnesting()
    element = unnesting.element_of(elements.call, Expressions(script, left.scope).translate)
    assert element is not None
    assert unnesting.array is not None
    array, on = unnesting.array, join.args.get("on")
    is_left = _is_left_join(join)
    name = numbered("__element", left.rows.schema.names)
    rows = Unnest(left.rows, name, _or_null(array, element.type) if is_left else array)
    scope = Scope((*left.scope.columns, Visible(elements.table, Column(name, element.type), elements.column)))
    if on is not None and not is_left:
        return ScopedRows(Filter(rows, Expressions(script, scope).condition(on)), scope)
    return ScopedRows(rows, scope)


def _check_kind(join: exp.Join) -> None:
    if str(join.method or "") or join.kind.upper() not in ("", "CROSS", "INNER", "OUTER") or join.args.get("using"):
        raise JoinError(_JOINS)


def _is_left_join(join: exp.Join) -> bool:
    """Whether a row without elements stays. A left join has ON true: a row whose elements ON refuses would stay too."""
    side, on = join.side.upper(), join.args.get("on")
    is_on_true = isinstance(on, exp.Boolean) and on.this
    if side not in ("", "LEFT") or (side and not is_on_true):
        raise JoinError(_JOINS, hint="ask of them in WHERE")
    return bool(side)


def _gives_rows(name: str) -> bool:
    function = find_function(name)
    return name.lower() == "unnest" or (function is not None and function.gives_rows)


def _or_null(array: Expr, element: types.Type) -> Expr:
    """The array, or one with a NULL when it has no elements."""
    has_elements = make_call(">", [make_call("cardinality", [array]), Literal(0, types.BIGINT)])
    only_null = make_call("make_array", [Literal(None, element)])
    return Case(((has_elements, array),), only_null, array.type)
