"""Read the rows in an operator's state at the newest committed epoch: `arroyo state rows`.

Our own operators store Arrow tables, which are read here. Only Spark can read the state of its windows
(`spark/state/state_rows.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from engine.checkpoints import spark_log
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.whole_state import files_of_partitions
from engine.compile import Program
from engine.errors import NoStateError, UnknownSubjectError, UnreadableStateError, message_of
from engine.inspection.bytes_read import NotAsWrittenError
from engine.inspection.row_names import columns_meant, is_met, name_in_bucket, table_in_bucket
from engine.inspection.store import read_store
from engine.plan.nodes import WindowAggregate
from engine.plan.state.operators import Operator
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
