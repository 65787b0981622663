"""Arrow and Spark give the same for every expression that both know."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812 - everybody calls it F

from engine import types
from engine.arrow.evaluate import OPERATOR_KERNELS, evaluate
from engine.errors import DataError
from engine.functions.time import TRUNCATED_TO
from engine.plan.expressions.calls import call, cast
from engine.plan.expressions.conditions import EVALUATED, can_evaluate
from engine.plan.expressions.expr import Call, Case, Cast, Column, Expr, Member, walk
from engine.schema import Field, Schema, arrow_schema
from engine.spark.printers.expressions import to_sql
from tests.functions.cases import CASES
from tests.functions.cases.values import INF, NAN, literal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 200
TINY, SMALL, UNSIGNED = types.Integer(8), types.Integer(16), types.Integer(32, signed=False)
FLOAT, DATE, INTERVAL = types.Float(32), types.Date(), types.Interval()
PAIR = types.Struct((types.Member("inside", types.TIMESTAMP), types.Member("number", types.BIGINT)))
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
COMPARISONS = (
    *("=", "<>", "<", "<=", ">", ">=", "is_distinct_from", "is_not_distinct_from"),
    *("nullif", "greatest", "least"),
)
PREDICATES = ("is_null", "is_not_null", "is_true", "is_not_true", "is_false", "is_not_false", "not")

STAMPS = (
    "2024-01-02",
    "2024-01-02 03:04",
    "2024-01-02 03:04:05",
    "2024-01-02T03:04:05.1",
    "2024-01-02T03:04:05.123456789",
    "2024-01-02T03:04:05Z",
    "2024-01-02T03:04:05.25+02:00",
    "2024-01-02 03:04:05-0130",
    "1969-12-31 23:59:59.999999",
    "  2024-1-2 3:4:5 ",
)


def _maybe(chance: random.Random, make: Callable[[random.Random], object]) -> object:
    return None if chance.random() < 0.15 else make(chance)


def _instant(chance: random.Random) -> datetime:
    micros = chance.choice([0, chance.randint(-(10**9), 10**9), chance.randint(-9 * 10**15, 3 * 10**15)])
    return EPOCH + timedelta(microseconds=micros - micros % chance.choice([1, 1000, 10**6]))


COLUMNS: dict[str, tuple[types.Type, Callable[[random.Random], object]]] = {
    "tiny": (TINY, lambda chance: chance.randint(-9, 9)),
    "small": (SMALL, lambda chance: chance.randint(-99, 99)),
    "int": (types.INT, lambda chance: chance.randint(-999, 999)),
    "big": (types.BIGINT, lambda chance: chance.randint(-10, 10)),
    "wide": (types.BIGINT, lambda chance: chance.choice([2**63 - 1, -(2**63), 0, 1, chance.randint(-(2**60), 2**60)])),
    "unsigned": (UNSIGNED, lambda chance: chance.choice([0, 4294967295, chance.randint(0, 99)])),
    "odd": (types.BIGINT, lambda chance: chance.choice([-3, -1, 1, 7])),
    "float": (FLOAT, lambda chance: chance.choice([0.0, -0.0, 1.5, -2.25, NAN, INF, -INF])),
    "double": (types.DOUBLE, lambda chance: chance.choice([0.0, -0.0, NAN, INF, -INF, chance.uniform(-1e6, 1e6)])),
    "finite": (types.DOUBLE, lambda chance: chance.choice([0.5, -0.5, 1.5, chance.uniform(-1e9, 1e9)])),
    "nonzero": (types.DOUBLE, lambda chance: chance.choice([0.5, -3.0, NAN, INF, chance.uniform(1, 9)])),
    "flag": (types.BOOLEAN, lambda chance: chance.random() < 0.5),
    "other": (types.BOOLEAN, lambda chance: chance.random() < 0.5),
    "text": (types.TEXT, lambda chance: chance.choice(["", "a", "B", "é", "a ", "z"])),
    "digits": (types.TEXT, lambda chance: f"{chance.choice(['', ' ', '+', '-'])}{chance.randint(0, 99)}"),
    "decimals": (types.TEXT, lambda chance: chance.choice(["1.5", "-2e3", " 7", "NaN", "Infinity", "-inf", "+.5"])),
    "stamp": (types.TEXT, lambda chance: chance.choice(STAMPS)),
    "rough": (types.TEXT, lambda chance: chance.choice([*STAMPS, "x", "now", "2024", "2024-13-01", "12:00:00", ""])),
    "seen": (types.TIMESTAMP, _instant),
    "then": (types.TIMESTAMP, _instant),
    "day": (DATE, lambda chance: date(1970, 1, 1) + timedelta(days=chance.randint(-9999, 9999))),
    "length": (INTERVAL, lambda chance: timedelta(microseconds=chance.randint(-(10**12), 10**12))),
    "pair": (PAIR, lambda chance: {"inside": _maybe(chance, _instant), "number": _maybe(chance, lambda _: 5)}),
}


def test_every_kernel_is_of_a_function_said_to_be_known() -> None:
    special = {"coalesce", "nvl", "nvl2", "date_trunc"}
    assert set(OPERATOR_KERNELS) | special == EVALUATED


def test_every_known_function_is_compared() -> None:
    called = {part.function for expr in _expressions() for part in walk(expr) if isinstance(part, Call)}
    assert called >= EVALUATED


def test_arrow_equals_spark_on_random_columns(spark: SparkSession) -> None:
    rows, expressions = random_rows(20), _expressions()
    assert [to_sql(expr) for expr in expressions if not can_evaluate(expr)] == []

    selected = [F.expr(to_sql(expr)).alias(f"c{index}") for index, expr in enumerate(expressions)]
    expected = spark.createDataFrame(pa.Table.from_batches([rows])).select(selected).toArrow()

    wrong = []
    for index, expr in enumerate(expressions):
        result, spark_result = evaluate(expr, rows), expected.column(index).combine_chunks()
        if result.type != spark_result.type or _plain(result) != _plain(spark_result):
            wrong.append(f"{to_sql(expr)}: {_first_difference(rows, result, spark_result)}")
    assert wrong == []


def test_arrow_gives_what_the_tables_say() -> None:
    row = pa.record_batch({"one": [1]})
    wrong = []
    for name, arguments, expected in CASES:
        expr = call(name, [literal(value) for value in arguments])
        if expr is None or not can_evaluate(expr):
            continue
        result = evaluate(expr, row).to_pylist()
        if _key(result[0]) != _key(expected):
            wrong.append(f"{name}{arguments} gave {result}, not {expected!r}")
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("+", (2**63 - 1, 1)),
        ("*", (2**62, 2)),
        ("/", (1, 0)),
        ("/", (1.0, 0.0)),
        ("%", (1, 0)),
        ("%", (1.0, 0.0)),
        ("to_timestamp_seconds", (2**62,)),
        ("to_timestamp", ("now",)),
        ("to_timestamp", ("2024-02-30",)),
        ("to_timestamp", (NAN,)),
    ],
)
def test_arrow_fails_where_spark_does(name: str, arguments: tuple[float | str, ...]) -> None:
    expr = call(name, [literal(value) for value in arguments])
    assert expr is not None
    with pytest.raises((pa.ArrowInvalid, DataError)):
        evaluate(expr, pa.record_batch({"one": [1]}))


@pytest.mark.parametrize(
    ("value", "kind"),
    [(300, TINY), (-1, UNSIGNED), (2**32, UNSIGNED), (1e19, types.BIGINT), (NAN, types.BIGINT), ("1.5", types.BIGINT)],
)
def test_a_cast_that_does_not_fit_fails(value: float | str, kind: types.Type) -> None:
    with pytest.raises((pa.ArrowInvalid, DataError)):
        evaluate(Cast(literal(value), kind), pa.record_batch({"one": [1]}))


def test_a_branch_that_is_not_taken_is_not_computed() -> None:
    rows = pa.record_batch({"n": pa.array([0, 2, None], pa.int64())})
    number = Column("n", types.BIGINT)
    case = Case(((_call("=", number, literal(0)), literal(0)),), _call("/", literal(6), number), types.BIGINT)

    assert evaluate(case, rows).to_pylist() == [0, 3, None]


def test_no_rows_give_no_values() -> None:
    rows = random_rows(1).slice(0, 0)
    assert [len(evaluate(expr, rows)) for expr in _expressions()] == [0] * len(_expressions())


@pytest.mark.parametrize(
    "expr",
    [
        Cast(Column("a", types.DOUBLE), types.TEXT),
        Cast(Column("a", types.Decimal(5, 2)), types.BIGINT),
        Cast(Column("a", types.TEXT), types.BIGINT, lenient=True),
        Call("upper", (Column("a", types.TEXT),), types.TEXT),
        Call("+", (Column("a", types.Decimal(5, 2)), Column("a", types.Decimal(5, 2))), types.Decimal(6, 2)),
        Call("+", (Column("a", DATE), Column("b", types.BIGINT)), DATE),
        Call("is_null", (Call("upper", (Column("a", types.TEXT),), types.TEXT),), types.BOOLEAN),
    ],
)
def test_function_without_a_kernel_is_reported(expr: Expr) -> None:
    assert not can_evaluate(expr)


def _expressions() -> list[Expr]:
    numbers = ("tiny", "small", "int", "big", "float", "double", "finite")
    exprs = [_call(name, _column(a), _column(b)) for name in ("+", "-", "*") for a in numbers for b in numbers]
    exprs += [_call(name, _column(a), _column("odd")) for name in ("/", "%") for a in ("tiny", "int", "wide")[:2]]
    exprs += [_call("%", _column("wide"), _column("odd"))]
    exprs += [_call(name, _column("finite"), _column("nonzero")) for name in ("/", "%")]
    exprs += [_call("negate", _column(name)) for name in (*numbers, "length")]
    exprs += [_call("-", _column("unsigned"), _column("unsigned")), _call("+", _column("unsigned"), _column("big"))]
    exprs += _about_time()
    exprs += _about_comparison()
    exprs += _about_casts()
    return exprs


def _about_time() -> list[Expr]:
    instant, then, length = _column("seen"), _column("then"), _column("length")
    exprs = [_call(name, instant, length) for name in ("+", "-")]
    exprs += [
        _call("-", instant, then),
        _call("+", length, instant),
        _call("+", length, length),
        _call("-", length, length),
    ]
    exprs += [_call("*", length, _column("int")), _call("*", _column("int"), length)]
    exprs += [_call("-", instant, literal(timedelta(seconds=5))), _call("-", instant, _column("day"))]
    exprs += [_call("date_trunc", literal(unit), instant) for unit in sorted(TRUNCATED_TO)]
    exprs += [_call("date_trunc", literal("hour"), _column("day"))]
    exprs += [_call("to_timestamp", _column(name)) for name in ("seen", "day", "int", "finite", "stamp")]
    exprs += [_call(f"to_timestamp_{unit}", _column("int")) for unit in ("seconds", "millis", "micros")]
    exprs += [_call("to_timestamp_nanos", _column("wide")), _call("from_unixtime", _column("big"))]
    exprs += [_call(name, instant) for name in ("epoch", "to_unixtime")] + [_call("epoch", length)]
    return exprs


def _about_comparison() -> list[Expr]:
    pairs = [("int", "big"), ("wide", "odd"), ("float", "double"), ("double", "finite"), ("text", "text")]
    pairs += [("seen", "then"), ("length", "length"), ("flag", "other"), ("seen", "day"), ("big", "double")]
    exprs = [_call(name, _column(a), _column(b)) for name in COMPARISONS for a, b in pairs]
    exprs += [_call(name, _column("flag"), _column("other"), literal(None)) for name in ("and", "or")]
    exprs += [_call(name, _column("flag"), _column("other")) for name in ("and", "or")]
    exprs += [_call(name, _column("flag")) for name in PREDICATES]
    exprs += [_call(name, _column(column)) for name in PREDICATES[:2] for column in ("pair", "seen", "text")]
    exprs += [_call("between", _column("double"), _column("float"), _column("finite"))]
    exprs += [
        _call("in", _column("big"), literal(1), literal(None), _column("tiny")),
        _call("in", _column("text"), literal("a")),
    ]
    exprs += [_call(name, _column(a), _column(b)) for name in ("coalesce", "nvl") for a, b in pairs]
    exprs += [_call("nvl2", _column("text"), _column("int"), _column("double"))]
    inside, number = Member(_column("pair"), "inside", types.TIMESTAMP), Member(_column("pair"), "number", types.BIGINT)
    exprs += [inside, _call("coalesce", inside, _column("seen")), _call("+", number, literal(1))]
    branches = ((_column("flag"), _column("seen")), (_column("other"), _column("then")))
    exprs += [Case(branches, None, types.TIMESTAMP), Case(branches, inside, types.TIMESTAMP)]
    return exprs


def _about_casts() -> list[Expr]:
    integers: Sequence[types.Type] = (TINY, SMALL, types.INT, types.BIGINT)
    numbers = (*integers, FLOAT, types.DOUBLE)
    exprs = [_cast(name, kind) for name in ("tiny", "big", "digits") for kind in numbers]
    exprs += [_cast("flag", kind) for kind in integers]
    exprs += [_cast(name, FLOAT) for name in ("wide", "double", "decimals")] + [_cast("float", types.DOUBLE)]
    exprs += [_cast("decimals", types.DOUBLE), _cast("finite", types.BIGINT), _cast("finite", types.INT)]
    exprs += [_cast(name, types.TEXT) for name in ("wide", "unsigned", "flag", "seen")]
    exprs += [
        _cast("seen", DATE),
        _cast("day", types.TIMESTAMP),
        _cast("seen", types.BIGINT),
        _cast("wide", types.TIMESTAMP),
    ]
    exprs += [_cast("stamp", types.TIMESTAMP), Cast(_column("rough"), types.TIMESTAMP, lenient=True)]
    exprs += [_cast("int", types.BOOLEAN), _cast("unsigned", types.Integer(64, signed=False))]
    return exprs


def _column(name: str) -> Column:
    return Column(name, COLUMNS[name][0])


def _call(name: str, *arguments: Expr) -> Expr:
    expr = call(name, arguments)
    assert expr is not None, (name, arguments)
    return expr


def _cast(name: str, kind: types.Type) -> Expr:
    expr = cast(_column(name), kind)
    assert expr is not None
    return expr


def random_rows(seed: int) -> pa.RecordBatch:
    chance = random.Random(seed)
    schema = arrow_schema(Schema(tuple(Field(name, kind) for name, (kind, _) in COLUMNS.items())))
    values = [[_maybe(chance, make) for _ in range(ROWS)] for _, make in COLUMNS.values()]
    return pa.record_batch(
        [pa.array(column, kind) for column, kind in zip(values, schema.types, strict=True)], schema=schema
    )


def _plain(values: pa.Array) -> list[object]:
    if pa.types.is_temporal(values.type):
        values = values.cast(pa.int32() if pa.types.is_date(values.type) else pa.int64())
    return [_key(value) for value in values.to_pylist()]


def _key(value: object) -> object:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def _first_difference(rows: pa.RecordBatch, result: pa.Array, spark_result: pa.Array) -> str:
    if result.type != spark_result.type:
        return f"{result.type} is not {spark_result.type}"
    pairs = zip(_plain(result), _plain(spark_result), strict=True)
    return next(f"row {index}: arrow {a!r}, spark {b!r}" for index, (a, b) in enumerate(pairs) if a != b)
