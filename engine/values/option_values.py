"""Parse the value of an option by its declared type."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, Union, get_args, get_origin

from annotated_types import Ge, Gt
from pydantic import AfterValidator, SecretStr
from pydantic.fields import FieldInfo

from engine.errors import DurationError, message_of
from engine.values.durations import read_duration

OptionValue: TypeAlias = "str | int | float | bool | timedelta | tuple[str, ...]"


@dataclass(frozen=True, slots=True)
class Unit:
    """Unit of a bare number in an option."""

    name: Literal["bytes", "micros", "off or interval"]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The value is not of the `expected` type."""

    expected: str


ByteCount = Annotated[int, Unit("bytes")]
"""A number of bytes; '128mb' and '64 KiB' are accepted."""
MicrosOrInterval = Annotated[timedelta, Unit("micros")]
"""A duration; a bare number is in microseconds."""
OffOrInterval = Annotated[timedelta | None, Unit("off or interval")]
"""A duration; -1 is None."""


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"is not a valid regular expression: {message_of(error)}") from error
    return value


Pattern = Annotated[str, AfterValidator(_pattern)]
"""A regular expression."""

_BYTES = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgtpe]?)(?:i?b)?\s*$", re.IGNORECASE)
_TRUTH = {"true": True, "false": False}


def read_value(info: FieldInfo, value: OptionValue) -> object:
    """Return the value as the field's type; `Unreadable` when it cannot be taken as that."""
    return _read(info.annotation, tuple(info.metadata), value)


def _read(kind: object, marks: tuple[object, ...], value: OptionValue) -> object:
    unit = next((mark.name for mark in marks if isinstance(mark, Unit)), None)
    if unit == "bytes":
        return _read_bytes(value)
    if unit is not None:
        return _read_interval(value, unit)
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _read(parts[0], (*marks, *parts[1:]), value)
    if origin in (Union, types.UnionType):
        return _read(next(part for part in parts if part is not type(None)), marks, value)
    if origin is tuple:
        return _read_array(value)
    if kind is int:
        return _read_integer(value, unsigned=any(isinstance(mark, Ge | Gt) for mark in marks))
    read = _read_text if origin is Literal else _READERS.get(kind)
    if read is None:
        raise TypeError(kind)
    return read(value)


def _read_text(value: OptionValue) -> object:
    return value if isinstance(value, str) else Unreadable("a quoted text")


def _read_bool(value: OptionValue) -> object:
    return value if isinstance(value, bool) else _TRUTH.get(str(value).lower(), Unreadable("true or false"))


def _read_integer(value: OptionValue, *, unsigned: bool) -> object:
    expected = Unreadable("a whole number of at least zero" if unsigned else "a whole number")
    if isinstance(value, bool | float | timedelta | tuple):
        return expected
    try:
        number = int(value)
    except ValueError:
        return expected
    return expected if unsigned and number < 0 else number


def _read_number(value: OptionValue) -> object:
    if isinstance(value, bool | timedelta | tuple):
        return Unreadable("a number")
    try:
        return float(value)
    except ValueError:
        return Unreadable("a number")


def _read_bytes(value: OptionValue) -> object:
    count = None if isinstance(value, bool | timedelta | tuple) else _BYTES.match(str(value))
    if count is None:
        return Unreadable("a number of bytes like '128mb'")
    power: int = " kmgtpe".index(count[2].lower() or " ")
    try:
        return int(float(count[1]) * 1024**power)
    except OverflowError:
        return Unreadable("a smaller number of bytes")


def _read_interval(value: OptionValue, unit: str | None = None) -> object:
    expected = Unreadable("a length of time like '5 seconds'")
    if isinstance(value, timedelta):
        return value
    if isinstance(value, bool | tuple):
        return expected
    if unit == "off or interval" and str(value).strip() == "-1":
        return None
    if unit == "micros" and re.fullmatch(r"\s*\d{1,18}\s*", str(value)):
        return timedelta(microseconds=int(value))
    try:
        return read_duration(value) if isinstance(value, str) else expected
    except DurationError:
        return expected


def _read_array(value: OptionValue) -> object:
    if isinstance(value, tuple):
        return value
    if not isinstance(value, str):
        return Unreadable("a list like ['a', 'b']")
    return tuple(part.strip().strip("'\"") for part in value.strip().removeprefix("[").removesuffix("]").split(","))


_READERS: Mapping[object, Callable[[OptionValue], object]] = {
    bool: _read_bool,
    float: _read_number,
    timedelta: _read_interval,
    **dict.fromkeys((str, SecretStr, Path, datetime), _read_text),
}
