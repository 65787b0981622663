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
from engine.plan.expr import Case, Column, Expr, Literal
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
    alias = node.args.get("alias")
    columns = [column.name for column in alias.args.get("columns") or []] if alias is not None else []
    if len(columns) > 1:
        raise UnsupportedClauseError("an element is one column", hint="name one; the members of a struct have a dot")
    table = node.alias or None
    return ArrayElements(call, table, usable(columns[0] if columns else table or str(call.this)))


def join_elements(script: Script, join: exp.Join, left: ScopedRows, elements: ArrayElements) -> ScopedRows:
    """The rows once for every element of their array; with a left join, once with NULL when it has none."""
    if str(join.method or "") or join.kind.upper() not in ("", "CROSS", "INNER", "OUTER") or join.args.get("using"):
        raise JoinError(_JOINS)
    if elements.table and elements.table.lower() in left.scope.tables:
        raise JoinError(f"{elements.table!r} stands in FROM twice", hint="give one of them an alias")
    unnesting = ArrayUnnesting()
    element = unnesting.element_of(elements.call, Expressions(script, left.scope).translate)
    assert element is not None
    assert unnesting.array is not None
    array, on = unnesting.array, join.args.get("on")
    side = join.side.upper()
    if side not in ("", "LEFT") or (side and not (isinstance(on, exp.Boolean) and on.this)):
        raise JoinError(_JOINS, hint="ask of them in WHERE")
    name = numbered("__element", left.rows.schema.names)
    rows = Unnest(left.rows, name, _or_null(array, element.type) if side else array)
    scope = Scope((*left.scope.columns, Visible(elements.table, Column(name, element.type), elements.column)))
    if on is not None and not side:
        return ScopedRows(Filter(rows, Expressions(script, scope).condition(on)), scope)
    return ScopedRows(rows, scope)


def _gives_rows(name: str) -> bool:
    function = find_function(name)
    return name.lower() == "unnest" or (function is not None and function.gives_rows)


def _or_null(array: Expr, element: types.Type) -> Expr:
    """The array, or one with a NULL when it has no elements."""
    has_elements = make_call(">", [make_call("cardinality", [array]), Literal(0, types.BIGINT)])
    only_null = make_call("make_array", [Literal(None, element)])
    return Case(((has_elements, array),), only_null, array.type)
