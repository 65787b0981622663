"""Evaluate expressions over Arrow columns. Each kernel has the same results as Spark.

CASE WHEN b <> 0 THEN a / b ELSE 0 END over a = [6, 1, 8], b = [3, 0, 4]
`b <> 0` over all three rows         [true, false, true]
`a / b` over rows 0 and 2 only       [2, 2], so row 1 does not divide by zero
`0` over row 1, then all in order    [2, 0, 2]
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from engine import types
from engine.arrow.functions import FUNCTION_KERNELS
from engine.errors import DataError, InvalidValueError
from engine.functions import FUNCTIONS
from engine.plan.expressions.conditions import is_left_to_kernel
from engine.plan.expressions.expr import Call, Case, Cast, Column, Expr, Literal, Member
from engine.schema import to_arrow

_INSTANT = pa.timestamp("us", "UTC")
_MOMENT = re.compile(
    r"\s*(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d+))?)?\s*(?:(Z|UTC|GMT)|([+-])(\d{1,2})(?::?(\d{2}))?)?)?\s*"
)


def cast_array(values: pa.Array, source: types.Type, target: types.Type, *, lenient: bool = False) -> pa.Array:
    """Return the values, which are of type `source`, as `target`; what does not fit raises, or is NULL when lenient."""
    match source, target:
        case types.Text() | types.Json(), types.Timestamp():
            return _text_to_instants(values, lenient=lenient)
        case types.Text() | types.Json(), types.Integer() | types.Float():
            values = pc.replace_substring_regex(pc.utf8_trim_whitespace(values), r"^\+(\d|\.)", r"\1")
        case types.Timestamp(), types.Text():
            text = pc.strftime(values, format="%Y-%m-%dT%H:%M:%S")
            return pc.replace_substring_regex(text, r"(\.000000|000)$", "")
        case types.Timestamp(), types.Integer():
            return pc.multiply_checked(values.cast(pa.int64()), 1000)
        case types.Integer(), types.Timestamp():
            return from_nanos(values.cast(pa.int64()))
        case types.Timestamp(), types.Date():
            return pc.floor_temporal(values, unit="day").cast(pa.date32())
        case types.Float(), types.Integer():
            values = pc.trunc(values)
        case types.Integer(), types.Float():
            return values.cast(to_arrow(target), safe=False)
    if isinstance(target, types.Integer) and not target.signed:
        return _in_range(values.cast(to_arrow(target)), target)
    return values.cast(to_arrow(target), safe=not isinstance(source, types.Float) or isinstance(target, types.Integer))


def to_instants(values: pa.Array) -> pa.Array:
    """Convert text, seconds since the epoch, or instants to instants."""
    if pa.types.is_timestamp(values.type):
        return values
    if pa.types.is_string(values.type):
        return _text_to_instants(values)
    if pa.types.is_integer(values.type):
        return pc.multiply_checked(values, pa.scalar(1_000_000, pa.int64())).cast(_INSTANT)
    micros = pc.round(pc.multiply(values, 1e6), round_mode="half_towards_infinity")
    return micros.cast(pa.int64()).cast(_INSTANT)


def from_nanos(numbers: pa.Array) -> pa.Array:
    """Return the instants so many nanoseconds after the epoch, rounded down to the microsecond."""
    micros = pc.divide(numbers, 1000)
    below = pc.less(numbers, pc.multiply(micros, 1000))
    return pc.subtract(micros, below.cast(pa.int64())).cast(_INSTANT)


def _text_to_instants(texts: pa.Array, *, lenient: bool = False) -> pa.Array:
    """Convert text to instants. Most columns have one plain form, all with a zone or all without, which Arrow parses
    itself; the others are parsed value by value."""
    for kind in (pa.timestamp("us"), _INSTANT):
        try:
            return texts.cast(kind).cast(_INSTANT)
        except pa.ArrowInvalid:
            continue
    return pa.array([_read(text, lenient=lenient) for text in texts.to_pylist()], _INSTANT)


def _read(text: str | None, *, lenient: bool) -> datetime | None:
    if text is None:
        return None
    parts = _MOMENT.fullmatch(text)
    try:
        if parts is not None:
            return _moment(*parts.groups())
    except (ValueError, OverflowError):
        pass
    if lenient:
        return None
    raise DataError(f"{text!r} is not a timestamp", hint="write it as 2024-01-31 23:59:59 or 2024-01-31T23:59:59Z")


def _moment(*parts: str | None) -> datetime:
    year, month, day, hour, minute, second = (int(part or 0) for part in parts[:6])
    fraction, _, sign, zone_hours, zone_minutes = parts[6:]
    micros = int((fraction or "0")[:6].ljust(6, "0"))
    ahead = timedelta(hours=int(zone_hours or 0), minutes=int(zone_minutes or 0))
    local = datetime(year, month, day, hour, minute, second, micros, tzinfo=UTC)
    return local + ahead if sign == "-" else local - ahead


def _in_range(values: pa.Array, target: types.Integer) -> pa.Array:
    outside = pc.or_(pc.less(values, target.least), pc.greater(values, target.largest))
    if pc.any(outside).as_py():
        raise DataError(f"{values.filter(outside)[0]} is not in the range of {target}")
    return values


def evaluate(expr: Expr, rows: pa.RecordBatch) -> pa.Array:
    """Return the value of the expression for each row, the same as Spark gives; only for what `can_evaluate` accepts.

    A value that Spark would fail on, such as a quotient by zero or text that is no date, raises here as well.
    """
    match expr:
        case Column(name):
            return rows.column(name)
        case Literal(value, kind):
            return pa.repeat(pa.scalar(value, to_arrow(kind)), rows.num_rows)
        case Member(inner, name):
            return pc.struct_field(evaluate(inner, rows), name)
        case Cast(inner, kind, lenient):
            return cast_array(evaluate(inner, rows), inner.type, kind, lenient=lenient)
        case Case():
            return _first_true(expr, rows)
        case Call("coalesce" | "nvl", arguments, kind):
            branches = tuple((Call("is_not_null", (part,), types.BOOLEAN), part) for part in arguments)
            return _first_true(Case(branches, None, kind), rows)
        case Call("nvl2", (tested, then, otherwise), kind):
            condition = Call("is_not_null", (tested,), types.BOOLEAN)
            return _first_true(Case(((condition, then),), otherwise, kind), rows)
        case Call("date_trunc", (Literal(str(unit)), instant)):
            return pc.floor_temporal(evaluate(instant, rows), unit=unit.lower())
        case Call(function, arguments) if is_left_to_kernel(expr):
            return _from_kernel(expr, [evaluate(argument, rows) for argument in arguments])
        case Call(function, arguments):
            return OPERATOR_KERNELS[function](*[evaluate(argument, rows) for argument in arguments])


def _from_kernel(call: Call, columns: list[pa.Array]) -> pa.Array:
    """Evaluate the function's kernel; raise if it returns NULL where the function never does."""
    result = FUNCTION_KERNELS[call.function](*columns).cast(to_arrow(call.type))
    has_arguments = reduce(pc.and_, map(pc.is_valid, columns), pa.repeat(True, len(result)))
    missing = pc.and_(has_arguments, pc.is_null(result))
    if FUNCTIONS[call.function].nullable is any and pc.any(missing).as_py():
        raise InvalidValueError(f"{call.function} has no answer for {columns[0].filter(missing)[0]}")
    return result


