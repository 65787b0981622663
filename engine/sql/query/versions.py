"""Temporal joins: each row with the version of another table's row that was valid at its event time.

    SELECT o.id, r.rate FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.at AS r ON o.currency = r.currency

    Union                   orders with no version, and rates as versions, both with the currency as their key
    EventTimeOver by key    the last version up to the row, in the order of event time; at one time versions come first
    Filter, Project         the orders, with the members of their version

A version is valid from its event time, inclusive, until that of the next one of its key. It is kept as long as the rows
of an OVER by event time are: until the key has no rows for `updating_ttl`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from engine import types
from engine.errors import EventTimeError, JoinError
from engine.plan.expressions.expr import Call, Column, Expr, Literal, Member, Named
from engine.plan.nodes import EventTimeOver, Filter, Frame, NamedOver, Order, Project, Scan, Union, pass_through
from engine.plan.tree import Node, walk
from engine.schema import Schema
from engine.sql.catalog import errors_located
from engine.sql.query.event_time_over import check_rows, is_event_time
from engine.sql.query.join_choice import JoinClause, with_nullability
from engine.sql.query.relation_columns import rename_apart
from engine.sql.scalar.comparisons import make_call
from engine.sql.scalar.expressions import Expressions
from engine.sql.scope import Scope, ScopedRows

_KEY, _SIDE, _VERSION, _FOUND = "__version_key", "__version_side", "__version", "__version_found"
_OF_VERSIONS, _OF_ROWS = 0, 1


def version_of(node: exp.Expr) -> exp.Expr | None:
    """Return the instant of FOR SYSTEM_TIME AS OF after a table in FROM."""
    version = node.args.get("version") if isinstance(node, exp.Table) else None
    instant: exp.Expr | None = None if version is None else version.expression
    return instant


def join_versions(
    clause: JoinClause, left: ScopedRows, right: ScopedRows, instant: exp.Expr, primary_key: Sequence[str]
) -> ScopedRows:
    """Return the rows of the left, each with the version of the right that was valid at its event time."""
    kind = clause.kind
    if kind not in ("inner", "left"):
        raise JoinError(
            f"{kind.upper()} JOIN of versions is not supported", hint="use an inner or a left join", at=clause.at
        )
    with errors_located(clause.at):
        for side in (left, right):
            check_rows(side.rows, "a join of versions")
        if not is_event_time(Expressions(clause.script, left.scope).translate(instant), left.rows):
            raise EventTimeError(
                "FOR SYSTEM_TIME AS OF takes the event time of the rows before it",
                hint="name the column that has the WATERMARK, or join a lookup table for the row of the moment",
            )
    clause.refuse_repeated_table(left, right)
    right = rename_apart(right, left)
    condition = clause.condition(left, right)
    if condition.remainder is not None or not condition.pairs:
        raise JoinError(
            "a join of versions needs equalities, and takes no other condition",
            hint="write ON a.x = b.x, and conditions into WHERE",
            at=clause.at,
        )
    keys = {key.name for _, key in condition.pairs if isinstance(key, Column)}
    if primary_key and keys != set(primary_key):
        raise JoinError(
            "versions are those of a primary key, by which they are joined",
            hint=f"write ON with an equality of {', '.join(primary_key)}",
            at=clause.at,
        )
    rows = _with_versions(clause, left.rows, right.rows, condition.pairs, kind)
    joined = ScopedRows(rows, Scope((*left.scope.columns, *right.scope.columns)))
    return clause.merge_shared_columns(with_nullability(joined), left, right, kind)


def _with_versions(clause: JoinClause, left: Node, right: Node, pairs: Sequence[tuple[Expr, Expr]], kind: str) -> Node:
    members = tuple(types.Member(field.name, field.type) for field in right.schema)
    version = types.Struct(members)
    names = [Literal(field.name, types.TEXT) for field in right.schema]
    values = [Column(field.name, field.type, field.nullable) for field in right.schema]
    inside = tuple(part for pair in zip(names, values, strict=True) for part in pair)
    rows = _side(
        left,
        pass_through(left.schema),
        [key for key, _ in pairs],
        _OF_ROWS,
        Literal(None, version),
    )
    versions = _side(
        right,
        tuple(Named(field.name, Literal(None, field.type)) for field in left.schema),
        [key for _, key in pairs],
        _OF_VERSIONS,
        Call("named_struct", inside, version, nullable=False),
    )
    both = Union((rows, versions))
    side = Column(_SIDE, types.BIGINT, nullable=False)
    last = NamedOver(
        _FOUND,
        "last_value",
        (Column(_VERSION, version),),
        (),
        (),
        Frame("rows", None, 0),
        version,
        ignore_nulls=True,
    )
    by = tuple(Column(f"{_KEY}{index}", key.type) for index, (key, _) in enumerate(pairs))
    found: Node = EventTimeOver(both, by, (Order(side, descending=False, nulls_first=False),), (last,), clause.ttl)
    found = Filter(found, make_call("=", [side, Literal(_OF_ROWS, types.BIGINT)]))
    value = Column(_FOUND, version)
    if kind == "inner":
        found = Filter(found, make_call("is_not_null", [value]))
    looked_up = (Named(member.name, Member(value, member.name, member.type)) for member in members)
    return Project(found, (*pass_through(Schema(tuple(both.schema.fields[: len(left.schema)]))), *looked_up))


def _side(rows: Node, columns: Sequence[Named], keys: Sequence[Expr], side: int, version: Expr) -> Node:
    """Return one side of the union. A row whose key is NULL has no version, and one of the versions is none."""
    if side == _OF_VERSIONS:
        for key in keys:
            rows = Filter(rows, make_call("is_not_null", [key]))
    named_keys = (Named(f"{_KEY}{index}", key) for index, key in enumerate(keys))
    marks = (Named(_SIDE, Literal(side, types.BIGINT)), Named(_VERSION, version))
    return Project(rows, (*columns, *named_keys, *marks))


def scan_of(rows: Node) -> Scan | None:
    """Return the table that versions are read from, if it is a single one."""
    scans = [node for node in walk(rows) if isinstance(node, Scan)]
    return scans[0] if len(scans) == 1 else None
