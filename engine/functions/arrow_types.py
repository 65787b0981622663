"""Arrow's names of our types, for `arrow_cast` and `arrow_typeof`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine import types
from engine.functions.base import ANY_CONSTANT, Function, Signature, anything, never, takes
from engine.types import TEXT

_NAMED: Mapping[str, types.Type] = {
    "Null": types.Null(),
    "Boolean": types.BOOLEAN,
    **{f"Int{bits}": types.Integer(bits) for bits in (8, 16, 32, 64)},
    **{f"UInt{bits}": types.Integer(bits, signed=False) for bits in (8, 16, 32, 64)},
    **{f"Float{bits}": types.Float(bits) for bits in (32, 64)},
    **dict.fromkeys(("Utf8", "LargeUtf8", "Utf8View"), types.TEXT),
    **dict.fromkeys(("Binary", "LargeBinary", "BinaryView"), types.Bytes()),
    **dict.fromkeys(("Date32", "Date64"), types.Date()),
}
_UNITS = "(Second|Millisecond|Microsecond|Nanosecond)"
_TIMESTAMP = re.compile(rf'Timestamp\({_UNITS}, (?:None|Some\("[^"]*"\))\)')
_DURATION = re.compile(rf"Duration\({_UNITS}\)|Interval\((?:DayTime|MonthDayNano)\)")
_DECIMAL = re.compile(r"Decimal(?:32|64|128|256)\((\d+), (\d+)\)")
_LIST = re.compile(r"(?:Large)?List\((.+)\)")


def from_arrow_name(name: str) -> types.Type | None:
    """Return the type with this name in Arrow, or None if SQL has no such type."""
    if name in _NAMED:
        return _NAMED[name]
    if _TIMESTAMP.fullmatch(name):
        return types.TIMESTAMP
    if _DURATION.fullmatch(name):
        return types.Interval()
    if parts := _DECIMAL.fullmatch(name):
        precision, scale = int(parts[1]), int(parts[2])
        return types.Decimal(precision, scale) if 1 <= precision <= 38 and scale <= precision else None
    if parts := _LIST.fullmatch(name):
        element = from_arrow_name(parts[1])
        return None if element is None else types.Array(element)
    return None


def arrow_unit(name: str) -> str | None:
    """Return the unit of a timestamp type: second, millisecond, microsecond or nanosecond."""
    parts = _TIMESTAMP.fullmatch(name)
    return parts[1].lower() if parts else None


def to_arrow_name(kind: types.Type) -> str:
    """Return Arroyo's name of the Arrow type: `Utf8` for any text, timestamps in nanoseconds."""
    match kind:
        case types.Text() | types.Json():
            return "Utf8"
        case types.Bytes():
            return "Binary"
        case types.Date():
            return "Date32"
        case types.Timestamp():
            return "Timestamp(Nanosecond, None)"
        case types.Interval():
            return "Interval(MonthDayNano)"
        case types.Decimal(precision, scale):
            return f"Decimal128({precision}, {scale})"
        case types.Array(element):
            return f"List({to_arrow_name(element)})"
        case types.Struct(members):
            return f"Struct({', '.join(f'{member.name}: {to_arrow_name(member.type)}' for member in members)})"
    return next(name for name, named in _NAMED.items() if named == kind)


def _is_type(name: str) -> bool:
    return from_arrow_name(name) is not None


def _decided_by_name(_: object) -> Signature | None:
    """Return None: the result type is in the name, so the call is converted to a cast first."""
    return None


OTHER_FUNCTIONS = (
    Function(
        "arrow_cast",
        "other",
        "arrow_cast(value, type)",
        "The value as the Arrow type of that name, such as 'Int32' or 'Timestamp(Second, None)'; NULL for NULL.",
        _decided_by_name,
        choices={1: ANY_CONSTANT},
        checks={1: _is_type},
    ),
    Function(
        "arrow_typeof",
        "other",
        "arrow_typeof(value)",
        "The Arrow name of the value's type; never NULL.",
        takes(anything, result=TEXT),
        nullable=never,
    ),
)
