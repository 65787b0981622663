"""Type names and column names, as scripts write them.

Parse type names.

    VARCHAR(20), STRING         TEXT, of any length
    INT UNSIGNED                an unsigned integer of 32 bits
    DECIMAL, DECIMAL(9)         DECIMAL(38, 10), DECIMAL(9, 0)
    TIMESTAMP(3)                TIMESTAMP, in microseconds like all; casts to it truncate to milliseconds (`unit_of`)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import count

from sqlglot import exp

from engine import types
from engine.errors import DuplicateNameError, EngineError, TableColumnError, UnknownTypeError, UnusableNameError

_T = exp.DataType.Type
_PLAIN: dict[object, types.Type] = {
    _T.BOOLEAN: types.BOOLEAN,
    _T.TINYINT: types.Integer(8),
    _T.UTINYINT: types.Integer(8, signed=False),
    _T.SMALLINT: types.Integer(16),
    _T.USMALLINT: types.Integer(16, signed=False),
    _T.INT: types.Integer(32),
    _T.UINT: types.Integer(32, signed=False),
    _T.BIGINT: types.Integer(64),
    _T.UBIGINT: types.Integer(64, signed=False),
    _T.FLOAT: types.Float(32),
    _T.DOUBLE: types.Float(64),
    _T.TEXT: types.TEXT,
    _T.VARCHAR: types.TEXT,
    _T.NVARCHAR: types.TEXT,
    _T.CHAR: types.TEXT,
    _T.NCHAR: types.TEXT,
    _T.TIMESTAMP: types.TIMESTAMP,
    _T.TIMESTAMPTZ: types.TIMESTAMP,
    _T.TIMESTAMPNTZ: types.TIMESTAMP,
    _T.DATETIME: types.TIMESTAMP,
    _T.DATE: types.Date(),
    _T.INTERVAL: types.Interval(),
    _T.VARBINARY: types.Bytes(),
    _T.BINARY: types.Bytes(),
    _T.JSON: types.Json(),
    _T.JSONB: types.Json(),
}


_THERE_ARE = (
    "there are BOOLEAN, TINYINT, SMALLINT, INT, BIGINT (all also UNSIGNED), FLOAT, DOUBLE, DECIMAL, TEXT, BYTEA, "
    "TIMESTAMP, DATE, INTERVAL, JSON, "
    "STRUCT<name TYPE, ...> and TYPE[]"
)


def translate_type(written: exp.DataType) -> types.Type:
    """Return the type that a type name stands for."""
    kind = written.this
    if kind in _PLAIN:
        unit_of(written)
        return _PLAIN[kind]
    if kind == _T.DECIMAL:
        return _decimal(written)
    if kind == _T.STRUCT:
        return types.Struct(_members(written.expressions))
    if kind in (_T.ARRAY, _T.LIST):
        if not written.expressions or not isinstance(written.expressions[0], exp.DataType):
            raise UnknownTypeError("an array needs the type of its elements", hint="write for example TEXT[]")
        return types.Array(translate_type(written.expressions[0]))
    name = written.sql(dialect="postgres")
    if name.upper() == "STRING":
        return types.TEXT
    hint = (
        "use an INTERVAL since midnight, or TEXT, for a time of day" if name.upper().startswith("TIME") else _THERE_ARE
    )
    raise UnknownTypeError(f"type '{name}' is not supported", hint=hint)


def unit_of(written: exp.DataType) -> str | None:
    """Return the unit to which a type such as TIMESTAMP(3) cuts instants; None when it keeps microseconds."""
    if _PLAIN.get(written.this) != types.TIMESTAMP or not written.expressions:
        return None
    digits = written.expressions[0].name
    if digits not in ("0", "3", "6", "9"):
        raise UnknownTypeError(f"type 'TIMESTAMP({digits})' is not supported", hint="write 0, 3, 6 or 9 digits")
    return {"0": "second", "3": "millisecond"}.get(digits)


def _decimal(written: exp.DataType) -> types.Type:
    numbers = [int(part.name) for part in written.expressions if re.fullmatch("[0-9]{1,9}", part.name)]
    if len(numbers) != len(written.expressions) or len(numbers) > 2:
        raise UnknownTypeError("DECIMAL takes up to two whole numbers", hint="write DECIMAL(precision, scale)")
    precision, scale = [*numbers, 0] if len(numbers) == 1 else numbers or [38, 10]
    if not 1 <= precision <= 38 or scale > precision:
        raise UnknownTypeError(f"DECIMAL({precision}, {scale}) is not supported", hint="the largest is DECIMAL(38, 38)")
    return types.Decimal(precision, scale)


def _members(written: Sequence[exp.Expr]) -> tuple[types.Member, ...]:
    members = tuple(_member(part) for part in written)
    if not members:
        raise UnknownTypeError("a STRUCT needs members", hint="write STRUCT<name TYPE, ...>")
    usable_members([member.name for member in members])
    return members


def _member(part: exp.Expr) -> types.Member:
    if not isinstance(part, exp.ColumnDef) or not isinstance(part.kind, exp.DataType):
        raise UnknownTypeError("each member of a STRUCT needs a name", hint="write STRUCT<name TYPE, ...>")
    return types.Member(part.name, translate_type(part.kind))


_RESERVED = re.compile(r"__.*|_timestamp|_heartbeat|_wm|_window|_none|_key\d+", re.IGNORECASE | re.DOTALL)


def usable(name: str) -> str:
    """Return the name; raise if the engine reserves it, or if Spark could not store it."""
    if not name:
        raise UnusableNameError("a column needs a name", hint="name it with AS")
    if _RESERVED.fullmatch(name):
        raise TableColumnError(f"column name {name!r} is reserved for the engine", hint="use another name")
    return _keepable(name)


def usable_list(names: Sequence[str]) -> list[str]:
    """Return the names of all columns of a relation; raise if two of them are the same."""
    return _distinct([usable(name) for name in names], "column")


def usable_members(names: Sequence[str]) -> list[str]:
    """Return the names of all members of a struct; raise if two of them are the same."""
    return _distinct([_keepable(name) for name in names], "member")


def numbered(prefix: str, used_names: Iterable[str]) -> str:
    """Return the prefix with the first number for which no name begins with it."""
    names = [name.lower() for name in used_names]
    candidates = (f"{prefix}{number}" for number in count())
    return next(candidate for candidate in candidates if not any(name.startswith(candidate) for name in names))


def twice(name: str, kind: str = "column") -> EngineError:
    """Return the error for a second column of the same name."""
    return DuplicateNameError(
        f"{kind} {name!r} is declared twice", hint="upper and lower case are the same; use another name"
    )


def count_columns(count: int) -> str:
    """Return a number of columns, in words."""
    return f"{count} column{'' if count == 1 else 's'}"


def _distinct(names: list[str], kind: str) -> list[str]:
    earlier: set[str] = set()
    for name in names:
        if name.lower() in earlier:
            raise twice(name, kind)
        earlier.add(name.lower())
    return names


def _keepable(name: str) -> str:
    if "${" in name or "\0" in name:
        raise UnusableNameError(f"{name!r} is not a valid column name", hint="leave out '${', or use an alias")
    return name
