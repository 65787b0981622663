"""The declaration: options and kinds of tables. It is imported by every check of a script, so it imports no Arrow."""

from __future__ import annotations

from pathlib import Path

from engine.connectors.kit import Connector, Option, Options, Sink, SinkContext, SinkKind, Source, SourceKind, Table


class SqliteOptions(Options):
    """File and table of the database."""

    path: Path = Option(description="File of the database.")
    table: str = Option(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="Name of the table.")


class SqliteSourceOptions(SqliteOptions):
    """A table that rows are only appended to, with an id that grows."""

    id_column: str = Option("id", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="Column with the positive id.")


def _open_source(table: Table) -> Source:
    from arroyo_sqlite.rows import SqliteSource  # imports Arrow

    assert isinstance(table.options, SqliteSourceOptions)
    return SqliteSource(table, table.options)


def _open_sink(table: Table, context: SinkContext) -> Sink:
    from arroyo_sqlite.rows import open_sink  # imports Arrow

    assert isinstance(table.options, SqliteOptions)
    return open_sink(table, table.options, context)


SQLITE = Connector(
    name="sqlite",
    summary="Reads tables of SQLite in the order of an id, and appends rows to them.",
    source=SourceKind(options=SqliteSourceOptions, open=_open_source, is_all_there=lambda options: True),
    sink=SinkKind(
        options=SqliteOptions,
        open=_open_sink,
        guarantee="at-least-once",
        limits=("An epoch that is run again after a crash is appended again.",),
    ),
)
