"""JOIN with a lookup table: each row with what the table has for its key, when the row passes.

FROM orders o LEFT JOIN users u ON o.user_id = u.id     users has PRIMARY KEY (id)

LookupJoin left of orders, key user_id: an order without a user has NULL in the columns of users
"""

from __future__ import annotations

from typing import Literal

from engine import types
from engine.errors import JoinError
from engine.plan.expressions.expr import Cast, Column, Expr
from engine.plan.nodes import LookupJoin
from engine.plan.nodes.updating import is_updating
from engine.sql.catalog import LookupTable
from engine.sql.query.join_choice import JoinCondition
from engine.sql.query.joins import JoinClause, with_nullability
from engine.sql.query.relation_columns import NoRows, rename_apart
from engine.sql.scope import Relation, Scope, ScopedRows, scope_of


def join_lookup(clause: JoinClause, left: ScopedRows, table: LookupTable, alias: str) -> ScopedRows:
    """The rows of the left, each with what the table has for its key."""
    word = clause.node.side.upper() or clause.kind_word or "INNER"
    if word not in ("LEFT", "INNER", "CROSS"):
        raise JoinError(
            f"{word} JOIN of a lookup table is not supported", hint="use an inner or a left join", at=clause.at
        )
    if is_updating(left.rows):
        raise JoinError(
            "a lookup join cannot follow rows that are taken back, which might find another row then",
            hint="look up first, and aggregate the result",
            at=clause.at,
        )
    columns = NoRows(table.columns)
    right = ScopedRows(columns, scope_of(Relation(columns), alias))
    clause.refuse_repeated_table(left, right)
    left = rename_apart(left, right)
    key = _lookup_key(clause, clause.condition(left, right), table)
    kind: Literal["inner", "left"] = "left" if word == "LEFT" else "inner"
    rows = LookupJoin(left.rows, table.table.name, table.columns, kind, key)
    joined = ScopedRows(rows, Scope((*left.scope.columns, *right.scope.columns)))
    return clause.merge_shared_columns(with_nullability(joined), left, right, kind)


def refuse_lookup(name: str, *, is_joined: bool) -> JoinError:
    """Why a lookup table cannot be read as if it were a stream."""
    message = (
        "a lookup table must be on the right side of an inner or left join"
        if is_joined
        else "a lookup table can only be read by a join"
    )
    return JoinError(message, hint=f"write FROM stream JOIN {name} ON stream.column = {name}.key")


def _lookup_key(clause: JoinClause, condition: JoinCondition, table: LookupTable) -> Expr:
    if condition.remainder is not None or not condition.pairs:
        raise JoinError(
            "a lookup join needs an equality with the table's key, and takes no other condition",
            hint="write ON stream.column = table.key, and conditions into WHERE",
            at=clause.at,
        )
    if len(condition.pairs) > 1:
        raise JoinError("a lookup join matches rows by the key alone", hint="leave out the other columns", at=clause.at)
    key, key_column = condition.pairs[0]
    match key_column:
        case Cast(Column(name, types.Integer() as kind), types.Integer()):
            key = Cast(key, kind, lenient=True)  # a number beyond the key's type is no key
        case Column(name):
            pass
        case _:
            raise JoinError(
                "the key of a lookup table must be compared as it is", hint="compute on the left side", at=clause.at
            )
    if table.key is None or name.lower() != table.key.lower():
        raise JoinError(
            f"column {name!r} is not the primary key of the lookup table",
            hint=f"the primary key is {table.key}" if table.key else "declare one of its columns PRIMARY KEY",
            at=clause.at,
        )
    return key
