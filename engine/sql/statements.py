"""The statements of a script, in order, and the writes they come down to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from engine.connectors.base import Table
from engine.durations import read_duration
from engine.errors import (
    ColumnCountError,
    EmptyScriptError,
    EngineError,
    MemoryTableError,
    TypeMismatchError,
    UnknownSettingError,
    UnsupportedStatementError,
    WrongDirectionError,
)
from engine.plan.expr import Column, Expr, Named
from engine.plan.nodes import Project, Write
from engine.plan.tree import Node
from engine.schema import Field, Schema
from engine.sql.catalog import (
    Broken,
    Catalog,
    MemoryTable,
    SinkTable,
    SourceTable,
    View,
)
from engine.sql.complaints import Complaints
from engine.sql.expressions import cast_for, read_interval
from engine.sql.parse import Script
from engine.sql.select import Queries, unite
from engine.sql.tables import anonymous_sink, declare_table, with_columns


@dataclass(frozen=True, slots=True)
class Translation:
    """What a script means: its writes, and every table they touch."""

    writes: tuple[Write, ...]
    tables: Mapping[str, Table]


def translate(script: Script, default_sink: str) -> Translation:
    """The meaning of a script. Raises ScriptRefused with everything that is wrong with it."""
    reading = _Reading(script, default_sink)
    for statement in script.statements:
        with reading.complaints.collect(script.place(statement)):
            reading.take(statement)
    reading.complaints.raise_any()
    if not reading.inserts:
        raise EmptyScriptError(
            "The provided SQL does not contain a query", hint="add an INSERT INTO ... SELECT, or a SELECT"
        )
    return reading.finish()


@dataclass(slots=True)
class _Reading:
    script: Script
    default_sink: str
    catalog: Catalog = field(default_factory=Catalog)
    complaints: Complaints = field(default_factory=Complaints)
    inserts: dict[str, list[Node]] = field(default_factory=dict)
    sinks: dict[str, Table] = field(default_factory=dict)

    def take(self, statement: exp.Expr) -> None:
        match statement:
            case exp.Create():
                self._create(statement)
            case exp.Insert():
                self._insert(statement)
            case exp.Select() | exp.Union() | exp.Subquery():
                self._select(statement)
            case exp.Set():
                self._set(statement)
            case _:
                raise UnsupportedStatementError(_unsupported(statement), hint=_STATEMENTS)

    def finish(self) -> Translation:
        writes = tuple(
            Write(parts[0] if len(parts) == 1 else unite(parts), name) for name, parts in self.inserts.items()
        )
        return Translation(writes, {**self.catalog.read_tables, **self.sinks})

    def _queries(self) -> Queries:
        return Queries(self.script, self.catalog, {})

    def _create(self, node: exp.Create) -> None:
        target = node.this.this if isinstance(node.this, exp.Schema) else node.this
        at = self.script.place(target)
        if node.kind not in ("TABLE", "VIEW") or not isinstance(target, exp.Table) or target.args.get("db"):
            raise UnsupportedStatementError(f"Unsupported statement: CREATE {node.kind}", hint=_STATEMENTS)
        name = target.name
        self._refuse_variants(node)
        try:
            if node.expression is not None:
                entry = View(self._named_query(node))
                self.catalog.declare(name, entry, at)
            else:
                self.catalog.declare(name, declare_table(node, self.script), at)
        except EngineError:
            self.catalog.entries.setdefault(name.lower(), (name, Broken()))
            raise

    def _refuse_variants(self, node: exp.Create) -> None:
        for part, word in (("replace", "OR REPLACE"), ("exists", "IF NOT EXISTS"), ("clone", "CLONE")):
            if node.args.get(part):
                raise UnsupportedStatementError(f"CREATE ... {word} is not supported", hint="each script starts empty")
        if node.expression is not None and node.args.get("properties"):
            raise UnsupportedStatementError(
                "CREATE TABLE AS takes no WITH options", hint="create the sink table first, then INSERT INTO it"
            )

    def _named_query(self, node: exp.Create) -> Node:
        rows = self._queries().translate(node.expression)
        if not isinstance(node.this, exp.Schema):
            return rows
        names = [part.name for part in node.this.expressions]
        if len(names) != len(rows.schema):
            raise ColumnCountError(f"{len(names)} names for {len(rows.schema)} columns", hint="name every column")
        columns = zip(names, rows.schema, strict=True)
        return Project(rows, tuple(Named(name, Column(one.name, one.type, one.nullable)) for name, one in columns))

    def _insert(self, node: exp.Insert) -> None:
        target = node.this
        columns: list[str] | None = None
        if isinstance(target, exp.Schema):
            columns = [part.name for part in target.expressions]
            target = target.this
        if not isinstance(target, exp.Table) or target.args.get("db") or node.args.get("overwrite"):
            raise UnsupportedStatementError(
                "Unsupported statement: only INSERT INTO a declared table", hint=_STATEMENTS
            )
        for clause in ("returning", "conflict", "partition", "where", "alternative"):
            if node.args.get(clause):
                raise UnsupportedStatementError(f"INSERT with {clause.upper()} is not supported", hint=_STATEMENTS)
        at = self.script.place(target)
        if not isinstance(node.expression, exp.Query):
            raise UnsupportedStatementError("INSERT takes a SELECT", hint="INSERT INTO sink SELECT ...", at=at)
        try:
            entry = self.catalog.find(target.name)
        except EngineError as error:
            error.at = error.at or at
            raise
        rows = self._queries().translate(node.expression)
        try:
            self._write(target.name, entry, _in_order(rows, columns, entry))
        except EngineError as error:
            error.at = error.at or at
            raise

    def _write(self, name: str, entry: object, rows: Node) -> None:
        match entry:
            case SinkTable(table, columns):
                known = self.sinks.get(table.name)
                wanted = columns or (known.schema if known else None)
                if wanted is None:
                    wanted = rows.schema
                elif columns is None and [one.type for one in wanted] != [one.type for one in rows.schema]:
                    raise TypeMismatchError(
                        "all inserts into a table must share the same schema", hint=f"declare the columns of {name}"
                    )
                self.sinks[table.name] = with_columns(table, wanted)
                self.inserts.setdefault(table.name, []).append(_fit(rows, wanted, name))
            case MemoryTable(columns, None):
                self.catalog.fill(name, _fit(rows, columns, name))
            case MemoryTable():
                raise MemoryTableError("Can only insert into a memory table once", hint="use UNION ALL")
            case SourceTable():
                raise WrongDirectionError(
                    f"attempted to insert into table '{name}', but it is a source", hint="declare it with type = 'sink'"
                )
            case _:
                raise WrongDirectionError(
                    "shouldn't be inserting more data into a table made with CREATE TABLE AS",
                    hint="create a sink table and insert into that",
                )

    def _select(self, node: exp.Expr) -> None:
        rows = self._queries().translate(node)
        name = f"select_{len(self.inserts) + 1}"
        self.sinks[name] = anonymous_sink(name, self.default_sink, rows.schema)
        self.inserts[name] = [rows]

    def _set(self, node: exp.Set) -> None:
        for item in node.expressions:
            setting = item.this
            if not isinstance(setting, exp.EQ):
                raise UnsupportedStatementError("invalid syntax for `SET` call", hint="SET updating_ttl = '1 day'")
            name = setting.this.name.lower()
            if name != "updating_ttl":
                raise UnknownSettingError(
                    f"invalid option '{name}'; supported options are 'updating_ttl'",
                    hint="other settings are given at the start",
                )
            value = setting.expression
            if isinstance(value, exp.Interval):
                read_interval(value)
            else:
                read_duration(value.name)


def _fit(rows: Node, wanted: Schema, name: str) -> Node:
    """The rows cast, by position, to the columns of their target."""
    if len(rows.schema) != len(wanted):
        raise ColumnCountError(
            f"{len(rows.schema)} columns are inserted into {name}, which has {len(wanted)}",
            hint=f"it takes {', '.join(f'{one.name} {one.type}' for one in wanted)}",
        )
    pairs = list(zip(rows.schema, wanted, strict=True))
    columns = tuple(Named(to.name, _cast(one, to, name)) for one, to in pairs)
    if all(isinstance(item.expr, Column) and item.expr.name == item.name for item in columns):
        return rows
    return Project(rows, columns)


def _cast(one: Field, to: Field, table: str) -> Expr:
    return cast_for(Column(one.name, one.type, one.nullable), to.type, f"column {to.name!r} of {table}")


def _in_order(rows: Node, columns: list[str] | None, entry: object) -> Node:
    """The rows with columns in the target's order, when the INSERT names them; left out ones are NULL."""
    if columns is None:
        return rows
    if len(columns) != len(rows.schema):
        raise ColumnCountError(f"{len(columns)} columns are named and {len(rows.schema)} given", hint="give one each")
    wanted = getattr(entry, "columns", None)
    order = wanted.names if isinstance(wanted, Schema) else tuple(columns)
    if [name.lower() for name in columns] != [name.lower() for name in order]:
        raise ColumnCountError(
            "INSERT is positional: the named columns must be all of the table's, in its order",
            hint=f"write ({', '.join(order)})",
        )
    return rows


_STATEMENTS = "a pipeline holds CREATE TABLE, CREATE VIEW, INSERT INTO ... SELECT, SELECT and SET"


def _unsupported(statement: exp.Expr) -> str:
    if isinstance(statement, exp.Command):
        return f"{str(statement.this).upper()} is not supported"
    words = " ".join(statement.sql(dialect="postgres").split()[:2])
    return f"Unsupported statement: {words}"
