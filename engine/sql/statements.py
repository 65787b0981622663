"""Process the statements of a script in order, and collect its writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from sqlglot import exp

from engine import types
from engine.connectors.base import Table
from engine.errors import (
    ColumnCountError,
    DuplicateNameError,
    EmptyScriptError,
    EngineError,
    MemoryTableError,
    ScriptRefused,
    SinkPrefixError,
    SyntaxRefusedError,
    TextPosition,
    TooLargeError,
    TypeMismatchError,
    UnsupportedStatementError,
    WrongDirectionError,
)
from engine.plan.expressions.expr import Named
from engine.plan.nodes import Project, Write, is_updating
from engine.plan.tree import Node
from engine.schema import Field, Schema
from engine.sql.catalog import (
    MAX_RELATIONS,
    Catalog,
    Complaints,
    Entry,
    LookupTable,
    MemoryTable,
    SinkTable,
    SourceTable,
    View,
    count_relations,
    errors_located,
)
from engine.sql.clauses import rewrite_clauses
from engine.sql.data_types import count_columns, usable_list
from engine.sql.query.group_by import OperatorHints
from engine.sql.query.nondeterministic import refuse_names_of_changes, refuse_nondeterministic
from engine.sql.query.queries import UPDATING_TTL, Queries
from engine.sql.query.relation_columns import cast_columns, column_of, is_passed_on
from engine.sql.query.select_list import refuse_shared_names
from engine.sql.query.set_operations import unite
from engine.sql.scalar.comparisons import cast_for
from engine.sql.scope import Relation
from engine.sql.set_statement import SET_USAGE, SinkPrefix, SinksShown, read_set
from engine.sql.spellings import spell_out
from engine.sql.tables.create_connection import CONNECTION, Connection, Connections, declare_connection
from engine.sql.tables.create_table import anonymous_sink, declare_table, taking_changes, with_columns
from engine.sql.tables.late_rows import late_row_writes, with_dead_letter_tables
from engine.sql.tables.stand_ins import stand_in_for
from engine.sql.text.parse import Script, Statement, refused_clauses
from engine.sql.text.pieces import STATEMENTS


@dataclass(frozen=True, slots=True)
class Translation:
    """Result of translating a script: its writes, and all tables in them. `pins` are operator names from hints, with
    their positions."""

    writes: tuple[Write, ...]
    tables: Mapping[str, Table]
    sink_prefix: SinkPrefix | None = None
    """Prefix of its sinks, if any."""
    pins: Mapping[str, TextPosition] = field(default_factory=dict)
    only_shows: bool = False
    """Whether all sinks are replaced by previews."""


def translate(script: Script, default_sink: str, connections: Connections | None = None) -> Translation:
    """Return the translated script, which may use these connections in addition to its own. Raise ScriptRefused with
    all errors."""
    reader = _ScriptReader(script, default_sink, dict(connections or {}))
    for complaint in script.complaints:
        reader.complaints.add(complaint)
    for statement in script.statements:
        with reader.complaints.collect(statement.at):
            reader.read(statement)
    reader.complaints.raise_any()
    if not reader.inserts:
        raise ScriptRefused([_no_query()])
    return reader.finish()


def _no_query() -> EmptyScriptError:
    return EmptyScriptError("the script contains no query", hint="add an INSERT INTO ... SELECT, or a SELECT")


@dataclass(slots=True)
class _ScriptReader:
    """Processes the statements of a script. `inserts` are the rows for each sink, `size` is the total number of
    relations."""

    script: Script
    default_sink: str
    connections: dict[str, Connection]
    catalog: Catalog = field(default_factory=Catalog)
    complaints: Complaints = field(default_factory=Complaints)
    inserts: dict[str, list[Node]] = field(default_factory=dict)
    sinks: dict[str, Table] = field(default_factory=dict)
    size: int = 0
    updating_ttl: timedelta = UPDATING_TTL
    sink_prefix: SinkPrefix | None = None
    only_shows: bool = False
    hints: OperatorHints = field(default_factory=OperatorHints)

    def read(self, statement: Statement) -> None:
        """Record what a statement declares or writes. A refused one declares its name nevertheless, so that no further
        error says that there is no such table."""
        try:
            if statement.node is not None:
                self._read(statement.node)
        except RecursionError:
            raise TooLargeError(
                "the statement is nested too deeply", hint="name parts of the query with CREATE VIEW"
            ) from None
        finally:
            if statement.declares is not None:
                self.catalog.give_up(statement.declares)

    def _read(self, node: exp.Expr) -> None:
        node = rewrite_clauses(spell_out(node))
        refused = [*refused_clauses(node, self.script), *self.hints.read(node, self.script)]
        for complaint in refused:
            self.complaints.add(complaint)
        match node:
            case exp.Create():
                self._create(node)
            case exp.Insert():
                self._insert(node)
            case exp.Query():
                self._select(node)
            case exp.Set():
                self._set(read_set(node, self.script))
            case _ if not refused:
                raise UnsupportedStatementError(_describe_unsupported(node), hint=STATEMENTS)

    def finish(self) -> Translation:
        """Return the writes of all statements."""
        writes = tuple(Write(rows[0] if len(rows) == 1 else unite(rows), name) for name, rows in self.inserts.items())
        late_writes = late_row_writes(self.catalog, writes, self.complaints)
        writes = (*writes, *(late.write for late in late_writes))
        self.sinks |= {late.table.name: late.table for late in late_writes}
        tables = with_dead_letter_tables(self.catalog, self.sinks, self.complaints)
        for complaint in self.hints.complaints({*self.catalog.entries, *map(str.lower, self.sinks)}):
            self.complaints.add(complaint)
        self.complaints.raise_any()
        return Translation(writes, tables, self.sink_prefix, self.hints.names, self.only_shows)

    def _set(self, value: timedelta | SinkPrefix | SinksShown) -> None:
        if isinstance(value, timedelta):
            self.updating_ttl = value
            return
        if isinstance(value, SinksShown):
            self.only_shows = True
            return
        if self.sink_prefix is not None:
            raise SinkPrefixError(
                f"the script is to write under {value.text!r}, and under {self.sink_prefix.text!r} already",
                hint="leave one of the two out",
                at=value.at,
            )
        self.sink_prefix = value

    def _translate_query(self, query: exp.Expr) -> Relation:
        relation = Queries(self.script, self.catalog, self.updating_ttl, hints=self.hints).translate(query)
        count_relations(relation.rows)
        refuse_nondeterministic(relation.rows)
        refuse_names_of_changes(relation.rows, self.script, query)
        return relation

    def _add_size(self, rows: Node) -> None:
        self.size += count_relations(rows)
        if self.size > MAX_RELATIONS:
            raise TooLargeError(f"the script has more than {MAX_RELATIONS} relations", hint="write several pipelines")

    def _create(self, node: exp.Create) -> None:
        target = node.this.this if isinstance(node.this, exp.Schema) else node.this
        at = self.script.position(target)
        if node.kind not in ("TABLE", "VIEW", CONNECTION) or not isinstance(target, exp.Table):
            raise UnsupportedStatementError(f"CREATE {node.kind} is not supported", hint=STATEMENTS)
        if target.args.get("db"):
            raise UnsupportedStatementError(
                f"{target.sql(dialect='postgres')} is not a name of one part",
                hint="leave out what is before the dot",
                at=at,
            )
        if node.kind == "VIEW" and node.expression is None:
            raise SyntaxRefusedError(
                f"view {target.name} has no query", hint="write CREATE VIEW name AS SELECT ...", at=at
            )
        if node.kind == CONNECTION:
            self._create_connection(target.name, node, at or TextPosition(1, 1))
            return
        _refuse_variants(node)
        if node.kind == "TABLE" and node.expression is not None and node.args.get("properties"):
            self._create_and_insert(node, target, at)
            return
        with errors_located(at):
            entry = View(self._translate_view(node)) if node.expression is not None else self._declare_table(node)
        self.catalog.declare(target.name, entry, at)

    def _create_and_insert(self, node: exp.Create, target: exp.Table, at: TextPosition | None) -> None:
        """Read CREATE TABLE ... WITH (...) AS SELECT as a sink and an INSERT into it."""
        sink = node.copy()
        query = sink.expression.pop()
        properties = sink.args["properties"]
        if not any(isinstance(item, exp.Property) and item.name.lower() == "type" for item in properties.expressions):
            kind = exp.Property(this=exp.to_identifier("type"), value=exp.Literal.string("sink"))
            properties.append("expressions", kind)
        into: exp.Expr = node.this
        if isinstance(into, exp.Schema):
            sink.set("this", target.copy())
        with errors_located(at):
            self.catalog.declare(target.name, self._declare_table(sink), at)
        self._insert(exp.Insert(this=into.copy(), expression=query))

    def _declare_table(self, node: exp.Create) -> Entry:
        """Return the declared table. If its options are refused, its columns are still known to the queries."""
        try:
            return declare_table(node, self.script, self.connections)
        except (EngineError, ScriptRefused):
            stand_in = stand_in_for(node, self.script)
            if stand_in is not None:
                self.catalog.stand_in(node.this.this.name, stand_in)
            raise

    def _create_connection(self, name: str, node: exp.Create, at: TextPosition) -> None:
        if name.lower() in self.connections:
            raise DuplicateNameError(f"connection {name!r} is declared twice", hint="give one another name", at=at)
        self.connections[name.lower()] = declare_connection(node, self.script, at)

    def _translate_view(self, node: exp.Create) -> Relation:
        """Return the query of a view or a CREATE TABLE AS, with the column names of the declaration."""
        relation = self._translate_query(node.expression)
        if not isinstance(node.this, exp.Schema):
            return relation
        rows, names = relation.rows, [part.name for part in node.this.expressions]
        with errors_located(self.script.position(node.this)):
            usable_list(names)
        if len(names) != len(rows.schema):
            raise ColumnCountError(
                f"the query has {count_columns(len(rows.schema))}, and names are given for {len(names)}",
                hint="name every column",
            )
        columns = (Named(name, column_of(field)) for name, field in zip(names, rows.schema, strict=True))
        return Relation(Project(rows, tuple(columns)))

    def _insert(self, node: exp.Insert) -> None:
        target, names = node.this, None
        if isinstance(target, exp.Schema):
            names = [part.name for part in target.expressions]
            target = target.this
        if not isinstance(target, exp.Table) or target.args.get("db") or node.args.get("overwrite"):
            raise UnsupportedStatementError("INSERT must be INTO a declared table", hint=STATEMENTS)
        at = self.script.position(target)
        if not isinstance(node.expression, exp.Query):
            raise UnsupportedStatementError("INSERT takes a SELECT", hint="INSERT INTO sink SELECT ...", at=at)
        complaints = Complaints()
        entry: Entry | None = None
        rows: Node | None = None
        with complaints.collect(at):
            entry = self.catalog.find(target.name)
        with complaints.collect(at):
            rows = self._translate_query(node.expression).rows
        with complaints.collect(at):
            if entry is not None and rows is not None:
                if names is None and isinstance(entry, SinkTable) and entry.columns is None:
                    refuse_shared_names(rows.schema, node.expression, self.script)
                self._write(target.name, entry, with_insert_names(rows, names, entry))
        if complaints.errors:
            self.catalog.insert_refused(target.name)
        complaints.raise_any()

    def _write(self, name: str, entry: Entry, rows: Node) -> None:
        match entry:
            case SinkTable():
                self._write_sink(name, entry, rows)
            case MemoryTable(columns, None):
                self.catalog.fill(name, fit_columns(rows, columns, name))
            case MemoryTable():
                raise MemoryTableError("a memory table takes one INSERT only", hint="use UNION ALL")
            case LookupTable():
                raise WrongDirectionError(
                    f"table {name!r} is a lookup table and cannot be inserted into", hint="write with another sink"
                )
            case SourceTable():
                raise WrongDirectionError(
                    f"table {name!r} is a source and cannot be inserted into", hint="declare it with type = 'sink'"
                )
            case _:
                raise WrongDirectionError(
                    f"{name!r} stands for a query and cannot be inserted into",
                    hint="create a sink table and insert into that",
                )

    def _write_sink(self, name: str, sink: SinkTable, rows: Node) -> None:
        """Add rows for a sink; the first ones determine its columns, unless it declares them."""
        earlier = self.sinks.get(sink.table.name)
        table = earlier or sink.table
        if is_updating(rows):
            table = taking_changes(table, is_anonymous=False)
        columns = sink.columns or (earlier.schema if earlier else None)
        if columns is None:
            columns = as_sink_columns(rows.schema)
        elif sink.columns is None and _types_of(columns) != _types_of(as_sink_columns(rows.schema)):
            raise TypeMismatchError(
                "all inserts into a table must have the same columns", hint=f"declare the columns of {name}"
            )
        self._add_size(rows)
        self.sinks[table.name] = with_columns(table, columns)
        fitted = fit_columns(rows, columns, name)
        refuse_names_of_changes(fitted, self.script)
        self.inserts.setdefault(table.name, []).append(fitted)

    def _select(self, node: exp.Expr) -> None:
        rows = self._translate_query(node).rows
        refuse_shared_names(rows.schema, node, self.script)
        self._add_size(rows)
        name = f"select_{len(self.inserts) + 1}"
        columns = as_sink_columns(rows.schema)
        sink = anonymous_sink(name, self.default_sink, columns)
        self.sinks[name] = taking_changes(sink, is_anonymous=True) if is_updating(rows) else sink
        self.inserts[name] = [fit_columns(rows, columns, name)]


def _types_of(columns: Schema) -> list[types.Type]:
    return [column.type for column in columns]


def _refuse_variants(node: exp.Create) -> None:
    for part, words in (("replace", "OR REPLACE"), ("exists", "IF NOT EXISTS"), ("clone", "CLONE")):
        if node.args.get(part):
            raise UnsupportedStatementError(f"CREATE ... {words} is not supported", hint="each script starts empty")
    if node.kind == "VIEW" and node.args.get("properties"):
        raise UnsupportedStatementError("CREATE VIEW takes no WITH options", hint="leave them out")


def _describe_unsupported(statement: exp.Expr) -> str:
    word = str(statement.this).upper() if isinstance(statement, exp.Command) else ""
    if word == "SET":
        return SET_USAGE
    if word == "CREATE":
        return "this CREATE has a part that is not supported"
    return f"a statement cannot begin with {statement.sql(dialect='postgres').split()[0]}"


def as_sink_columns(columns: Schema) -> Schema:
    """Return the columns for a sink without declared columns: all are nullable because of other INSERTs, and one that
    is always NULL, or a part of JSON, is text."""
    untyped = (types.Null(), types.JSON_PART)
    return Schema(
        tuple(
            Field(column.name, types.TEXT if column.type in untyped else column.type, nullable=True)
            for column in columns
        )
    )


def fit_columns(rows: Node, columns: Schema, table: str) -> Node:
    """Return the rows cast, by position, to the columns of their target."""
    if len(rows.schema) != len(columns):
        raise ColumnCountError(
            f"{table} has {count_columns(len(columns))}, and {len(rows.schema)} are inserted",
            hint=f"it takes {', '.join(f'{column.name} {column.type}' for column in columns)}",
        )
    projections = tuple(
        Named(column.name, cast_for(column_of(field), column.type, f"column {column.name!r} of {table}"))
        for field, column in zip(rows.schema, columns, strict=True)
    )
    return rows if all(is_passed_on(projection) for projection in projections) else Project(rows, projections)


def with_insert_names(rows: Node, names: Sequence[str] | None, target: Entry) -> Node:
    """Return the rows after checking that the columns of an INSERT are exactly the target's, in its order. A sink
    without columns takes their names."""
    if names is None:
        return rows
    if len(names) != len(rows.schema):
        raise ColumnCountError(
            f"the query has {count_columns(len(rows.schema))}, and names are given for {len(names)}",
            hint="name every column",
        )
    columns = target.columns if isinstance(target, SinkTable | MemoryTable) else None
    if columns is None:
        kinds = (field.type for field in rows.schema)
        return cast_columns(rows, list(zip(usable_list(names), kinds, strict=True)))
    if [name.lower() for name in names] != [name.lower() for name in columns.names]:
        raise ColumnCountError(
            "INSERT is positional: the named columns must be all of the table's, in its order",
            hint=f"write ({', '.join(columns.names)})",
        )
    return rows
