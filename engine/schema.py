"""Fields and schemas, and the Arrow types their values travel in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine import types

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Field:
    """A column's name and type, and whether it may be NULL."""

    name: str
    type: types.Type
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Schema:
    """Fields in order. Names are unique without regard to case."""

    fields: tuple[Field, ...]

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields, in order."""
        return tuple(field.name for field in self.fields)

    def find(self, name: str) -> Field | None:
        """Return the field of that name without regard to case, or None."""
        return next((field for field in self.fields if field.name.lower() == name.lower()), None)


def to_arrow(kind: types.Type) -> pa.DataType:
    """Return the Arrow type that values of `kind` travel in; it is to the letter what Spark expects."""
    import pyarrow as pa  # noqa: PLC0415 - `arroyo check` must not pay for Arrow

    match kind:
        case types.Null():
            return pa.null()
        case types.Boolean():
            return pa.bool_()
        case types.Integer():
            return {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[kind.held_bits]
        case types.Float(bits):
            return pa.float32() if bits == 32 else pa.float64()
        case types.Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case types.Text() | types.Json():
            return pa.string()
        case types.Bytes():
            return pa.binary()
        case types.Timestamp():
            return pa.timestamp("us", tz="UTC")
        case types.Date():
            return pa.date32()
        case types.Interval():
            return pa.duration("us")
        case types.Struct(members):
            return pa.struct([pa.field(member.name, to_arrow(member.type)) for member in members])
    assert isinstance(kind, types.Array), kind
    return pa.list_(pa.field("element", to_arrow(kind.element)))


def arrow_schema(schema: Schema) -> pa.Schema:
    """Return the Arrow schema of rows of `schema`; every column may hold NULL on the way."""
    import pyarrow as pa  # noqa: PLC0415 - see `to_arrow`

    return pa.schema([pa.field(field.name, to_arrow(field.type)) for field in schema])
