"""Rows of an operator's state at the newest committed epoch, with columns named as in the user's script: `arroyo state
rows`.

Our own operators store Arrow tables, which are read here. Only Spark can read the state of its windows
(`spark/state/state_rows.py`).

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
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from engine.checkpoints import spark_log
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.whole_state import files_of_partitions
from engine.compile import Program
from engine.errors import NoStateError, RequestError, UnknownSubjectError, UnreadableStateError, message_of
from engine.inspection.bytes_read import NotAsWrittenError
from engine.inspection.store import read_store
from engine.plan.explain import aggregate_name, over_name, show
from engine.plan.nodes import EventTimeOver, UpdatingAggregate, UpdatingJoin, UpdatingTop, WindowAggregate
from engine.plan.state.operators import Operator
from engine.plan.state.panes import are_kept_apart, columns_of_aggregate
from engine.updating.state_columns import LAST, PANE, TIME
from engine.values.instants import from_micros


@dataclass(frozen=True, slots=True)
class KeptRow:
    """A row of an operator's state: its partition, its table, and its columns by their names in the script."""

    partition: int
    table: str
    columns: Mapping[str, object]


def operator_named(program: Program, name: str) -> Operator:
    """Return the operator of that id, or of that number in Spark; raise if there is none."""
    operators = program.operators
    for operator in operators:
        if name in (operator.id, str(operator.number)):
            return operator
    raise UnknownSubjectError(
        f"no operator of the script is called {name}",
        hint=f"it has {', '.join(operator.id for operator in operators) or 'none that keeps state'}",
    )


def is_kept_by_spark(operator: Operator) -> bool:
    """Whether Spark has to be asked for the rows of an operator."""
    return isinstance(operator.node, WindowAggregate) and operator.node.by_pane is None


def committed_epoch(paths: StatePaths) -> int:
    """Return the newest committed epoch; raise if there is none."""
    epoch = spark_log.newest_commit(paths.checkpoint)
    if epoch is None:
        raise NoStateError(f"{paths.root} has not committed an epoch yet", hint="wait for its first epoch")
    return epoch


def rows_of_buckets(paths: StatePaths, operator: Operator) -> Iterator[KeptRow]:
    """Yield the rows of an operator of our own, partition by partition."""
    for partition, files in sorted(files_of_partitions(paths.checkpoint, committed_epoch(paths)).items()):
        if partition.operator == operator.number:
            yield from _rows_of_partition(paths.checkpoint, partition.number, files, operator)


def shown_rows(rows: Iterator[KeptRow], conditions: Sequence[str], limit: int) -> list[dict[str, object]]:
    """Return the first rows in plain values that meet these conditions; refused where there is no column that one is
    about."""
    shown: list[dict[str, object]] = []
    columns: dict[str, None] = {}
    while len(shown) < limit and (row := next(rows, None)) is not None:
        plain = {name: _plain(value) for name, value in row.columns.items()}
        columns |= dict.fromkeys(plain)
        if all(is_met(condition, plain) for condition in conditions):
            shown.append({"partition": row.partition, "table": row.table, "columns": plain})
    for condition in conditions if columns else ():
        meant = columns_meant(condition)
        if columns.keys().isdisjoint(meant):
            raise UnknownSubjectError(
                f"no rows have a column {' or '.join(meant)}", hint=f"they have {', '.join(columns)}"
            )
    return shown


def _plain(value: object) -> object:
    """Return a value as JSON has it."""
    match value:
        case datetime():
            aware = value if value.tzinfo else value.replace(tzinfo=UTC)
            return aware.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case bytes() | bytearray():
            return f"{len(value)} bytes"
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [_plain(part) for part in value]
        case dict():
            return {str(name): _plain(part) for name, part in value.items()}
    return str(value)


def _rows_of_partition(checkpoint: Path, number: int, files: Sequence[Path], operator: Operator) -> Iterator[KeptRow]:
    try:
        for name, table in read_store(checkpoint / file for file in files).tables_of_buckets():
            names = {column: name_in_bucket(operator, name, column) for column in table.column_names}
            shown = {column: called for column, called in names.items() if called is not None}
            for row in table.select(list(shown)).to_pylist():
                columns = {shown[key]: _instant(key, value) for key, value in row.items()}
                yield KeptRow(number, table_in_bucket(operator, name), columns)
    except NotAsWrittenError as error:
        raise UnreadableStateError(
            f"partition {number} of {operator.id} holds a file that {message_of(error)}",
            hint="see with `arroyo state doctor` what is wrong",
        ) from error


def _instant(column: str, value: object) -> object:
    """Return the instant of our own time columns, which are stored in microseconds."""
    return from_micros(value) if column in (LAST, PANE, TIME) and isinstance(value, int) and value >= 0 else value


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
