"""The columns of a CREATE TABLE as they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from engine import types
from engine.errors import EventTimeError, TableColumnError
from engine.schema import Field
from engine.sql.column_names import twice, usable
from engine.sql.complaints import Complaints
from engine.sql.data_types import translate_type
from engine.sql.text.dialect import MetadataFrom, WatermarkFor
from engine.sql.text.parse import Script


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of a table by how they are filled, each in the order of the text."""

    order: tuple[str, ...]
    physical: tuple[Field, ...]
    metadata: tuple[tuple[Field, str, exp.Expr], ...]
    generated: tuple[tuple[Field, exp.Expr], ...]
    watermark: WatermarkFor | None
    keys: tuple[str, ...]


def read_columns(written: Sequence[exp.Expr], script: Script, complaints: Complaints) -> TableColumns:
    """The columns and constraints in the list of a table; what is wrong with them goes to the complaints."""
    order: list[str] = []
    physical: list[Field] = []
    metadata: list[tuple[Field, str, exp.Expr]] = []
    generated: list[tuple[Field, exp.Expr]] = []
    keys: list[str] = []
    watermark: WatermarkFor | None = None
    for part in written:
        with complaints.collect(script.position(part)):
            if isinstance(part, WatermarkFor):
                if watermark is not None:
                    raise EventTimeError("Only one WATERMARK FOR constraint is allowed per table")
                watermark = part
                continue
            if isinstance(part, exp.Identifier):
                raise TableColumnError(f"column {part.name!r} has no type", hint=f"write {part.name} TEXT")
            if not isinstance(part, exp.ColumnDef):
                raise TableColumnError("Unsupported table constraint", hint="write PRIMARY KEY behind its column")
            field, value, key = _read_column(part)
            if field.name.lower() in (name.lower() for name in order):
                raise twice(field.name)
            order.append(field.name)
            kinds = [one.args.get("kind") for one in part.args.get("constraints") or []]
            if any(isinstance(one, exp.PrimaryKeyColumnConstraint) for one in kinds):
                keys.append(field.name)
            if value is not None:
                generated.append((field, value))
            elif key is not None:
                metadata.append((field, key, part))
            else:
                physical.append(field)
    return TableColumns(tuple(order), tuple(physical), tuple(metadata), tuple(generated), watermark, tuple(keys))


def _read_column(part: exp.ColumnDef) -> tuple[Field, exp.Expr | None, str | None]:
    usable(part.name)
    if not isinstance(part.kind, exp.DataType):
        raise TableColumnError(f"column {part.name!r} has no type", hint=f"write {part.name} TEXT")
    kind = translate_type(part.kind)
    if isinstance(kind, types.Interval):
        raise TableColumnError(f"field '{part.name}' has a type '{kind}' that cannot be used in a connection table")
    nullable, value, key = True, None, None
    for constraint in part.args.get("constraints") or []:
        kind_of = constraint.args.get("kind")
        match kind_of:
            case exp.NotNullColumnConstraint() if not kind_of.args.get("allow_null"):
                nullable = False
            case exp.PrimaryKeyColumnConstraint():
                nullable = False
            case exp.ComputedColumnConstraint(this=inner):
                value = inner.this if isinstance(inner, exp.Paren) else inner
            case MetadataFrom(this=inner):
                if inner is None:
                    raise TableColumnError("METADATA needs a key", hint="write METADATA FROM 'key'")
                key = inner.name
            case exp.NotNullColumnConstraint():
                pass
            case _:
                raise TableColumnError(f"{constraint.sql()} is not supported behind a column")
    if isinstance(value, exp.Anonymous) and str(value.this).lower() == "metadata" and len(value.expressions) == 1:
        return Field(part.name, kind, nullable), None, value.expressions[0].name
    return Field(part.name, kind, nullable), value, key
