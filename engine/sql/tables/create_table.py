"""CREATE TABLE: columns, event time, watermark and options of a declared table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from sqlglot import exp

from engine import types
from engine.connectors import CONNECTORS, connector_of, find_connector
from engine.connectors.base import Cache, Connector, Table
from engine.connectors.options import (
    GivenOption,
    ReadOptions,
    read_table_options,
)
from engine.errors import (
    EventTimeError,
    MemoryTableError,
    MissingOptionError,
    OptionValueError,
    TableColumnError,
    TextPosition,
    UpdatingQueryError,
)
from engine.formats import find_format
from engine.formats.debezium.format import DEBEZIUM_JSON
from engine.plan.evaluable import can_evaluate
from engine.plan.expr import Column, Expr, Literal, Named, is_nullable, substitute
from engine.plan.hidden import EVENT_TIME
from engine.plan.nodes import Project, Scan
from engine.plan.tree import Node
from engine.schema import Field, Schema
from engine.sql.catalog import Entry, LookupTable, MemoryTable, SinkTable, SourceTable
from engine.sql.complaints import Complaints
from engine.sql.scalar.expressions import Expressions, cast_for, make_call
from engine.sql.scope import Scope, Visible
from engine.sql.tables.columns import TableColumns, read_columns
from engine.sql.tables.create_connection import Connections, with_connection
from engine.sql.tables.options import as_lookup, given_options, is_temporary
from engine.sql.text.dialect import WatermarkFor
from engine.sql.text.parse import Script

_OWN_TIME = "__event_time"
DEFAULT_DELAY = timedelta(seconds=1)


def declare_table(node: exp.Create, script: Script, connections: Connections) -> Entry:
    """The table that a CREATE TABLE declares. Raises ScriptRefused with all that is wrong with it."""
    target = node.this.this if isinstance(node.this, exp.Schema) else node.this
    at = script.position(target) or TextPosition(1, 1)
    written = node.this.expressions if isinstance(node.this, exp.Schema) else []
    complaints = Complaints()
    columns = read_columns(written, script, complaints)
    given = given_options(node, script, complaints, at)
    with complaints.collect(at):
        given = with_connection(given, connections)
    if any(one.name == "connection_profile" for one in given):
        complaints.raise_any()
    named = next((one for one in given if one.name == "connector"), None)
    if is_temporary(node) and named is None:
        complaints.add(
            MissingOptionError(
                "required option 'connector' not set", hint="a temporary table is looked up in some place", at=at
            )
        )
    if named is None or named.value == "memory":
        complaints.raise_any()
        return _memory_table(target.name, columns, given)
    connector = find_connector(str(named.value))
    if connector is None:
        known = ", ".join(one.name for one in CONNECTORS if not one.hidden)
        complaints.add(
            OptionValueError(f"there is no connector {named.value!r}", hint=f"there is {known}", at=named.at)
        )
        complaints.raise_any()
        raise AssertionError
    options: ReadOptions | None = None
    with complaints.collect(at):
        rest = [one for one in given if one.name != "connector"]
        options = read_table_options(
            connector, as_lookup(rest, at) if is_temporary(node) else rest, table=target.name, at=at
        )
    complaints.raise_any()
    if options is None:
        raise AssertionError
    places = {one.name: one.at for one in given}
    return _Declaration(target.name, connector, columns, options, script, at, places).entry()


def with_columns(table: Table, columns: Schema) -> Table:
    """The sink with the columns of what is inserted; refused when they do not fit its connector or format."""
    filled = replace(table, schema=columns)
    _check_fit(filled)
    return filled


def _check_fit(table: Table) -> None:
    """Ask format and connector whether they can carry these columns."""
    complaint = connector_of(table).check(table)
    if complaint is None and table.format is not None:
        form = find_format(table.format.format)
        complaint = form.check(table.format, table.schema, table.direction, table.connector)
    if complaint is not None:
        raise OptionValueError(f"table {table.name}: {complaint}")


def taking_changes(table: Table, *, is_anonymous: bool) -> Table:
    """The sink as it takes rows that are changed afterwards; refused when it cannot. One that only shows its rows, or
    that nobody declared, shows them as changes."""
    connector = connector_of(table)
    if connector.drops_all or (table.format is not None and find_format(table.format.format).carries_changes):
        return table
    if (is_anonymous or connector.only_shows) and DEBEZIUM_JSON.name in connector.formats:
        return replace(table, format=DEBEZIUM_JSON.options.model_validate({}))
    raise UpdatingQueryError(
        "input is updating, but sink is not configured as an updating sink (hint: use `format = 'debezium_json'`)",
        hint="or aggregate within a time window, which gives every result once",
    )


def anonymous_sink(name: str, connector: str, columns: Schema) -> Table:
    """Where the rows of a bare SELECT go."""
    found = next(one for one in CONNECTORS if one.name == connector)
    options = read_table_options(
        found, [GivenOption("type", "sink", TextPosition(1, 1))], table=name, at=TextPosition(1, 1)
    )
    return Table(name, connector, "sink", options.connector, columns, options.format)


def _memory_table(name: str, columns: TableColumns, given: Sequence[GivenOption]) -> MemoryTable:
    if any(one.name != "connector" for one in given):
        raise MemoryTableError(
            "Memory tables do not allow with options; to create a connection table set the 'connector' option"
        )
    if columns.generated or columns.metadata or columns.watermark:
        raise MemoryTableError(f"memory table {name} can only have plain columns", hint="compute them in the INSERT")
    if not columns.physical:
        raise MemoryTableError(f"memory table {name} needs columns", hint="or set the 'connector' option")
    return MemoryTable(Schema(columns.physical))


@dataclass(frozen=True, slots=True)
class _Declaration:
    """A CREATE TABLE whose columns and options have been read on their own, and now must fit together."""

    name: str
    connector: Connector
    columns: TableColumns
    options: ReadOptions
    script: Script
    at: TextPosition
    places: Mapping[str, TextPosition]

    def entry(self) -> Entry:
        takes_dead_letters = self.options.direction == "source" or self.connector.may_refuse_rows
        if self.options.general.bad_data == "dead_letter" and not takes_dead_letters:
            raise OptionValueError(
                f"bad_data = 'dead_letter' is for sources, and for sinks that can refuse a row; {self.name} is neither",
                hint="write bad_data = 'drop', or leave it out",
                at=self.places["bad_data"],
            )
        match self.options.direction:
            case "source":
                return self._source()
            case "sink":
                return self._sink()
            case "lookup":
                return self._lookup()

    def _table(self, schema: Schema, metadata: tuple[tuple[str, str], ...] = ()) -> Table:
        general = self.options.general
        return Table(
            name=self.name,
            connector=self.connector.name,
            direction=self.options.direction,
            options=self.options.connector,
            schema=schema,
            format=self.options.format,
            metadata=metadata,
            bad_data=general.bad_data,
            dead_letter_directory=general.dead_letter_path,
            dead_letter_table=general.dead_letter_table,
            idle_time=general.idle_after,
            framing=general.framing,
            framing_max_length=general.framing_newline_max_length,
            primary_key=self.columns.keys,
        )

    def _lookup(self) -> LookupTable:
        if self.columns.generated or self.columns.watermark:
            raise TableColumnError(
                f"lookup table {self.name} can only have plain and metadata columns",
                hint="compute them in the query",
                at=self.at,
            )
        if len(self.columns.keys) != 1:
            raise TableColumnError(
                f"lookup table {self.name} has {len(self.columns.keys)} PRIMARY KEY columns, and needs one",
                hint="write PRIMARY KEY behind the column that rows are looked up by",
                at=self.at,
            )
        complaints = Complaints()
        metadata = tuple(self._metadata(one, complaints) for one in self.columns.metadata)
        complaints.raise_any()
        general = self.options.general
        table = replace(
            self._table(Schema(self.columns.physical), tuple((field.name, key) for field, key in metadata)),
            cache=Cache(general.lookup_cache_max_bytes, general.lookup_cache_ttl),
        )
        _check_fit(table)
        fields = {field.name: field for field in (*self.columns.physical, *(field for field, _ in metadata))}
        key = fields[self.columns.keys[0]]
        if isinstance(key.type, types.Struct | types.Array):
            raise TableColumnError(
                f"lookup table {self.name} cannot be looked up by {key.name!r}, which is of type {key.type}",
                hint="a key is a number, a text, a time or the like",
                at=self.at,
            )
        return LookupTable(table, Schema(tuple(fields[name] for name in self.columns.order)), self.columns.keys[0])

    def _sink(self) -> SinkTable:
        if self.columns.generated or self.columns.metadata or self.columns.watermark:
            raise TableColumnError(
                f"sink {self.name} can only have plain columns", hint="compute them in the INSERT", at=self.at
            )
        schema = Schema(self.columns.physical) if self.columns.physical else None
        return SinkTable(self._table(schema or Schema(())), schema, self.places.get("dead_letter.table"))

    def _source(self) -> SourceTable:
        complaints = Complaints()
        physical = self._physical()
        metadata = tuple(self._metadata(one, complaints) for one in self.columns.metadata)
        visible = (*physical, *(field for field, _ in metadata))
        inputs = Expressions(
            self.script, Scope(tuple(Visible(self.name, Column(one.name, one.type, one.nullable)) for one in visible))
        )
        generated: dict[str, Expr] = {}
        for field, written in self.columns.generated:
            with complaints.collect(self.script.position(written)):
                generated[field.name] = cast_for(inputs.translate(written), field.type, f"column {field.name!r}")
        complaints.raise_any()
        values: dict[str, Expr] = {one.name: Column(one.name, one.type, one.nullable) for one in visible} | generated
        event_time, watermark = self._times(values)
        if not visible:
            raise TableColumnError(f"source {self.name} has no columns", hint="declare them", at=self.at)
        filled = [(field.name, key) for field, key in metadata]
        if self.connector.event_time is not None:
            filled.append((_OWN_TIME, self.connector.event_time))
        table = self._table(Schema(physical), tuple(filled))
        _check_fit(table)
        is_changes = self._carries_changes(complaints)
        complaints.raise_any()
        rows: Node = Scan(self.name, Schema(visible), event_time, watermark, is_changes)
        order = self.columns.order or tuple(one.name for one in physical)
        if generated or order != tuple(one.name for one in visible):
            rows = Project(rows, tuple(Named(name, values[name]) for name in order))
        self._check_options()
        return SourceTable(table, rows, self.places.get("dead_letter.table"))

    def _carries_changes(self, complaints: Complaints) -> bool:
        """Whether the records say what is done to rows; then times and values must be those of the rows themselves."""
        form = self.options.format
        if form is None or not find_format(form.format).carries_changes:
            return False
        for name in ("event_time_field", "watermark_field"):
            if name in self.places:
                complaints.add(EventTimeError(f"can't use {name} with update mode.", hint=_NO_TIME), self.places[name])
        if self.columns.watermark is not None:
            at = self.script.position(self.columns.watermark)
            complaints.add(EventTimeError("can't use WATERMARK FOR with update mode.", hint=_NO_TIME), at)
        for _, written in self.columns.generated:
            wrong = "can't use virtual fields with debezium format"
            complaints.add(TableColumnError(wrong, hint="compute them in the query"), self.script.position(written))
        if not any(field.name in self.columns.keys for field in self.columns.physical):
            wrong = "Debezium source must have at least one PRIMARY KEY field"
            complaints.add(
                TableColumnError(wrong, hint="write PRIMARY KEY behind the column that names a row"), self.at
            )
        return True

    def _physical(self) -> tuple[Field, ...]:
        own = self.connector.schema
        if own is None:
            return self.columns.physical
        for field in self.columns.physical:
            known = own.find(field.name)
            if known is None or known.type != field.type:
                raise TableColumnError(
                    f"connector {self.connector.name} has no column {field.name} {field.type}",
                    hint=f"it has {', '.join(f'{one.name} {one.type}' for one in own)}; the list can be left out",
                    at=self.at,
                )
        return tuple(own) if not self.columns.physical else self.columns.physical

    def _metadata(self, column: tuple[Field, str, exp.Expr], complaints: Complaints) -> tuple[Field, str]:
        field, key, written = column
        with complaints.collect(self.script.position(written)):
            known = self.connector.metadata.get(key)
            if known is None:
                names = ", ".join(self.connector.metadata) or "none"
                raise TableColumnError(f"there is no metadata field '{key}'", hint=f"this connector has: {names}")
            if known.type != field.type:
                raise TableColumnError(
                    f"incorrect data type for metadata field '{key}'; expected {known.type}, but found {field.type}"
                )
        return field, key

    def _times(self, values: dict[str, Expr]) -> tuple[Expr | None, Expr]:
        """The event time and the watermark, over what is decoded and the event time itself."""
        general, declared = self.options.general, self.columns.watermark
        now = Column(EVENT_TIME, types.TIMESTAMP, nullable=False)
        if declared is not None:
            name = declared.this.name
            event_time = self._time_column(
                name, values, f"WATERMARK FOR field `{name}`", self.script.position(declared)
            )
            if declared.args.get("expression") is None:
                return event_time, event_time
            return event_time, self._watermark_value(declared, values)
        event_time_field, watermark_field = general.event_time_field, general.watermark_field
        event = self._own_time()
        if event_time_field is not None:
            event = self._time_column(event_time_field, values, "event_time_field", self.places["event_time_field"])
        if watermark_field is not None:
            return event, self._time_column(watermark_field, values, "watermark_field", self.places["watermark_field"])
        return event, make_call("-", [now if event is None else event, _interval(DEFAULT_DELAY)])

    def _own_time(self) -> Expr | None:
        """The connector's own time of a row; None is when it is read."""
        if self.connector.event_time is None:
            return None
        return Column(_OWN_TIME, types.TIMESTAMP, nullable=False)

    def _watermark_value(self, declared: WatermarkFor, values: dict[str, Expr]) -> Expr:
        promised = {field.name for field, _ in self.columns.generated if not field.nullable}
        scope = Scope(
            tuple(
                Visible(self.name, Column(name, one.type, is_nullable(one) and name not in promised))
                for name, one in values.items()
            )
        )
        written = declared.args["expression"]
        found = Expressions(self.script, scope).translate(written)
        place = self.script.position(written)
        if not isinstance(found.type, types.Timestamp):
            raise EventTimeError(f"WATERMARK FOR expression must be TIMESTAMP, but was {found.type}", at=place)
        if is_nullable(found):
            raise EventTimeError(
                "WATERMARK FOR expression must be NOT NULL",
                hint="declare the column NOT NULL, or use coalesce",
                at=place,
            )
        return self._computable(substitute(found, values), place)

    def _time_column(self, name: str, values: dict[str, Expr], what: str, at: TextPosition | None) -> Expr:
        found = next((value for known, value in values.items() if known.lower() == name.lower()), None)
        if found is None:
            message = (
                f"{what} does not exist in table" if what.startswith("WATERMARK") else f"{what} '{name}' does not exist"
            )
            raise EventTimeError(message, hint=f"it has {', '.join(values)}", at=at)
        if not isinstance(found.type, types.Timestamp):
            raise EventTimeError(f"{what} has type {found.type}, but expected TIMESTAMP", at=at)
        return self._computable(found, at)

    def _computable(self, expr: Expr, at: TextPosition | None) -> Expr:
        if not can_evaluate(expr):
            raise EventTimeError(
                "the event time is computed while a record is read, and this expression uses a function that is not "
                "available there",
                hint="use plain columns, arithmetic, casts, coalesce, CASE and the to_timestamp functions",
                at=at,
            )
        return expr

    def _check_options(self) -> None:
        if self.options.general.late_rows != "drop":
            at = self.places["late_rows"]
            raise OptionValueError("late_rows = 'drop' is all there is so far", hint="leave it out", at=at)


_NO_TIME = "rows that change are never late; leave it out"


def _interval(length: timedelta) -> Expr:
    return Literal(length, types.Interval())
