"""Print casts as Spark SQL, with the text formats and units of Arroyo."""

from __future__ import annotations

from engine import types
from engine.functions.coercion import can_coerce
from engine.spark.printers.literals import quote_name, text_to_sql, type_to_sql

ITEM = "__item"
"""Variable of our lambdas. A lambda body contains no printed argument, so the name cannot clash."""

# Spark also takes a bare year, a time of today, or 'now': none of them says which instant it is when a run is repeated.
_NO_DATE = text_to_sql(r"^(?!\s*\d{4,6}-\d{1,2}-\d{1,2})")
_ON, _OFF = text_to_sql(r"(?i)^\s*on\s*$"), text_to_sql(r"(?i)^\s*off\s*$")
_TRAILING_ZEROS = text_to_sql(r"(\.000000|000)$")
_PADDED_FRACTION = text_to_sql(r"(\.\d+?)0+$")
_FIRST_GROUP = text_to_sql("$1")


def cast_to_sql(value: str, source: types.Type, target: types.Type, *, lenient: bool = False) -> str:
    """Return the text `value`, which has the type `source`, as a `target`; a value that does not fit fails, or is
    NULL."""
    match source, target:
        case (types.Array(), types.Array()) | (types.Struct(), types.Struct()) if not can_coerce(source, target):
            return _inside(value, source, target, lenient=lenient)
        case types.Float(), types.Text() | types.Json():
            return _fraction_as_text(value)
        case types.Timestamp(), types.Text():
            text = f"date_format({value}, {text_to_sql(_MOMENT)})"
            return f"regexp_replace({text}, {_TRAILING_ZEROS}, '')"
        case types.Bytes(), types.Text():
            return f"{'try_' if lenient else ''}validate_utf8(CAST({value} AS STRING))"
        case types.Text() | types.Json(), types.Timestamp() | types.Date():
            value = f"regexp_replace({value}, {_NO_DATE}, 'not a date, ')"
        case types.Timestamp(), types.Integer():
            return f"(unix_micros({value}) * 1000L)"
        case types.Interval(), types.Text():
            return _interval_as_text(value)
        case types.Text() | types.Json(), types.Boolean():
            value = f"regexp_replace(regexp_replace({value}, {_ON}, 'true'), {_OFF}, 'false')"
        case types.Integer(), types.Timestamp():
            return micros_to_sql(f"CAST({value} AS BIGINT)", 1000)
    plain = f"{'TRY_CAST' if lenient else 'CAST'}({value} AS {type_to_sql(target)})"
    if isinstance(target, types.Integer) and not target.signed and not _is_in_range(source, target):
        return _checked(plain, target, lenient=lenient)
    return plain


def _inside(value: str, source: types.Type, target: types.Type, *, lenient: bool) -> str:
    """Cast arrays and structs element by element, since Spark has other spellings and ranges than we do."""
    match source, target:
        case types.Array(x), types.Array(y):
            return f"transform({value}, {ITEM} -> {cast_to_sql(ITEM, x, y, lenient=lenient)})"
        case types.Struct(sources), types.Struct(targets):
            parts = (
                f"{text_to_sql(y.name)}, "
                f"{cast_to_sql(f'{value}.{quote_name(x.name)}', x.type, y.type, lenient=lenient)}"
                for x, y in zip(sources, targets, strict=True)
            )
            return f"(CASE WHEN {value} IS NOT NULL THEN named_struct({', '.join(parts)}) END)"
    raise TypeError(source)


def micros_to_sql(number: str, per_microsecond: int) -> str:
    """Return the instant that many fractions of a microsecond after the epoch, truncated to the microsecond."""
    below = f"CAST({number} % {per_microsecond}L < 0L AS BIGINT)"
    return f"timestamp_micros({number} div {per_microsecond}L - {below})"


_MOMENT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"


def _interval_as_text(value: str) -> str:
    """Format an interval as in Postgres: `1 day 02:00:00.5`."""
    micros = f"unix_micros(timestamp_micros(0L) + {value})"
    day = 86_400_000_000
    time_of_day = f"abs({ITEM} % {day}L)"
    days = f"concat({ITEM} div {day}L, CASE WHEN {ITEM} div {day}L = 1L THEN ' day' ELSE ' days' END)"
    parts = (f"lpad({time_of_day} div {size}L % {turn}L, 2, '0')" for size, turn in _CLOCK)
    fraction = f"rtrim('.', rtrim('0', concat('.', lpad({time_of_day} % 1000000L, 6, '0'))))"
    clock = f"concat(CASE WHEN {ITEM} < 0L THEN '-' ELSE '' END, concat_ws(':', {', '.join(parts)}), {fraction})"
    shown_days = f"CASE WHEN {ITEM} div {day}L <> 0L THEN {days} END"
    shown_clock = f"CASE WHEN {time_of_day} <> 0L OR {ITEM} = 0L THEN {clock} END"
    text = f"CASE WHEN {ITEM} IS NOT NULL THEN concat_ws(' ', {shown_days}, {shown_clock}) END"
    return f"get(transform(array({micros}), {ITEM} -> {text}), 0)"


_CLOCK = ((3_600_000_000, 24), (60_000_000, 60), (1_000_000, 60))


def _fraction_as_text(value: str) -> str:
    """Format a fraction as 10000000.0, which Spark writes as 1.0E7; exponents begin at 1e16 and below 1e-5."""
    size = f"abs({value})"
    text = f"CAST({value} AS STRING)"
    digits = f"regexp_replace(CAST(CAST({text} AS DECIMAL(38, 22)) AS STRING), {_PADDED_FRACTION}, {_FIRST_GROUP})"
    short = f"replace(replace(replace({text}, '.0E', 'e'), 'E', 'e'), 'Infinity', 'inf')"
    is_plain = f"(({size} >= 1e7D AND {size} < 1e16D) OR ({size} >= 1e-5D AND {size} < 1e-3D))"
    return f"(CASE WHEN {is_plain} THEN {digits} ELSE {short} END)"


def _checked(value: str, target: types.Integer, *, lenient: bool) -> str:
    complaint = f"raise_error(concat('not in the range of {target}, ', CAST({value} AS STRING)))"
    refusal = "NULL" if lenient else complaint
    return f"(CASE WHEN {value} NOT BETWEEN {target.least} AND {target.largest}L THEN {refusal} ELSE {value} END)"


def _is_in_range(source: types.Type, target: types.Integer) -> bool:
    match source:
        case types.Boolean() | types.Null():
            return True
        case types.Integer(bits, signed=False):
            return bits <= target.bits
    return False
