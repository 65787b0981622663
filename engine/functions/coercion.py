"""Implicit and explicit type conversions.

a SMALLINT, b INT UNSIGNED       common type BIGINT: the smallest signed type that holds both
a BIGINT, b DECIMAL(10, 2)       common type DECIMAL(22, 2): 20 digits before the point, 2 after it
a FLOAT, b DECIMAL(10, 2)        common type DOUBLE
a TIMESTAMP, b BIGINT            no common type; a cast of `a` to BIGINT counts nanoseconds
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.types import (
    BIGINT,
    DOUBLE,
    TEXT,
    TIMESTAMP,
    Array,
    Boolean,
    Bytes,
    Date,
    Decimal,
    Float,
    Integer,
    Interval,
    Json,
    Member,
    Null,
    Struct,
    Text,
    Timestamp,
    Type,
)

MAX_DIGITS = 38
"""Largest precision of a decimal in 128 bits, in Spark and Arrow."""
_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
"""Digits of the largest whole number by width in bits, signed and unsigned."""
_CASTS = (
    (Integer | Float | Decimal, Integer | Float | Decimal),
    (Integer | Float | Decimal | Boolean, Text | Json),
    (Text | Json, Integer | Float | Decimal | Boolean | Timestamp | Date),
    (Timestamp | Date | Bytes | Interval, Text),
    (Text, Bytes),
    (Timestamp, Date),
    (Integer, Timestamp),
    (Boolean, Integer),
    (Integer, Boolean),
)
"""Explicit casts, in addition to implicit ones."""


def common_type(a: Type, b: Type) -> Type | None:
    """Return the type that values of both types can become without being asked, or None."""
    match a, b:
        case _ if a == b:
            return a
        case (Null(), _):
            return b
        case (_, Null()):
            return a
        case Integer() | Float() | Decimal(), Integer() | Float() | Decimal():
            return _common_number(a, b)
        case (Text() | Json(is_part=False), Text() | Json(is_part=False)):
            return TEXT
        case Json(), Json():
            return Json()
        case (Timestamp() | Date(), Timestamp() | Date()):
            return TIMESTAMP
        case Array(x), Array(y):
            element = common_type(x, y)
            return None if element is None else Array(element)
        case Struct(), Struct():
            return _common_struct(a, b)
    return None


def common_type_of(kinds: Sequence[Type]) -> Type | None:
    """Return the type that values of all these types can become without being asked, or None."""

    shared: Type | None = Null() if kinds else None
    for kind in kinds:
        shared = None if shared is None else common_type(shared, kind)
    return shared


def can_coerce(a: Type, b: Type) -> bool:
    """Whether a value of type `a` becomes a `b` where one is wanted; nothing is lost but digits of a float."""
    match a, b:
        case (Json(is_part=False), Text()) | (Text(), Json(is_part=False)) | (Json(), Json()):
            return True
        case Struct(), Struct():
            return len(a.members) == len(b.members) and all(
                can_coerce(x.type, y.type) for x, y in zip(a.members, b.members, strict=True)
            )
        case Array(x), Array(y):
            return can_coerce(x, y)
        case Integer(), Float():
            return True
    return common_type(a, b) == b


def can_cast(a: Type, b: Type) -> bool:
    """Whether a script may cast an `a` to a `b`; single values can still fail.

    From a TIMESTAMP to a whole number the unit is the nanosecond, and so it is where a sink takes one for the other. A
    cast in a script makes a TIMESTAMP of seconds, as in Arroyo. Structs and arrays become what their
    parts become.
    """
    if can_coerce(a, b):
        return True
    match a, b:
        case Array(x), Array(y):
            return can_cast(x, y)
        case Struct(), Struct():
            return len(a.members) == len(b.members) and all(
                can_cast(x.type, y.type) for x, y in zip(a.members, b.members, strict=True)
            )
        case Timestamp(), Integer():
            return b == BIGINT
    return any(isinstance(a, source) and isinstance(b, target) for source, target in _CASTS)


def as_decimal(kind: Type) -> Decimal:
    """Return the decimal type that holds every value of this whole number or decimal type."""
    if isinstance(kind, Decimal):
        return kind
    assert isinstance(kind, Integer), kind
    return Decimal(_DIGITS[kind.bits], 0)


def bounded_decimal(precision: int, scale: int) -> Decimal:
    """Return the decimal type; above 38 digits, drop digits before the point: a number that is too large fails, but no
    number loses digits behind the point."""
    return Decimal(min(MAX_DIGITS, precision), min(MAX_DIGITS, scale))


def _common_number(a: Integer | Float | Decimal, b: Integer | Float | Decimal) -> Type:
    match a, b:
        case Integer(), Integer():
            return _common_integer(a, b)
        case (Float(32), Integer() | Float(32)) | (Integer(), Float(32)):
            return Float(32)
        case (Float(), _) | (_, Float()):
            return DOUBLE
    return _common_decimal(as_decimal(a), as_decimal(b))


def _common_integer(a: Integer, b: Integer) -> Integer:
    if a.signed == b.signed:
        return Integer(max(a.bits, b.bits), a.signed)
    signed, unsigned = (a, b) if a.signed else (b, a)
    return Integer(min(64, max(signed.bits, unsigned.bits * 2)))


def _common_decimal(a: Decimal, b: Decimal) -> Decimal:
    scale = max(a.scale, b.scale)
    whole = max(a.precision - a.scale, b.precision - b.scale)
    return bounded_decimal(whole + scale, scale)


def _common_struct(a: Struct, b: Struct) -> Struct | None:
    if [member.name for member in a.members] != [member.name for member in b.members]:
        return None
    members = []
    for x, y in zip(a.members, b.members, strict=True):
        shared = common_type(x.type, y.type)
        if shared is None:
            return None
        members.append(Member(x.name, shared))
    return Struct(tuple(members))