def _first_true(case: Case, rows: pa.RecordBatch) -> pa.Array:
    """Return the value of the first true branch. A branch is computed only for the rows that take it, so that it cannot
    fail on others."""
    open_rows = pa.array(range(rows.num_rows), pa.int64())
    places, values = [], []
    for condition, value in case.branches:
        inside = rows.take(open_rows)
        is_true = pc.fill_null(evaluate(condition, inside), False)
        places.append(open_rows.filter(is_true))
        values.append(evaluate(value, inside.filter(is_true)))
        open_rows = open_rows.filter(pc.invert(is_true))
    default = Literal(None, case.type) if case.default is None else case.default
    places.append(open_rows)
    values.append(evaluate(default, rows.take(open_rows)))
    return pa.concat_arrays(values).take(pc.sort_indices(pa.concat_arrays(places)))


def _both_nan(a: pa.Array, b: pa.Array) -> pa.Array:
    return pc.and_(pc.is_nan(a), pc.is_nan(b))


def _equal(a: pa.Array, b: pa.Array) -> pa.Array:
    """Whether values are equal; NaN equals NaN, as in Spark and Postgres."""
    same = pc.equal(a, b)
    return pc.or_(same, _both_nan(a, b)) if pa.types.is_floating(a.type) else same


def _less(a: pa.Array, b: pa.Array) -> pa.Array:
    """Whether values are less; NaN is greater than every other number."""
    less = pc.less(a, b)
    if not pa.types.is_floating(a.type):
        return less
    return pc.or_(less, pc.and_(pc.is_nan(b), pc.invert(pc.is_nan(a))))


