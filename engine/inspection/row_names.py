"""Name the columns of an operator's state as in the user's script.

    Spark has            the script has                        a row is shown with
    _window              tumble(INTERVAL '1 minute')           window.start, window.end
    _key0_of_group       user                                  user
    count, sum, sum      count(*), sum(price), sum(tax)        count(*), sum(price), sum(tax)

If an aggregate has several columns, they get its name followed by their own. If the mapping is unknown, Spark's names
are shown.

Parse row filters of the command line: `COLUMN=VALUE`, where both may contain `=`.

user=7              the column user
note=a=b            the column note with the value a=b, or the column note=a with the value b: whichever exists
(kind = 'a')=true   the column (kind = 'a'), which is the name of an expression
tags=["a", 1]       the column tags, compared as JSON values: also tags=["a",1]
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from engine.errors import RequestError
from engine.plan.explain import aggregate_name, over_name, show
from engine.plan.nodes import EventTimeOver, UpdatingAggregate, UpdatingJoin, UpdatingTop, WindowAggregate
from engine.plan.state.operators import Operator
from engine.plan.state.panes import are_kept_apart, columns_of_aggregate

_OF_BUCKETS = {"_n": "rows", "_last": "last change", "_pane": "pane", "_time": "event time"}


def names_of_window(operator: Operator, keys: Sequence[str], values: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of the keys and of the aggregates in a window's state."""
    node = operator.node
    assert isinstance(node, WindowAggregate)
    named_keys = {f"_key{index}_of_group": show(key.expr) for index, key in enumerate(node.keys)}
    calls = [named.aggregate for named in node.aggregates]
    names = list(_names_of_aggregates(operator))
    is_known = operator.is_read_in_order and are_kept_apart(calls) and len(names) == len(values)
    return [named_keys.get(name, name) for name in keys], names if is_known else list(values)


def _names_of_aggregates(operator: Operator) -> Iterator[str]:
    assert isinstance(operator.node, WindowAggregate)
    for named in operator.node.aggregates:
        columns, name = columns_of_aggregate(named.aggregate) or (), aggregate_name(named.aggregate)
        yield from ((name,) if len(columns) == 1 else (f"{name}.{column.name}" for column in columns))


def name_in_bucket(operator: Operator, table: str, column: str) -> str | None:
    """Return the name of a column in a shard's table; None for an internal one."""
    if column in _OF_BUCKETS:
        return _OF_BUCKETS[column]
    if column.startswith("_"):
        return None
    place, _, part = column[1:].partition(".")
    match operator.node, column[0], place.isdigit():
        case UpdatingAggregate(keys=keys) | WindowAggregate(keys=keys), "k", True:
            return show(keys[int(place)].expr)
        case UpdatingAggregate(aggregates=aggregates) | WindowAggregate(aggregates=aggregates), "m", True:
            name = aggregate_name(aggregates[int(place)].aggregate)
            return name if part == "0" else f"{name}.{part}"
        case UpdatingAggregate(aggregates=aggregates), "a", True if table[1:].isdigit():
            arguments = aggregates[int(table[1:])].aggregate.arguments
            return show(arguments[int(place)]) if int(place) < len(arguments) else column
        case UpdatingJoin(left=left), "l", True:
            return _named(left.schema.names, place, column)
        case UpdatingJoin(right=right), "r", True:
            return _named(right.schema.names, place, column)
        case UpdatingTop(input=below), "c", True:
            return _named(below.schema.names, place, column)
        case EventTimeOver(input=below), "c", True:
            return _named(below.schema.names, place, column)
        case EventTimeOver(functions=functions), "m" | "f", True:
            name = over_name(functions[int(place)])
            return name if part in ("", "0") else f"{name}.{part}"
        case EventTimeOver(order=order) | UpdatingTop(order=order), "o", True:
            return f"ORDER BY {show(order[int(place)].expr)}"
    return column


def _named(names: Sequence[str], place: str, column: str) -> str:
    return names[int(place)] if int(place) < len(names) else column


def table_in_bucket(operator: Operator, table: str) -> str:
    """Describe the content of a shard's table."""
    match operator.node:
        case UpdatingAggregate(aggregates=aggregates) if table[1:].isdigit():
            return f"values of {aggregate_name(aggregates[int(table[1:])].aggregate)}"
        case UpdatingAggregate():
            return "groups"
        case UpdatingJoin():
            return f"{table} side"
    return table


def refuse_without_value(conditions: Sequence[str]) -> None:
    """Refuse conditions that name a column only."""
    for condition in conditions:
        if "=" not in condition:
            raise RequestError(f"key {condition!r} names no value", hint="write it as COLUMN=VALUE")


def columns_meant(condition: str) -> Sequence[str]:
    """Return the columns that a condition may be about, however they are called."""
    return [condition[:at] for at, letter in enumerate(condition) if letter == "="]


def is_met(condition: str, values: Mapping[str, object]) -> bool:
    """Whether a row with these plain values, by column, has the value in the column that the condition is about."""
    return any(
        column in values and _is_spelled(values[column], condition[len(column) + 1 :])
        for column in columns_meant(condition)
    )


def _is_spelled(value: object, text: str) -> bool:
    """Whether a text is one of the displayed forms of a value."""
    if isinstance(value, str):
        return text == value
    if value is None and text == "NULL":
        return True
    try:
        return _canonical(text) == _canonical(json.dumps(value))
    except (ValueError, RecursionError):
        return False


def _canonical(text: str) -> str:
    """Return the one spelling of a JSON value; JavaScript says 2 for 2.0."""
    return json.dumps(json.loads(text, parse_float=_number), sort_keys=True)


def _number(text: str) -> int | float:
    value = float(text)
    return int(value) if value.is_integer() else value
