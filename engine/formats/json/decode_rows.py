"""Decode JSON one record at a time: slower, with an error message per column.

For `id BIGINT NOT NULL, tags TEXT[]`:

    {"id": "7", "tags": ["a", 1]}   7, ["a", "1"]: texts and numbers are converted
    {"id": 7.5}                     column 'id': expected BIGINT, found 7.5
    {"tags": []}                    column 'id': it is NOT NULL, and the record has no such field
    (a blank line)                  no record
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation, localcontext
from typing import TypeAlias

import pyarrow as pa

from engine import types
from engine.errors import message_of
from engine.formats.base import BadRecord, Decoded
from engine.formats.json.options import JsonOptions
from engine.formats.json.parse import RawJson, SpelledNumber, Value, WrongValueError, parse_record
from engine.formats.timestamps import NON_FINITE, finite, fitting, read_timestamp
from engine.schema import Schema, arrow_schema

MOST_EXACT = 2**53 - 1
"""Largest number of days, milliseconds or microseconds of a time: a double represents every whole number up to it."""
Read: TypeAlias = Callable[[Value], object]


def decode_rows(lines: Sequence[bytes], schema: Schema, options: JsonOptions) -> Decoded:
    """Return the rows of the lines that hold a fitting record, and why the others do not. Blank lines are no
    records."""
    reads = [(field.name, field.nullable, _reader(field.type, options)) for field in schema]
    kind = types.Struct(tuple(types.Member(field.name, field.type) for field in schema))
    rows: list[list[object]] = []
    origin: list[int] = []
    bad: list[BadRecord] = []
    for index, line in enumerate(lines):
        if not line.strip():
            continue
        try:
            rows.append(_decode_row(line, reads, kind, options))
            origin.append(index)
        except WrongValueError as error:
            where = f"column '{'.'.join(reversed(error.path))}': " if error.path else ""
            bad.append(BadRecord(index, f"{where}{message_of(error)}", line))
    target = arrow_schema(schema)
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(target)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, target, strict=True)]
    return Decoded(pa.RecordBatch.from_arrays(arrays, schema=target), pa.array(origin, pa.int64()), bad)


def _decode_row(
    line: bytes, reads: list[tuple[str, bool, Read]], kind: types.Struct, options: JsonOptions
) -> list[object]:
    text = _decode_text(line)
    if options.unstructured:
        parse_record(text, None)
        return [text]
    if options.include_schema:
        kind = types.Struct((types.Member("payload", kind),))
    record = parse_record(text, kind)
    if options.include_schema and isinstance(record, dict):
        record = record.get("payload")
    if not isinstance(record, dict):
        raise WrongValueError(f"it is {_shown(record)}, not an object")
    return [_read_column(record, name, nullable, read) for name, nullable, read in reads]


def _decode_text(line: bytes) -> str:
    try:
        return line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise WrongValueError(f"it is not UTF-8: {error.reason} at byte {error.start}") from None


def _read_column(record: dict[str, Value], name: str, nullable: bool, read: Read) -> object:
    value = record.get(name)
    try:
        if value is not None:
            return read(value)
        if not nullable:
            raise WrongValueError(
                "it is NOT NULL, and the record has " + ("null" if name in record else "no such field")
            )
    except WrongValueError as error:
        error.path.append(name)
        raise
    return None


def _reader(kind: types.Type, options: JsonOptions) -> Read:
    match kind:
        case types.Boolean():
            return _read_boolean
        case types.Integer():
            return lambda value: _read_integer(value, kind)
        case types.Float():
            return lambda value: _read_float(value, kind, options)
        case types.Text():
            return _read_text
        case types.Json():
            return _read_json
        case types.Timestamp():
            return _TIMES[options.timestamp_format]
        case types.Date():
            return _read_day
        case types.Decimal():
            return lambda value: _read_decimal(value, kind, options)
        case types.Bytes():
            return _read_bytes
        case types.Struct(members):
            parts = [(member.name, _reader(member.type, options)) for member in members]
            return lambda value: _read_struct(value, parts)
        case types.Array(element):
            read = _reader(element, options)
            return lambda value: _read_array(value, read)
    raise TypeError(kind)


def _read_boolean(value: Value) -> bool:
    if isinstance(value, bool):
        return value
    raise WrongValueError(f"expected BOOLEAN, found {_shown(value)}")


def _read_integer(value: Value, kind: types.Integer) -> int:
    number = _exact_integer(value)
    if number is None:
        raise WrongValueError(f"expected {kind}, found {_shown(value)}")
    if not kind.holds(number):
        raise WrongValueError(f"{number} is out of range for {kind}")
    return number


def _exact_integer(value: Value) -> int | None:
    """Return the integer in a number or a text, however large; None if it is none."""
    if isinstance(value, SpelledNumber) and value.is_integer():
        return int(Decimal(value.text))
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and _is_integer_text(value):
        return int(value)
    return None


def _is_integer_text(text: str) -> bool:
    """Whether it is ASCII digits, with at most one sign before them."""
    digits = text.lstrip("+-")
    return digits.isdecimal() and text.isascii() and digits in (text, text[1:])


def _read_float(value: Value, kind: types.Float, options: JsonOptions) -> float:
    if isinstance(value, str) and options.non_finite == "text" and value in NON_FINITE:
        return float(value)
    if isinstance(value, int | float | str) and not isinstance(value, bool):
        try:
            number = finite(value, kind)
        except ValueError:
            pass
        except OverflowError:
            raise WrongValueError(f"{_shown(value)} is out of range for {kind}") from None
        else:
            return number
    raise WrongValueError(f"expected a number, found {_shown(value)}")


def _read_text(value: Value) -> str:
    match value:
        case str():
            return _whole_text(value)
        case bool():
            return "true" if value else "false"
        case SpelledNumber():
            return value.text
        case int() | float():
            return str(value)
    raise WrongValueError(f"expected TEXT, found {_shown(value)}")


def _whole_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise WrongValueError("its text has half of a surrogate pair") from None
    return text


def _read_json(value: Value) -> str:
    assert isinstance(value, RawJson)
    return _whole_text(value.text)


def _read_instant(value: Value) -> int:
    micros = read_timestamp(value) if isinstance(value, str) else None
    if micros is None:
        raise WrongValueError(f"expected TIMESTAMP like 2023-10-09T17:13:20.5Z, found {_shown(value)}")
    return micros


def _read_day(value: Value) -> date:
    """Return a day from its text, or from the days since 1970, as Debezium and Arrow count."""
    days = _whole_number(value)
    try:
        if days is not None:
            return date(1970, 1, 1) + timedelta(days=days)
        if isinstance(value, str) and _DAY.fullmatch(value):
            return date.fromisoformat(value)
    except (ValueError, OverflowError):
        pass
    raise WrongValueError(f"expected DATE like 2023-10-09, found {_shown(value)}")


_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def _read_millis(value: Value) -> int:
    millis = _whole_number(value)
    if millis is None:
        raise WrongValueError(f"expected TIMESTAMP as milliseconds since 1970, found {_shown(value)}")
    return millis * 1000


def _read_micros(value: Value) -> int:
    micros = _whole_number(value)
    if micros is None:
        raise WrongValueError(f"expected TIMESTAMP as microseconds since 1970, found {_shown(value)}")
    return micros


def _whole_number(value: Value) -> int | None:
    number = int(value) if isinstance(value, SpelledNumber) and value.is_integer() else value
    return number if isinstance(number, int) and not isinstance(number, bool) and abs(number) <= MOST_EXACT else None


_TIMES: dict[str, Read] = {"rfc3339": _read_instant, "unix_millis": _read_millis, "unix_micros": _read_micros}


def _read_decimal(value: Value, kind: types.Decimal, options: JsonOptions) -> Decimal:
    try:
        if options.decimal_encoding == "bytes":
            number = read_decimal_bytes(value if isinstance(value, str) else "", kind.scale)
        elif isinstance(value, bool) or not isinstance(value, str | int | SpelledNumber):
            raise ValueError
        else:
            number = Decimal(value.text if isinstance(value, SpelledNumber) else value)
        if not number.is_finite():
            raise ValueError
        rounded = fitting(number, kind)
    except (InvalidOperation, ValueError, binascii.Error):
        raise WrongValueError(f"expected {kind}, found {_shown(value)}") from None
    if rounded != number and options.excess_digits == "refuse":
        raise WrongValueError(f"{_shown(value)} has more digits behind the point than {kind}")
    return rounded


def read_decimal_bytes(text: str, scale: int) -> Decimal:
    """Return the number whose digits are the base64 of a big-endian two's complement, `scale` of them behind the
    point."""
    raw = base64.b64decode(text, validate=True)
    if not raw:
        raise ValueError
    with localcontext(prec=60):
        return Decimal(int.from_bytes(raw, "big", signed=True)).scaleb(-scale)


def _read_bytes(value: Value) -> bytes:
    if isinstance(value, str):
        try:
            return base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            pass
    raise WrongValueError(f"expected base64 of BYTEA, found {_shown(value)}")


def _read_struct(value: Value, parts: list[tuple[str, Read]]) -> dict[str, object]:
    if not isinstance(value, dict):
        raise WrongValueError(f"expected an object, found {_shown(value)}")
    members: dict[str, object] = {}
    for name, read in parts:
        part = value.get(name)
        try:
            members[name] = None if part is None else read(part)
        except WrongValueError as error:
            error.path.append(name)
            raise
    return members


def _read_array(value: Value, read: Read) -> list[object]:
    if not isinstance(value, list):
        raise WrongValueError(f"expected an array, found {_shown(value)}")
    return [None if part is None else read(part) for part in value]


def _shown(value: Value) -> str:
    match value:
        case None:
            return "null"
        case SpelledNumber() | RawJson():
            text = value.text
        case _:
            text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
