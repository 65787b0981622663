"""The types of SQL values, as frozen values of our own.

A type says nothing about NULL: that belongs to the field (see `engine.schema`).
"""

from __future__ import annotations

from dataclasses import dataclass


class Type:
    """One of the kinds of value below; `str()` gives its SQL spelling."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Null(Type):
    """The type of a bare NULL; it becomes any other type without a cast."""

    def __str__(self) -> str:
        return "NULL"


@dataclass(frozen=True, slots=True)
class Boolean(Type):
    """True or false."""

    def __str__(self) -> str:
        return "BOOLEAN"


@dataclass(frozen=True, slots=True)
class Integer(Type):
    """A whole number of 8, 16, 32 or 64 bits. Unsigned ones are range-checked when they enter;
    BIGINT UNSIGNED is held in 63 bits."""

    bits: int = 64
    signed: bool = True

    def __str__(self) -> str:
        name = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}[self.bits]
        return name if self.signed else f"{name} UNSIGNED"

    @property
    def held_bits(self) -> int:
        """The bits of the signed number that holds a value: unsigned ones take the next wider one, as far as there is
        one."""
        return self.bits if self.signed else min(64, self.bits * 2)

    @property
    def least(self) -> int:
        """The smallest value."""
        return -(1 << self.bits - 1) if self.signed else 0

    @property
    def largest(self) -> int:
        """The largest value."""
        return (1 << (self.bits - 1 if self.signed else min(63, self.bits))) - 1

    def holds(self, number: int) -> bool:
        """Whether the number is in the range of the type."""
        return self.least <= number <= self.largest


@dataclass(frozen=True, slots=True)
class Float(Type):
    """A binary floating point number of 32 or 64 bits."""

    bits: int = 64

    def __str__(self) -> str:
        return "FLOAT" if self.bits == 32 else "DOUBLE"


@dataclass(frozen=True, slots=True)
class Decimal(Type):
    """An exact number of `precision` digits, `scale` of them behind the point; precision is at most 38."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class Text(Type):
    """Unicode text of any length."""

    def __str__(self) -> str:
        return "TEXT"


@dataclass(frozen=True, slots=True)
class Bytes(Type):
    """Raw bytes."""

    def __str__(self) -> str:
        return "BYTEA"


@dataclass(frozen=True, slots=True)
class Json(Type):
    """Text that holds one JSON value; a JSON sink writes it inline. A part of another one, whatever it holds, is not
    mistaken for text by itself, and a sink that does not say otherwise gets it as text."""

    is_part: bool = False

    def __str__(self) -> str:
        return "JSON"


@dataclass(frozen=True, slots=True)
class Timestamp(Type):
    """An instant in UTC, to the microsecond."""

    def __str__(self) -> str:
        return "TIMESTAMP"


@dataclass(frozen=True, slots=True)
class Date(Type):
    """A calendar day."""

    def __str__(self) -> str:
        return "DATE"


@dataclass(frozen=True, slots=True)
class Interval(Type):
    """A length of time in days and smaller units; months are refused."""

    def __str__(self) -> str:
        return "INTERVAL"


@dataclass(frozen=True, slots=True)
class Member:
    """One named part of a struct."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Struct(Type):
    """A struct of named members; every member may be NULL."""

    members: tuple[Member, ...]

    def __str__(self) -> str:
        inside = ", ".join(f"{member.name} {member.type}" for member in self.members)
        return f"STRUCT<{inside}>"


@dataclass(frozen=True, slots=True)
class Array(Type):
    """Values of one type in order, counted from one; every element may be NULL."""

    element: Type

    def __str__(self) -> str:
        return f"{self.element}[]"


BIGINT = Integer(64)
INT = Integer(32)
DOUBLE = Float(64)
TEXT = Text()
BOOLEAN = Boolean()
JSON = Json()
JSON_PART = Json(is_part=True)
TIMESTAMP = Timestamp()
WINDOW = Struct((Member("start", TIMESTAMP), Member("end", TIMESTAMP)))


def is_number(kind: Type) -> bool:
    """Whether arithmetic is allowed on values of this type."""
    return isinstance(kind, Integer | Float | Decimal)
