"""What an argument may be, beyond one plain type: each maps the type it gets to the type it is cast to, or refuses."""

from __future__ import annotations

from engine.functions.coercion import can_cast
from engine.types import (
    BIGINT,
    DOUBLE,
    TEXT,
    TIMESTAMP,
    Bytes,
    Date,
    Decimal,
    Float,
    Integer,
    Null,
    Struct,
    Text,
    Timestamp,
    Type,
    is_number,
)
from engine.types import Array as ArrayType

BYTES = Bytes()


def anything(kind: Type) -> Type:
    """Every type as it is."""
    return kind


def scalar(kind: Type) -> Type | None:
    """A value without parts, as it is."""
    return None if isinstance(kind, Struct | ArrayType) else TEXT if isinstance(kind, Null) else kind


def anything_known(kind: Type) -> Type:
    """Every type as it is, and a bare NULL as TEXT."""
    return TEXT if isinstance(kind, Null) else kind


def scalar_as_text(kind: Type) -> Type | None:
    """Whatever can be written as text, as text."""
    return None if isinstance(kind, Struct | ArrayType) or not can_cast(kind, TEXT) else TEXT


def instant(kind: Type) -> Type | None:
    """A timestamp, or a day as its midnight."""
    return TIMESTAMP if isinstance(kind, Timestamp | Date | Null) else None


def known_instant(kind: Type) -> Type | None:
    """A timestamp, or a day as its midnight, but no bare NULL, which might as well be an interval."""
    return None if isinstance(kind, Null) else instant(kind)


def whole(kind: Type) -> Type | None:
    """A whole number of any width, as BIGINT."""
    return BIGINT if isinstance(kind, Integer | Null) else None


def only_whole(kind: Type) -> Type | None:
    """A whole number of any width, as BIGINT, but no bare NULL."""
    return BIGINT if isinstance(kind, Integer) else None


def number(kind: Type) -> Type | None:
    """A number of any type, as it is."""
    return BIGINT if isinstance(kind, Null) else kind if is_number(kind) else None


def signed_number(kind: Type) -> Type | None:
    """A number whose type also holds its negative."""
    match kind:
        case Integer(bits, signed=False):
            return Integer(min(64, bits * 2))
        case Integer() | Float() | Decimal():
            return kind
        case Null():
            return BIGINT
    return None


def only_number(kind: Type) -> Type | None:
    """A number of any type, as DOUBLE."""
    return DOUBLE if is_number(kind) else None


def only_number_or_null(kind: Type) -> Type | None:
    """A number of any type, or a bare NULL, as DOUBLE."""
    return DOUBLE if isinstance(kind, Null) else only_number(kind)


def fraction(kind: Type) -> Type | None:
    """A FLOAT as it is, and every other number as DOUBLE."""
    match kind:
        case Float():
            return kind
        case Integer() | Decimal() | Null():
            return DOUBLE
    return None


def fraction_or_decimal(kind: Type) -> Type | None:
    """A FLOAT or DECIMAL as it is, and every other number as DOUBLE."""
    return kind if isinstance(kind, Decimal) else fraction(kind)


def text_or_bytes(kind: Type) -> Type | None:
    """Text and raw bytes as they are."""
    return kind if isinstance(kind, Text | Bytes) else TEXT if isinstance(kind, Null) else None
