"""Print names, types and constants as Spark SQL.

Spark's parser replaces `${...}` by configuration values and environment variables, even inside quotes. So a text is
quoted only if all its characters are harmless, and is printed as bytes otherwise. A name with `${` is refused.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from engine import types
from engine.errors import UnusableNameError
from engine.plan.expressions.expr import Value

_PLAIN = re.compile(r"[A-Za-z0-9 _.,:;/()\[\]+*=<>!?@#%&|^~-]*")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SUFFIXES = {8: "Y", 16: "S", 32: "", 64: "L"}


def quote_name(name: str) -> str:
    """Return the name of a column or member in backticks."""
    if "${" in name or "\0" in name:
        raise UnusableNameError(f"{name!r} cannot be the name of a column", hint="leave out '${', or use an alias")
    return "`" + name.replace("`", "``") + "`"


def type_to_sql(kind: types.Type) -> str:
    """Return the Spark type that represents values of `kind`."""
    match kind:
        case types.Null():
            return "VOID"
        case types.Integer(bits, signed):
            return {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}[bits if signed else min(64, bits * 2)]
        case types.Decimal(precision, scale):
            return f"DECIMAL({precision}, {scale})"
        case types.Text() | types.Json():
            return "STRING"
        case types.Bytes():
            return "BINARY"
        case types.Interval():
            return "INTERVAL DAY TO SECOND"
        case types.Struct(members):
            inside = ", ".join(f"{quote_name(member.name)}: {type_to_sql(member.type)}" for member in members)
            return f"STRUCT<{inside}>"
        case types.Array(element):
            return f"ARRAY<{type_to_sql(element)}>"
    return str(kind)


def literal_to_sql(value: Value, kind: types.Type) -> str:
    """Return a constant of that type; NULL for None."""
    match value:
        case None:
            return f"CAST(NULL AS {type_to_sql(kind)})"
        case bool():
            return "true" if value else "false"
        case str():
            return text_to_sql(value)
        case bytes():
            return f"X'{value.hex()}'"
        case datetime():
            return f"timestamp_micros({(_aware(value) - _EPOCH) // _MICROSECOND}L)"
        case date():
            return f"DATE'{value.isoformat()}'"
        case timedelta():
            return _interval(value)
        case int() | float() | Decimal():
            return _number(value, kind)


def text_to_sql(text: str) -> str:
    """Return a text constant that Spark reads as exactly this text, whatever the settings of its parser."""
    if _PLAIN.fullmatch(text):
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex()}' AS STRING)"


def _number(value: float | Decimal, kind: types.Type) -> str:
    match kind:
        case types.Integer(bits, signed):
            number = f"{int(value)}{_SUFFIXES[bits if signed else min(64, bits * 2)]}"
        case types.Float(bits):
            number = _float(float(value), "D" if bits == 64 else "F")
        case _:
            return f"CAST('{value:f}' AS {type_to_sql(kind)})"
    return f"({number})" if number.startswith("-") else number


def _float(value: float, suffix: str) -> str:
    if math.isfinite(value):
        return f"{value!r}{suffix}"
    name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return f"CAST('{name}' AS {'DOUBLE' if suffix == 'D' else 'FLOAT'})"


def _interval(value: timedelta) -> str:
    sign = "-" if value < timedelta(0) else ""
    length = abs(value)
    minutes, seconds = divmod(length.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours:02}:{minutes:02}:{seconds:02}.{length.microseconds:06}"
    return f"INTERVAL '{sign}{length.days} {clock}' DAY TO SECOND"


def _aware(value: datetime) -> datetime:
    return value if value.tzinfo else value.replace(tzinfo=UTC)