def _not_distinct(a: pa.Array, b: pa.Array) -> pa.Array:
    both_null = pc.and_(pc.is_null(a), pc.is_null(b))
    return pc.or_(both_null, pc.fill_null(_equal(a, b), False))


def _between(value: pa.Array, low: pa.Array, high: pa.Array) -> pa.Array:
    return pc.and_kleene(pc.invert(_less(value, low)), pc.invert(_less(high, value)))


def _in(value: pa.Array, *choices: pa.Array) -> pa.Array:
    return reduce(pc.or_kleene, [_equal(value, choice) for choice in choices])


def _null_if(a: pa.Array, b: pa.Array) -> pa.Array:
    return pc.if_else(pc.fill_null(_equal(a, b), False), pa.scalar(None, a.type), a)


def _greatest(*values: pa.Array) -> pa.Array:
    return reduce(lambda a, b: pc.if_else(pc.fill_null(_less(a, b), pc.is_null(a)), b, a), values)


def _least(*values: pa.Array) -> pa.Array:
    return reduce(lambda a, b: pc.if_else(pc.fill_null(_less(b, a), pc.is_null(a)), b, a), values)


def _multiply(a: pa.Array, b: pa.Array) -> pa.Array:
    """Return the product of numbers, or of a length of time and a whole number; Arrow checks only numbers for
    overflow."""
    if pa.types.is_duration(a.type) or pa.types.is_duration(b.type):
        product = pc.multiply_checked(a.cast(pa.int64()), b.cast(pa.int64()))
        return product.cast(pa.duration("us"))
    return pc.multiply_checked(a, b)


def _remainder(a: pa.Array, b: pa.Array) -> pa.Array:
    """Return the remainder with the sign of the dividend."""
    if pa.types.is_floating(a.type):
        pc.divide_checked(a, b)
        return pa.array(map(_fraction_left, a.to_pylist(), b.to_pylist()), a.type)
    # The least number divided by -1 overflows, though the remainder is 0: as is that of every division by 1.
    by = pc.if_else(pc.equal(b, pa.scalar(-1, b.type)), pa.scalar(1, b.type), b)
    return pc.subtract(a, pc.multiply(pc.divide_checked(a, by), by))


def _fraction_left(a: float | None, b: float | None) -> float | None:
    if a is None or b is None:
        return None
    return math.nan if math.isinf(a) else math.fmod(a, b)


def _seconds_as_number(value: pa.Array) -> pa.Array:
    return pc.divide(value.cast(pa.int64()).cast(pa.float64(), safe=False), 1e6)


def _whole_seconds(instant: pa.Array) -> pa.Array:
    return pc.floor_temporal(instant, unit="second").cast(pa.timestamp("s", "UTC")).cast(pa.int64())


def _scale(micros: int) -> Callable[[pa.Array], pa.Array]:
    return lambda number: pc.multiply_checked(number, pa.scalar(micros, pa.int64())).cast(pa.timestamp("us", "UTC"))


OPERATOR_KERNELS: Mapping[str, Callable[..., pa.Array]] = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": _multiply,
    "/": pc.divide_checked,
    "%": _remainder,
    "negate": pc.negate_checked,
    "=": _equal,
    "<>": lambda a, b: pc.invert(_equal(a, b)),
    "<": _less,
    "<=": lambda a, b: pc.invert(_less(b, a)),
    ">": lambda a, b: _less(b, a),
    ">=": lambda a, b: pc.invert(_less(a, b)),
    "is_not_distinct_from": _not_distinct,
    "is_distinct_from": lambda a, b: pc.invert(_not_distinct(a, b)),
    "between": _between,
    "in": _in,
    "and": lambda *parts: reduce(pc.and_kleene, parts),
    "or": lambda *parts: reduce(pc.or_kleene, parts),
    "not": pc.invert,
    "is_null": pc.is_null,
    "is_not_null": pc.is_valid,
    "is_true": lambda a: pc.fill_null(a, False),
    "is_not_true": lambda a: pc.invert(pc.fill_null(a, False)),
    "is_false": lambda a: pc.invert(pc.fill_null(a, True)),
    "is_not_false": lambda a: pc.fill_null(a, True),
    "nullif": _null_if,
    "greatest": _greatest,
    "least": _least,
    "to_timestamp": to_instants,
    "from_unixtime": _scale(1_000_000),
    "to_timestamp_seconds": _scale(1_000_000),
    "to_timestamp_millis": _scale(1_000),
    "to_timestamp_micros": _scale(1),
    "to_timestamp_nanos": from_nanos,
    "to_unixtime": _whole_seconds,
    "epoch": _seconds_as_number,
}
