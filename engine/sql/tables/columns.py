"""Columns of a CREATE TABLE.

    id BIGINT NOT NULL PRIMARY KEY                       physical: decoded from the record
    topic TEXT METADATA FROM 'topic'                     metadata: provided by the connector
    day DATE GENERATED ALWAYS AS (at::DATE)              generated: computed from other columns
    WATERMARK FOR at AS at - INTERVAL '5 seconds'        not a column

Event time and watermark expression of a source.

    CREATE TABLE s (id BIGINT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL '5 seconds')    at, at - 5 s
    ... (id BIGINT, at TIMESTAMP NOT NULL, WATERMARK FOR at)                                    at, at
    ... WITH (event_time_field = 'at', watermark_field = 'seen')                                at, seen
    ... WITH (event_time_field = 'at')                                                          at, at - 1 s
    neither, and the connector knows a row's time (Kafka)                                       that, that - 1 s
    neither, and it does not                                                                    when it is read, - 1 s

Both are computed while a record is decoded, before Spark sees it, since the source's watermark is in its offsets
(docs/decisions/watermarks-travel-in-offsets.md). So generated columns are inlined, and only expressions that Arrow can
evaluate are allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeGuard, TypeVar

from sqlglot import exp

from engine import types
from engine.connectors.kinds import Connector
from engine.connectors.options import TableOptions
from engine.errors import EventTimeError, TableColumnError, TextPosition
from engine.plan.expressions.conditions import can_evaluate
from engine.plan.expressions.expr import Column, Expr, Literal, is_nullable, substitute
from engine.plan.tree import EVENT_TIME
from engine.schema import Field
from engine.sql.catalog import Complaints
from engine.sql.data_types import translate_type, twice, usable
from engine.sql.scalar.comparisons import make_call
from engine.sql.scalar.expressions import Expressions
from engine.sql.scope import Scope, Visible
from engine.sql.text.dialect import MetadataFrom, WatermarkFor
from engine.sql.text.parse import Script
from engine.values.near_names import did_you_mean

_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True)
class MetadataColumn:
    """A column that the connector provides; `key` is its name there."""

    field: Field
    key: str
    written: exp.Expr


@dataclass(frozen=True, slots=True)
class GeneratedColumn:
    """A column that is computed from other columns."""

    field: Field
    written: exp.Expr


@dataclass(frozen=True, slots=True)
class TableColumns:
    """Columns of a table by kind, each in the order of the text."""

    order: tuple[str, ...]
    physical: tuple[Field, ...]
    metadata: tuple[MetadataColumn, ...]
    generated: tuple[GeneratedColumn, ...]
    watermark: WatermarkFor | None
    keys: tuple[str, ...]


def read_columns(written: Sequence[exp.Expr], script: Script, complaints: Complaints) -> TableColumns:
    """Return the columns and constraints in the list of a table; errors are added to the complaints."""
    columns: dict[str, Field | MetadataColumn | GeneratedColumn] = {}
    keys: list[str] = []
    declared_keys: list[tuple[exp.Expr, exp.PrimaryKey]] = []
    watermark: WatermarkFor | None = None
    for part in written:
        with complaints.collect(script.position(part)):
            if isinstance(part, WatermarkFor):
                if watermark is not None:
                    raise EventTimeError("a table takes only one WATERMARK FOR")
                watermark = part
                continue
            if (key := _key_of_table(part)) is not None:
                declared_keys.append((part, key))
                continue
            column = _read_column(part)
            name = column.name if isinstance(column, Field) else column.field.name
            if name.lower() in (earlier.lower() for earlier in columns):
                raise twice(name)
            columns[name] = column
            if _is_primary_key(part):
                keys.append(name)
    for part, key in declared_keys:
        with complaints.collect(script.position(part)):
            _add_key(key, columns, keys)
    return TableColumns(
        order=tuple(columns),
        physical=_of_kind(columns.values(), Field),
        metadata=_of_kind(columns.values(), MetadataColumn),
        generated=_of_kind(columns.values(), GeneratedColumn),
        watermark=watermark,
        keys=tuple(keys),
    )


def _key_of_table(part: exp.Expr) -> exp.PrimaryKey | None:
    """Return the constraint `PRIMARY KEY (a, b)`, which may have a name; None for all else."""
    inner = part.expressions[0] if isinstance(part, exp.Constraint) and len(part.expressions) == 1 else part
    return inner if isinstance(inner, exp.PrimaryKey) else None


def _add_key(
    key: exp.PrimaryKey, columns: dict[str, Field | MetadataColumn | GeneratedColumn], keys: list[str]
) -> None:
    """Record the columns of a primary key, none of which is nullable."""
    if keys:
        raise TableColumnError("a table has one PRIMARY KEY", hint="name all of its columns: PRIMARY KEY (a, b)")
    spelled = {name.lower(): name for name in columns}
    for part in key.expressions:
        name = spelled.get(part.name.lower())
        if name is None:
            hint = did_you_mean(part.name, columns) or f"there are {', '.join(columns)}"
            raise TableColumnError(f"there is no column {part.name!r} for PRIMARY KEY", hint=hint)
        column = columns[name]
        columns[name] = (
            replace(column, nullable=False)
            if isinstance(column, Field)
            else replace(column, field=replace(column.field, nullable=False))
        )
        keys.append(name)


def _of_kind(columns: Iterable[object], kind: type[_Kind]) -> tuple[_Kind, ...]:
    return tuple(column for column in columns if isinstance(column, kind))


def _is_primary_key(part: exp.Expr) -> bool:
    kinds = (constraint.args.get("kind") for constraint in _constraints(part))
    return any(isinstance(kind, exp.PrimaryKeyColumnConstraint) for kind in kinds)


def _read_column(part: exp.Expr) -> Field | MetadataColumn | GeneratedColumn:
    if isinstance(part, exp.Identifier):
        raise TableColumnError(f"column {part.name!r} has no type", hint=f"write {part.name} TEXT")
    if not isinstance(part, exp.ColumnDef):
        hint = "a table takes only the constraint PRIMARY KEY (a, b)"
        raise TableColumnError("this table constraint is not supported", hint=hint)
    usable(part.name)
    if not isinstance(part.kind, exp.DataType):
        raise TableColumnError(f"column {part.name!r} has no type", hint=f"write {part.name} TEXT")
    kind = translate_type(part.kind)
    if isinstance(kind, types.Interval):
        raise TableColumnError(f"column {part.name!r} is of type {kind}, which no table can hold")
    return _with_constraints(part, kind)


def _with_constraints(part: exp.ColumnDef, kind: types.Type) -> Field | MetadataColumn | GeneratedColumn:
    nullable, value, key = True, None, None
    for constraint in _constraints(part):
        match constraint.args.get("kind"):
            case exp.NotNullColumnConstraint() as not_null:
                nullable = nullable and bool(not_null.args.get("allow_null"))
            case exp.PrimaryKeyColumnConstraint():
                nullable = False
            case exp.ComputedColumnConstraint(this=inner):
                value = inner.this if isinstance(inner, exp.Paren) else inner
            case MetadataFrom(this=inner):
                if inner is None:
                    raise TableColumnError("METADATA needs a key", hint="write METADATA FROM 'key'")
                key = inner.name
            case _:
                raise TableColumnError(f"{constraint.sql()} is not supported after a column")
    return _column_of_kind(Field(part.name, kind, nullable), part, value, key)


def _column_of_kind(
    field: Field, part: exp.ColumnDef, value: exp.Expr | None, key: str | None
) -> Field | MetadataColumn | GeneratedColumn:
    """Return the column by how it is filled: computed as `value`, by the connector from `key`, or decoded."""
    if _is_metadata_call(value):
        key, value = value.expressions[0].name, None
    if value is not None:
        return GeneratedColumn(field, value)
    return field if key is None else MetadataColumn(field, key, part)


def _is_metadata_call(value: exp.Expr | None) -> TypeGuard[exp.Anonymous]:
    """Whether the expression is the other spelling of METADATA FROM: `GENERATED ALWAYS AS (metadata('key'))`."""
    return isinstance(value, exp.Anonymous) and str(value.this).lower() == "metadata" and len(value.expressions) == 1


def _constraints(part: exp.Expr) -> list[exp.Expr]:
    return part.args.get("constraints") or []


CONNECTOR_TIME = "__event_time"
"""Column for the time that a connector provides."""
DEFAULT_DELAY = timedelta(seconds=1)
"""Default delay of late rows, as in Arroyo."""


@dataclass(frozen=True, slots=True)
class EventTimes:
    """Translates the event time and the watermark of one source. `positions` has the positions of its options."""

    table: str
    connector: Connector
    columns: TableColumns
    options: TableOptions
    script: Script
    positions: Mapping[str, TextPosition]

    def read(self, values: dict[str, Expr]) -> tuple[Expr | None, Expr]:
        """Return the event time, None for the time of reading, and the watermark, over the decoded columns and the
        event time. `values` has the definition of each column of the table."""
        declared = self.columns.watermark
        if declared is not None:
            return self._declared(declared, values)
        event_time_field, watermark_field = self.options.event_time_field, self.options.watermark_field
        event_time = self._of_connector()
        if event_time_field is not None:
            event_time = self._field(event_time_field, values, "event_time_field")
        if watermark_field is not None:
            return event_time, self._field(watermark_field, values, "watermark_field")
        base = Column(EVENT_TIME, types.TIMESTAMP, nullable=False) if event_time is None else event_time
        return event_time, make_call("-", [base, Literal(DEFAULT_DELAY, types.Interval())])

    def _of_connector(self) -> Expr | None:
        if self.connector.event_time is None:
            return None
        return Column(CONNECTOR_TIME, types.TIMESTAMP, nullable=False)

    def _declared(self, declared: WatermarkFor, values: dict[str, Expr]) -> tuple[Expr, Expr]:
        name, at = declared.this.name, self.script.position(declared)
        event_time = _find(name, values)
        if event_time is None:
            raise EventTimeError(
                f"WATERMARK FOR names {name!r}, which is no column of the table",
                hint=f"it has {', '.join(values)}",
                at=at,
            )
        event_time = _checked(event_time, f"column {name!r} of WATERMARK FOR", at)
        if declared.args.get("expression") is None:
            return event_time, event_time
        return event_time, self._expression(declared, values)

    def _field(self, name: str, values: dict[str, Expr], option: str) -> Expr:
        value = _find(name, values)
        if value is None:
            raise EventTimeError(
                f"{option} names {name!r}, which is no column of the table",
                hint=f"it has {', '.join(values)}",
                at=self.positions[option],
            )
        return _checked(value, option, self.positions[option])

    def _expression(self, declared: WatermarkFor, values: dict[str, Expr]) -> Expr:
        """Return the watermark of `WATERMARK FOR column AS expression`."""
        written = declared.args["expression"]
        at = self.script.position(written)
        never_null = {column.field.name for column in self.columns.generated if not column.field.nullable}
        columns = (
            Column(name, value.type, is_nullable(value) and name not in never_null) for name, value in values.items()
        )
        scope = Scope(tuple(Visible(self.table, column) for column in columns))
        watermark = Expressions(self.script, scope).translate(written)
        if not isinstance(watermark.type, types.Timestamp):
            raise EventTimeError(f"the expression of WATERMARK FOR must be TIMESTAMP, not {watermark.type}", at=at)
        if is_nullable(watermark):
            raise EventTimeError(
                "the expression of WATERMARK FOR must be NOT NULL",
                hint="declare the column NOT NULL, or use coalesce",
                at=at,
            )
        return _computable(substitute(watermark, values), at)


def _find(name: str, values: dict[str, Expr]) -> Expr | None:
    return next((value for column, value in values.items() if column.lower() == name.lower()), None)


def _checked(value: Expr, subject: str, at: TextPosition | None) -> Expr:
    if not isinstance(value.type, types.Timestamp):
        raise EventTimeError(f"{subject} must be TIMESTAMP, not {value.type}", at=at)
    return _computable(value, at)


def _computable(expr: Expr, at: TextPosition | None) -> Expr:
    if not can_evaluate(expr):
        raise EventTimeError(
            "the event time uses a function that is not available while records are read",
            hint="use plain columns, arithmetic, casts, coalesce, CASE and the to_timestamp functions",
            at=at,
        )
    return expr
