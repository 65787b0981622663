"""Flink's window table functions, replaced by windows in GROUP BY.

    SELECT window_start, window_end, k, sum(n) FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(at), INTERVAL '1' MINUTE))
    GROUP BY window_start, window_end, k

    SELECT tumble(INTERVAL '1' MINUTE).start, ... FROM s GROUP BY tumble(INTERVAL '1' MINUTE), k

The described column must be the event time of the table; `check_event_time` verifies that when the table is known.
"""

from __future__ import annotations

from sqlglot import exp

from engine.errors import EventTimeError, UnsupportedClauseError
from engine.plan.expressions.expr import Column
from engine.plan.nodes import Scan
from engine.plan.tree import Node, walk
from engine.sql.text.dialect import WindowedTable

_DESCRIBED = "described"
"""Under this name, a SELECT keeps the column that a window table function describes."""

_MEMBERS = {"window_start": "start", "window_end": "end", "window_time": "end"}
GROUPED = "write GROUP BY window_start, window_end"


def replace_window_table(select: exp.Select) -> None:
    """Replace a window table function in the FROM of a SELECT, in place."""
    clause = select.args.get("from_")
    windowed = None if clause is None else clause.this
    if clause is None or not isinstance(windowed, WindowedTable):
        return
    kind = str(windowed.args["kind"])
    group = select.args.get("group")
    if group is None:
        raise UnsupportedClauseError(f"{kind.upper()} without GROUP BY is not supported", hint=GROUPED)
    if select.args.get("joins"):
        hint = "aggregate by the window in a sub-query, and join that"
        raise UnsupportedClauseError(f"{kind.upper()} in a join is not supported", hint=hint)
    if kind == "session":
        _check_keys(group, windowed)
    call = exp.Anonymous(this=kind, expressions=windowed.args["lengths"])
    call.meta.update({name: mark for name, mark in windowed.meta.items() if name == "start"})
    table = windowed.this.copy()
    table.set("alias", windowed.args.get("alias"))
    clause.set("this", table)
    _replace_keys(group, call)
    for index, item in enumerate(select.expressions):
        if isinstance(item, exp.Column) and item.name.lower() in _MEMBERS:
            select.expressions[index].replace(exp.alias_(_member(item, call), item.name))
    for name in ("expressions", "having", "order", "qualify"):
        value = select.args.get(name)
        for part in value if isinstance(value, list) else [value]:
            for column in [] if part is None else list(part.find_all(exp.Column)):
                if column.name.lower() in _MEMBERS:
                    column.replace(_member(column, call))
    select.meta[_DESCRIBED] = windowed.args["column"].name


def _check_keys(group: exp.Group, windowed: WindowedTable) -> None:
    """Refuse sessions that are not of the keys of GROUP BY, which ours always are."""
    keys = {key.name.lower() for key in group.expressions if key.name.lower() not in _MEMBERS}
    if keys != {key.name.lower() for key in windowed.args["partition"]}:
        listing = ", ".join(sorted(keys)) or "nothing"
        raise UnsupportedClauseError(
            "SESSION with a PARTITION BY of other keys than GROUP BY is not supported",
            hint=f"write SESSION(TABLE name PARTITION BY {listing}, ...)",
        )


def _replace_keys(group: exp.Group, call: exp.Anonymous) -> None:
    keys = group.expressions
    others = [key for key in keys if not (isinstance(key, exp.Column) and key.name.lower() in _MEMBERS)]
    if len(others) == len(keys):
        raise UnsupportedClauseError(
            f"{call.name.upper()} without its window in GROUP BY is not supported", hint=GROUPED
        )
    group.set("expressions", [call.copy(), *others])


def _member(column: exp.Column, call: exp.Anonymous) -> exp.Expr:
    name = column.name.lower()
    member = exp.Dot(this=call.copy(), expression=exp.to_identifier(_MEMBERS[name]))
    if name != "window_time":
        return member
    return exp.Paren(this=exp.Sub(this=member, expression=exp.Interval(this=exp.Literal.string("1 millisecond"))))


def check_event_time(select: exp.Select, rows: Node) -> None:
    """Refuse a window table function over a column that is not the event time of its table."""
    described = select.meta.get(_DESCRIBED)
    if described is None:
        return
    times = {
        scan.event_time.name.lower() if isinstance(scan.event_time, Column) else None
        for scan in walk(rows)
        if isinstance(scan, Scan)
    }
    if times != {str(described).lower()}:
        raise EventTimeError(
            f"{described!r} is not the event time of the table, by which windows count",
            hint=f"declare WATERMARK FOR {described} in CREATE TABLE",
        )
