"""Process of a connection test: `python -m engine.driver.probe SECONDS` reads the request from standard input and
writes the result to standard output. It has the environment of a driver, and changes nothing.

Infer the columns of a new table from its input.

    json, debezium_json      from the first records
    parquet                  from the first file's schema
    avro                     from the schema that the table names, or the newest one of the registry

Columns that were inferred from records are then tested with them, and the records that do not fit are counted.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from engine import types
from engine.connectors import find_connector
from engine.connectors.base import Table
from engine.connectors.probing import probe_connection, probe_table
from engine.connectors.sampling import sample
from engine.connectors.secret_values import fill_in
from engine.errors import EngineError, SchemaUnknownError, ScriptRefused, message_of
from engine.formats.base import RecordKind
from engine.jobs.processes.probes import ProbeOrder, ProbeResult
from engine.sql.stored.checking import CheckedTable, check_connection, check_table
from engine.sql.stored.spelling import spell_name
from engine.sql.tables.create_connection import Connections, read_connections

RECORDS = 1_000
MOST_COLUMNS = 2_048
_NAMED = 5
"""Largest number of columns to name as uncertain."""
_OF_RECORDS = ("json.", "avro.", "parquet.", "dead_letter.", "framing")
Columns = list[tuple[str, types.Type, bool]]


def infer(order: ProbeOrder, known: Connections) -> ProbeResult:
    """Return the best columns for a table, and their origin in words; raise if they cannot be inferred."""
    options = dict(order.options)
    if options.get("type", "source") != "source":
        raise SchemaUnknownError(
            "columns are inferred for tables that are read", hint="a sink without columns takes those of its rows"
        )
    connector = find_connector(order.connector)
    if connector is None or connector.source is None or not connector.carries:
        raise SchemaUnknownError(
            f"a table of {order.connector} brings its own columns, or reads nothing", hint="leave the columns out"
        )
    form = options.get("format", connector.default_format)
    match form:
        case "json" | "debezium_json":
            return _from_records(order, known, is_change=form == "debezium_json")
        case "parquet":
            return _from_parquet(order, known)
        case "avro":
            return _from_avro(order, known)
    raise SchemaUnknownError(
        f"the format {form!r} does not say which columns there are",
        hint="columns are inferred from json, debezium_json, parquet and avro",
    )


def _from_records(order: ProbeOrder, known: Connections, *, is_change: bool) -> ProbeResult:
    from engine.formats.json.parse import infer_columns  # noqa: PLC0415

    found = infer_columns(_records(order, known, is_change=is_change))
    if not found.columns:
        looked = f"none of the first {found.strangers} records is a JSON object" if found.strangers else "it is empty"
        raise SchemaUnknownError(f"no columns can be inferred: {looked}", hint="list them by hand")
    columns: Columns = [(name, kind, True) for name, kind in found.columns]
    words = [f"{_counted(len(columns), 'column')}, from {_counted(found.records, 'record')}"]
    if found.guessed:
        words.append(f"only NULL was seen of {_names(found.guessed)}")
    if is_change:
        words.append("one has to be the PRIMARY KEY")
        return _result(columns, words)
    table = _checked(order, known, columns)
    total = found.records + found.strangers
    if wrong := _unreadable(table, total):
        words.append(f"{wrong} of {total} records do not fit them")
    return _result(columns, words)


def _records(order: ProbeOrder, known: Connections, *, is_change: bool) -> Iterator[bytes]:
    """Yield the first records unchanged."""
    connector = find_connector(order.connector)
    assert connector is not None
    is_bytes = RecordKind.BYTES in connector.carries
    options = {name: value for name, value in order.options.items() if not name.startswith(_OF_RECORDS)}
    options |= {"format": "raw_bytes" if is_bytes else "raw_string", "bad_data": "drop"}
    columns = f"value {'BYTEA' if is_bytes else 'TEXT'} NOT NULL"
    table = check_table(order.name, order.connector, columns, options, known).entry.table
    has_registry = is_bytes and _is_true(order.options, "json.confluent_schema_registry")
    is_split = is_bytes and order.options.get("framing") == "newline"
    count = 0
    for chunk in sample(table, RECORDS):
        for value in chunk.rows.column(0).to_pylist():
            raw = value if isinstance(value, bytes) else value.encode()
            for record in _pieces(raw[5:] if has_registry else raw, is_split=is_split):
                yield _row_of(record) if is_change else record
                count += 1
                if count >= RECORDS:
                    return


def _pieces(record: bytes, *, is_split: bool) -> Iterable[bytes]:
    return [piece for piece in record.split(b"\n") if piece.strip()] if is_split else [record]


def _row_of(record: bytes) -> bytes:
    """Return the row of a change as JSON; nothing for a message that is no change."""
    try:
        content: Any = json.loads(record)
        envelope = content.get("payload", content)
        return json.dumps(envelope.get("after") or envelope.get("before")).encode()
    except (ValueError, AttributeError, RecursionError):
        return b""


def _from_parquet(order: ProbeOrder, known: Connections) -> ProbeResult:
    import pyarrow.parquet as pq  # noqa: PLC0415
    from pyarrow import ArrowException  # noqa: PLC0415

    from engine.connectors.files.inputs import file_of, list_inputs, local_file  # noqa: PLC0415
    from engine.connectors.filesystem.options import FilesystemSourceOptions  # noqa: PLC0415
    from engine.formats.inferred_columns import from_arrow  # noqa: PLC0415

    options = fill_in(
        check_table(order.name, order.connector, "a TEXT", order.options, known).entry.table.options, os.environ
    )
    if not isinstance(options, FilesystemSourceOptions):
        raise SchemaUnknownError(f"files of {order.connector} are not looked into", hint="list the columns by hand")
    files = list_inputs(options.path, options, options.regex_pattern, by_time=False)
    if not files:
        raise SchemaUnknownError(f"there is no file in {options.path}", hint="list the columns by hand")
    name = files[0].key.name
    try:
        schema = pq.read_schema(local_file(file_of(options.path, name, options)))
    except (OSError, ArrowException) as error:
        raise SchemaUnknownError(f"{name or options.path} is no Parquet file: {message_of(error)}") from error
    kinds = [(field.name, from_arrow(field.type), field.nullable) for field in schema]
    columns: Columns = [(name, kind, nullable) for name, kind, nullable in kinds if kind is not None]
    left_out = [name for name, kind, _ in kinds if kind is None]
    _checked(order, known, columns)
    words = [f"{_counted(len(columns), 'column')}, as {name or options.path} has them"]
    if left_out:
        words.append(f"there is no type for {_names(left_out)}")
    return _result(columns, words)


def _from_avro(order: ProbeOrder, known: Connections) -> ProbeResult:
    from engine.connectors.schema_registry import subject_of  # noqa: PLC0415
    from engine.formats.inferred_columns import columns_of  # noqa: PLC0415

    text = order.options.get("avro.schema")
    place = "avro.schema"
    if text is None:
        table = check_table(order.name, order.connector, "a TEXT", order.options, known).entry.table
        subject = _subject(table, subject_of)
        if subject is None:
            raise SchemaUnknownError(
                "records of Avro are read by a schema, and there is none",
                hint="name it with 'avro.schema', or a registry with 'schema_registry.endpoint' and "
                "'avro.confluent_schema_registry'",
            )
        place = f"the newest version of {subject.name}"
        text = subject.registry.newest_of(subject.name)
    fields, left_out = columns_of(str(text))
    columns: Columns = [(field.name, field.type, field.nullable) for field in fields]
    _checked(order, known, columns)
    words = [f"{_counted(len(columns), 'column')}, as {place} has them"]
    if left_out:
        words.append(f"there is no type for {_names(left_out)}")
    return _result(columns, words)


def _subject(table: Table, subject_of: Any) -> Any:
    from dataclasses import replace  # noqa: PLC0415

    form = table.format and fill_in(table.format, os.environ)
    filled = replace(table, options=fill_in(table.options, os.environ), format=form)
    topic = str(getattr(filled.options, "topic", None) or "").partition(",")[0]
    return subject_of(filled, topic)


def _checked(order: ProbeOrder, known: Connections, columns: Columns) -> CheckedTable:
    """Return the table with these columns; raise if it cannot have them."""
    if len(columns) > MOST_COLUMNS:
        raise SchemaUnknownError(
            f"there are {len(columns)} columns, and a table has {MOST_COLUMNS} at most",
            hint="have the whole record in one: value JSON, with 'json.unstructured' = true",
        )
    options = {name: value for name, value in order.options.items() if not name.startswith(("bad_data", "dead_letter"))}
    return check_table(order.name, order.connector, _listed(columns), {**options, "bad_data": "drop"}, known)


def _unreadable(table: CheckedTable, total: int) -> int:
    """Count the first records that cannot be read as rows of the table."""
    read = dropped = 0
    for chunk in sample(table.entry.table, RECORDS):
        read += chunk.rows.num_rows
        dropped += chunk.dropped
        if read + dropped >= total:
            break
    return dropped


def _listed(columns: Columns) -> str:
    return ",\n".join(f"{spell_name(name)} {kind}{'' if nullable else ' NOT NULL'}" for name, kind, nullable in columns)


def _result(columns: Columns, words: list[str]) -> ProbeResult:
    return ProbeResult("; ".join(words), columns=tuple((name, str(kind), nullable) for name, kind, nullable in columns))


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _names(names: Iterable[str]) -> str:
    listed = list(names)
    further = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return f"{', '.join(listed[:_NAMED])}{further}"


def _is_true(options: Mapping[str, Any], name: str) -> bool:
    return str(options.get(name, "")).lower() == "true"


_LEAST = 1.0
"""Shortest timeout; zero would mean none."""


def main() -> int:
    """Run one test. Its first argument is the number of seconds after which it ends itself, in case the caller is
    gone."""
    _end_after(float(sys.argv[1]))
    logging.disable(logging.CRITICAL)
    order = ProbeOrder(**json.load(sys.stdin))
    answer = os.dup(1)
    os.dup2(2, 1)  # what a library prints is no answer
    try:
        result = _play(order)
    except ScriptRefused as refused:
        first = refused.complaints[0]
        result = ProbeResult(first.message, True, first.code, first.hint)
    except EngineError as error:
        result = ProbeResult(error.message, True, error.code, error.hint)
    except Exception as error:  # noqa: BLE001 - the top of a process; whatever a client raises is what came of the test
        result = ProbeResult(f"{type(error).__name__}: {error}"[:500], True, "connector.failed")
    with os.fdopen(answer, "w") as output:
        json.dump(asdict(result), output)
    os._exit(0)  # clients of other systems have threads that go on


def _end_after(seconds: float) -> None:
    """Let the system end this process after a time, even if a client of another system blocks it."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, _LEAST))


def _play(order: ProbeOrder) -> ProbeResult:
    if order.infer:
        return infer(order, _known(order))
    if order.columns is None:
        connection = check_connection(order.name, order.connector, order.options)
        connector = find_connector(connection.connector)
        assert connector is not None, connection.connector
        return ProbeResult(probe_connection(connector, connection.options))
    table = check_table(order.name, order.connector, order.columns, order.options, _known(order)).entry.table
    with TemporaryDirectory() as scratch:
        return ProbeResult(probe_table(table, Path(scratch)))


def _known(order: ProbeOrder) -> Connections:
    return read_connections(order.connections) if order.connections.strip() else {}


if __name__ == "__main__":
    sys.exit(main())
