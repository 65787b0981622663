"""The statements of a script, in order, and the writes they come down to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from sqlglot import exp

from engine import types
from engine.connectors.base import Table
from engine.durations import read_duration
from engine.errors import (
    ColumnCountError,
    DuplicateNameError,
    DurationError,
    EmptyScriptError,
    MemoryTableError,
    ScriptRefused,
    SyntaxRefusedError,
    TextPosition,
    TooLargeError,
    TypeMismatchError,
    UnknownSettingError,
    UnsupportedStatementError,
    WrongDirectionError,
)
from engine.plan.expr import Column, Expr, Named
from engine.plan.nodes import Project, Write, is_updating
from engine.plan.tree import Node
from engine.schema import Field, Schema
from engine.sql.catalog import (
    Catalog,
    Entry,
    MemoryTable,
    SinkTable,
    SourceTable,
    View,
)
from engine.sql.column_names import count_columns, usable_list
from engine.sql.complaints import Complaints, errors_located
from engine.sql.query.joins import LookupTable
from engine.sql.query.select import UPDATING_TTL, Queries, as_columns, unite
from engine.sql.query.updating import refuse_chance
from engine.sql.scalar.expressions import cast_for, read_interval
from engine.sql.scope import Relation
from engine.sql.tables.create_connection import CONNECTION, Connection, Connections, declare_connection
from engine.sql.tables.create_table import anonymous_sink, declare_table, taking_changes, with_columns
from engine.sql.tables.dead_letters import with_dead_letter_tables
from engine.sql.text.clauses import refused_clauses
from engine.sql.text.limits import MAX_RELATIONS, count_relations
from engine.sql.text.parse import STATEMENTS, Script, Statement


@dataclass(frozen=True, slots=True)
class Translation:
    """What a script means: its writes, and every table they touch."""

    writes: tuple[Write, ...]
    tables: Mapping[str, Table]


def translate(script: Script, default_sink: str, connections: Connections | None = None) -> Translation:
    """The meaning of a script, which may use these connections beside its own. Raises ScriptRefused with everything
    that is wrong with it."""
    reading = _Reading(script, default_sink, dict(connections or {}))
    for complaint in script.complaints:
        reading.complaints.add(complaint)
    for statement in script.statements:
        with reading.complaints.collect(statement.at):
            reading.take(statement)
    reading.complaints.raise_any()
    if not reading.inserts:
        raise ScriptRefused([_no_query()])
    return reading.finish()


def _no_query() -> EmptyScriptError:
    return EmptyScriptError(
        "The provided SQL does not contain a query", hint="add an INSERT INTO ... SELECT, or a SELECT"
    )


@dataclass(slots=True)
class _Reading:
    script: Script
    default_sink: str
    connections: dict[str, Connection]
    catalog: Catalog = field(default_factory=Catalog)
    complaints: Complaints = field(default_factory=Complaints)
    inserts: dict[str, list[Node]] = field(default_factory=dict)
    sinks: dict[str, Table] = field(default_factory=dict)
    size: int = 0
    updating_ttl: timedelta = UPDATING_TTL

    def take(self, statement: Statement) -> None:
        """Note what a statement declares or writes. One that was refused still gives its name, so that nobody is told
        that there is no such table."""
        try:
            if statement.node is not None:
                self._take(statement.node)
        except RecursionError:
            raise TooLargeError(
                "the statement is nested too deeply", hint="name parts of the query with CREATE VIEW"
            ) from None
        finally:
            if statement.declares is not None:
                self.catalog.give_up(statement.declares)

    def _take(self, node: exp.Expr) -> None:
        refused = list(refused_clauses(node, self.script))
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
                self._set(node)
            case _ if not refused:
                raise UnsupportedStatementError(_unsupported(node), hint=STATEMENTS)

    def finish(self) -> Translation:
        writes = tuple(
            Write(parts[0] if len(parts) == 1 else unite(parts), name) for name, parts in self.inserts.items()
        )
        tables = with_dead_letter_tables(self.catalog, self.sinks, self.complaints)
        self.complaints.raise_any()
        return Translation(writes, tables)

    def _query(self, node: exp.Expr) -> Relation:
        relation = Queries(self.script, self.catalog, {}, self.updating_ttl).translate(node)
        count_relations(relation.rows)
        refuse_chance(relation.rows)
        return relation

    def _note_size(self, rows: Node) -> None:
        self.size += count_relations(rows)
        if self.size > MAX_RELATIONS:
            raise TooLargeError(
                f"the script comes to more than {MAX_RELATIONS} relations", hint="write several pipelines"
            )

    def _create(self, node: exp.Create) -> None:
        target = node.this.this if isinstance(node.this, exp.Schema) else node.this
        at = self.script.position(target)
        if node.kind not in ("TABLE", "VIEW", CONNECTION) or not isinstance(target, exp.Table):
            raise UnsupportedStatementError(f"Unsupported statement: CREATE {node.kind}", hint=STATEMENTS)
        if target.args.get("db"):
            shown = target.sql(dialect="postgres")
            raise UnsupportedStatementError(
                f"{shown} is not a name of one part", hint="leave out what is before the dot", at=at
            )
        if node.kind == "VIEW" and node.expression is None:
            raise SyntaxRefusedError(
                f"view {target.name} has no query", hint="write CREATE VIEW name AS SELECT ...", at=at
            )
        name = target.name
        if node.kind == CONNECTION:
            self._connect(name, node, at or TextPosition(1, 1))
            return
        self._refuse_variants(node)
        with errors_located(at):
            entry = (
                declare_table(node, self.script, self.connections)
                if node.expression is None
                else View(self._named_query(node))
            )
        self.catalog.declare(name, entry, at)

    def _connect(self, name: str, node: exp.Create, at: TextPosition) -> None:
        if name.lower() in self.connections:
            raise DuplicateNameError(f"connection {name!r} is declared twice", hint="give one another name", at=at)
        self.connections[name.lower()] = declare_connection(node, self.script, at)

    def _refuse_variants(self, node: exp.Create) -> None:
        for part, word in (("replace", "OR REPLACE"), ("exists", "IF NOT EXISTS"), ("clone", "CLONE")):
            if node.args.get(part):
                raise UnsupportedStatementError(f"CREATE ... {word} is not supported", hint="each script starts empty")
        if node.expression is not None and node.args.get("properties"):
            raise UnsupportedStatementError(
                "CREATE TABLE AS takes no WITH options", hint="create the sink table first, then INSERT INTO it"
            )

    def _named_query(self, node: exp.Create) -> Relation:
        relation = self._query(node.expression)
        rows = relation.rows
        if not isinstance(node.this, exp.Schema):
            return relation
        names = [part.name for part in node.this.expressions]
        with errors_located(self.script.position(node.this)):
            usable_list(names)
        if len(names) != len(rows.schema):
            raise ColumnCountError(
                f"{len(names)} names for {count_columns(len(rows.schema))}", hint="name every column"
            )
        columns = zip(names, rows.schema, strict=True)
        renamed = tuple(Named(name, Column(field.name, field.type, field.nullable)) for name, field in columns)
        return Relation(Project(rows, renamed))

    def _insert(self, node: exp.Insert) -> None:
        target, named = node.this, None
        if isinstance(target, exp.Schema):
            named = [part.name for part in target.expressions]
            target = target.this
        if not isinstance(target, exp.Table) or target.args.get("db") or node.args.get("overwrite"):
            raise UnsupportedStatementError("Unsupported statement: only INSERT INTO a declared table", hint=STATEMENTS)
        at = self.script.position(target)
        if not isinstance(node.expression, exp.Query):
            raise UnsupportedStatementError("INSERT takes a SELECT", hint="INSERT INTO sink SELECT ...", at=at)
        complaints = Complaints()
        entry: Entry | None = None
        rows: Node | None = None
        with complaints.collect(at):
            entry = self.catalog.find(target.name)
        with complaints.collect(at):
            rows = self._query(node.expression).rows
        with complaints.collect(at):
            if entry is not None and rows is not None:
                self._write(target.name, entry, _in_order(rows, named, entry))
        if complaints.found:
            self.catalog.insert_refused(target.name)
        complaints.raise_any()

    def _write(self, name: str, entry: Entry, rows: Node) -> None:
        match entry:
            case SinkTable(table, columns):
                known = self.sinks.get(table.name)
                table = known or table
                if is_updating(rows):
                    table = taking_changes(table, is_anonymous=False)
                wanted = columns or (known.schema if known else None)
                if wanted is None:
                    wanted = _typed(rows.schema)
                elif columns is None and [one.type for one in wanted] != [one.type for one in _typed(rows.schema)]:
                    raise TypeMismatchError(
                        "all inserts into a table must share the same schema", hint=f"declare the columns of {name}"
                    )
                self._note_size(rows)
                self.sinks[table.name] = with_columns(table, wanted)
                self.inserts.setdefault(table.name, []).append(_fit(rows, wanted, name))
            case MemoryTable(columns, None):
                self.catalog.fill(name, _fit(rows, columns, name))
            case MemoryTable():
                raise MemoryTableError("Can only insert into a memory table once", hint="use UNION ALL")
            case LookupTable():
                raise WrongDirectionError(
                    "lookup (temporary) tables cannot be inserted into", hint="write with another sink"
                )
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
        rows = self._query(node).rows
        self._note_size(rows)
        name = f"select_{len(self.inserts) + 1}"
        columns = _typed(rows.schema)
        sink = anonymous_sink(name, self.default_sink, columns)
        self.sinks[name] = taking_changes(sink, is_anonymous=True) if is_updating(rows) else sink
        self.inserts[name] = [_fit(rows, columns, name)]

    def _set(self, node: exp.Set) -> None:
        setting = node.expressions[0].this if len(node.expressions) == 1 else None
        if not isinstance(setting, exp.EQ) or not isinstance(setting.this, exp.Column | exp.Var | exp.Identifier):
            raise UnsupportedStatementError("invalid syntax for `SET` call", hint="SET updating_ttl = '1 day'")
        named, value = setting.this, setting.expression
        name = ".".join(part.name for part in named.parts) if isinstance(named, exp.Column) else named.name
        if name.lower() != "updating_ttl":
            raise UnknownSettingError(
                f"invalid option '{name}'; supported options are 'updating_ttl'",
                hint="other settings are given at the start",
                at=self.script.position(named),
            )
        with errors_located(self.script.position(value)):
            self.updating_ttl = _read_ttl(value)


_LONGEST_TTL = timedelta(days=36_500)


def _read_ttl(value: exp.Expr) -> timedelta:
    hint = "SET updating_ttl = '1 day'"
    match value:
        case exp.Tuple():
            raise UnsupportedStatementError("invalid syntax for `SET` call; expected exactly one expression", hint=hint)
        case exp.Interval():
            length = read_interval(value)
        case exp.Literal(is_string=True):
            length = read_duration(value.name)
        case _:
            shown = value.sql(dialect="postgres")
            raise DurationError(f"updating_ttl is a length of time, not {shown}", hint=hint)
    if length <= timedelta(0):
        raise DurationError("updating_ttl must be longer than nothing", hint=hint)
    if length > _LONGEST_TTL:
        raise DurationError(f"updating_ttl is {_LONGEST_TTL.days} days at most", hint="leave out what is never needed")
    return length


def _typed(columns: Schema) -> Schema:
    """The columns as a sink can have them when nobody declared them: NULL may come into each by another INSERT, and one
    that is always NULL is text, and so is a part of JSON."""
    as_text = (types.Null(), types.JSON_PART)
    kinds = ((one.name, types.TEXT if one.type in as_text else one.type) for one in columns)
    return Schema(tuple(Field(name, kind, nullable=True) for name, kind in kinds))


def _fit(rows: Node, wanted: Schema, name: str) -> Node:
    """The rows cast, by position, to the columns of their target."""
    if len(rows.schema) != len(wanted):
        raise ColumnCountError(
            f"{name} has {count_columns(len(wanted))}, and {len(rows.schema)} are inserted",
            hint=f"it takes {', '.join(f'{one.name} {one.type}' for one in wanted)}",
        )
    pairs = list(zip(rows.schema, wanted, strict=True))
    columns = tuple(Named(to.name, _cast(one, to, name)) for one, to in pairs)
    if all(isinstance(item.expr, Column) and item.expr.name == item.name for item in columns):
        return rows
    return Project(rows, columns)


def _cast(one: Field, to: Field, table: str) -> Expr:
    return cast_for(Column(one.name, one.type, one.nullable), to.type, f"column {to.name!r} of {table}")


def _in_order(rows: Node, named: list[str] | None, entry: Entry) -> Node:
    """The rows, once it is sure that the columns an INSERT names are all of the target's, in its order. A sink
    without columns takes their names."""
    if named is None:
        return rows
    if len(named) != len(rows.schema):
        raise ColumnCountError(f"{len(named)} names for {count_columns(len(rows.schema))}", hint="give one each")
    wanted = entry.columns if isinstance(entry, SinkTable | MemoryTable) else None
    if wanted is None:
        return as_columns(rows, list(zip(usable_list(named), (one.type for one in rows.schema), strict=True)))
    if [name.lower() for name in named] != [name.lower() for name in wanted.names]:
        raise ColumnCountError(
            "INSERT is positional: the named columns must be all of the table's, in its order",
            hint=f"write ({', '.join(wanted.names)})",
        )
    return rows


def _unsupported(statement: exp.Expr) -> str:
    word = str(statement.this).upper() if isinstance(statement, exp.Command) else ""
    if word == "SET":
        return "invalid syntax for `SET` call"
    if word == "CREATE":
        return "Unsupported statement: this CREATE has a part that is not known"
    return f"Unsupported statement: {' '.join(statement.sql(dialect='postgres').split()[:2])}"
