"""The columns of a CREATE TABLE as they are written.

id BIGINT NOT NULL PRIMARY KEY                 physical: it is decoded
topic TEXT METADATA FROM 'topic'               metadata: the connector knows it
day DATE GENERATED ALWAYS AS (at::DATE)        generated: it is computed of the others
WATERMARK FOR at AS at - INTERVAL '5 seconds'  no column
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard, TypeVar

from sqlglot import exp

from engine import types
from engine.errors import EventTimeError, TableColumnError
from engine.schema import Field
from engine.sql.column_names import twice, usable
from engine.sql.complaints import Complaints
from engine.sql.data_types import translate_type
from engine.sql.text.dialect import MetadataFrom, WatermarkFor
from engine.sql.text.parse import Script

_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True)
class MetadataColumn:
    """A column that the connector fills; `key` is what it calls the value."""

    field: Field
    key: str
    written: exp.Expr


@dataclass(frozen=True, slots=True)
class GeneratedColumn:
    """A column that is computed of the others."""

    field: Field
    written: exp.Expr


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of a table by how they are filled, each in the order of the text."""

    order: tuple[str, ...]
    physical: tuple[Field, ...]
    metadata: tuple[MetadataColumn, ...]
    generated: tuple[GeneratedColumn, ...]
    watermark: WatermarkFor | None
    keys: tuple[str, ...]


def read_columns(written: Sequence[exp.Expr], script: Script, complaints: Complaints) -> TableColumns:
    """The columns and constraints in the list of a table; what is wrong with them goes to the complaints."""
    columns: dict[str, Field | MetadataColumn | GeneratedColumn] = {}
    keys: list[str] = []
    watermark: WatermarkFor | None = None
    for part in written:
        with complaints.collect(script.position(part)):
            if isinstance(part, WatermarkFor):
                if watermark is not None:
                    raise EventTimeError("a table takes only one WATERMARK FOR")
                watermark = part
                continue
            column = _read_column(part)
            name = column.name if isinstance(column, Field) else column.field.name
            if name.lower() in (earlier.lower() for earlier in columns):
                raise twice(name)
            columns[name] = column
            if _is_primary_key(part):
                keys.append(name)
    return TableColumns(
        order=tuple(columns),
        physical=_of_kind(columns.values(), Field),
        metadata=_of_kind(columns.values(), MetadataColumn),
        generated=_of_kind(columns.values(), GeneratedColumn),
        watermark=watermark,
        keys=tuple(keys),
    )


def _of_kind(columns: Iterable[object], kind: type[_Kind]) -> tuple[_Kind, ...]:
    return tuple(column for column in columns if isinstance(column, kind))


def _is_primary_key(part: exp.Expr) -> bool:
    kinds = (constraint.args.get("kind") for constraint in _constraints(part))
    return any(isinstance(kind, exp.PrimaryKeyColumnConstraint) for kind in kinds)


def _read_column(part: exp.Expr) -> Field | MetadataColumn | GeneratedColumn:
    if isinstance(part, exp.Identifier):
        raise TableColumnError(f"column {part.name!r} has no type", hint=f"write {part.name} TEXT")
    if not isinstance(part, exp.ColumnDef):
        raise TableColumnError("this table constraint is not supported", hint="write PRIMARY KEY after its column")
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
    """The column by how it is filled: computed as `value`, by the connector from `key`, or else decoded."""
    if _is_metadata_call(value):
        key, value = value.expressions[0].name, None
    if value is not None:
        return GeneratedColumn(field, value)
    return field if key is None else MetadataColumn(field, key, part)


def _is_metadata_call(value: exp.Expr | None) -> TypeGuard[exp.Anonymous]:
    """Whether it is the other way to write METADATA FROM: `GENERATED ALWAYS AS (metadata('key'))`."""
    return isinstance(value, exp.Anonymous) and str(value.this).lower() == "metadata" and len(value.expressions) == 1


def _constraints(part: exp.Expr) -> list[exp.Expr]:
    return part.args.get("constraints") or []
