"""Constant rows in FROM: `JOIN (VALUES (1, 'a'), (2, 'b')) AS t(n, name) ON ...`.

They are the elements of a constant array of structs, which every row of the left has.
"""

from __future__ import annotations

from sqlglot import exp

from engine import types
from engine.errors import ColumnCountError, JoinError
from engine.plan.expressions.expr import Column, Expr, Literal, Member, Named
from engine.plan.nodes import Filter, Project, Unnest, pass_through
from engine.sql.data_types import numbered, usable
from engine.sql.query.relation_columns import output_column
from engine.sql.scalar.comparisons import make_call
from engine.sql.scalar.expressions import Expressions
from engine.sql.scope import Scope, ScopedRows, Visible
from engine.sql.text.parse import Script


def join_values(script: Script, join: exp.Join, left: ScopedRows, values: exp.Values) -> ScopedRows:
    """Return the rows of the left side joined with some constant rows for which ON is true."""
    if str(join.method or "") or join.side or join.kind.upper() not in ("", "CROSS", "INNER") or join.args.get("using"):
        raise JoinError("VALUES take an inner join with ON", hint="write JOIN (VALUES (1, 'a')) AS t(n, name) ON ...")
    table, names = values.alias or None, [column.name for column in values.args["alias"].args.get("columns") or []]
    rows = [list(row.expressions) if isinstance(row, exp.Tuple) else [row] for row in values.expressions]
    names = names or [f"column{place}" for place in range(1, len(rows[0]) + 1)]
    if any(len(row) != len(names) for row in rows):
        raise ColumnCountError("the rows of VALUES have different lengths", hint=f"each has {len(names)} values")
    if table and table.lower() in left.scope.tables:
        raise JoinError(f"{table!r} appears twice in FROM", hint="give one of them an alias")
    texts = [Literal(usable(name), types.TEXT) for name in names]
    constants = Expressions(script, Scope())

    def struct_of(row: list[exp.Expr]) -> Expr:
        values = map(constants.translate, row)
        return make_call("named_struct", [part for pair in zip(texts, values, strict=True) for part in pair])

    array = make_call("make_array", [struct_of(row) for row in rows])
    assert isinstance(array.type, types.Array)
    assert isinstance(array.type.element, types.Struct)
    element = Column(numbered("__element", left.rows.schema.names), array.type.element)
    members = [
        Named(numbered(f"__value{place}", left.rows.schema.names), Member(element, member.name, member.type))
        for place, member in enumerate(array.type.element.members)
    ]
    joined = Project(Unnest(left.rows, element.name, array), (*pass_through(left.rows.schema), *members))
    visible = (Visible(table, output_column(member), name) for member, name in zip(members, names, strict=True))
    scope = Scope((*left.scope.columns, *visible))
    on = join.args.get("on")
    return ScopedRows(joined if on is None else Filter(joined, Expressions(script, scope).condition(on)), scope)
