"""What reaches Spark's parser: names, constants, casts, failures."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - everybody calls it F

from engine import types
from engine.errors import TooLargeError, UnusableNameError
from engine.functions import FUNCTIONS
from engine.plan.expressions.calls import call, cast
from engine.plan.expressions.expr import Call, Case, Cast, Column, Expr, Literal, Member, Value, walk
from engine.spark.printers.calls import FORMS
from engine.spark.printers.expressions import to_sql
from engine.spark.printers.literals import quote_name
from engine.spark.spark_types import to_spark
from engine.spark.workers.register_functions import register_calls
from tests.functions.cases.values import INF, NAN, at, decimal, literal, seconds, small, typed, unsigned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FLOAT = types.Float(32)
TEXTS = (
    "",
    "plain",
    "it's",
    'a "b"',
    "\\",
    "\\'",
    "\\u0041\\n\\%",
    "${env:PATH}",
    "${spark.app.name}",
    "$",
    "é🙂\u2028",
    "\0",
)
CONSTANTS: tuple[tuple[Value, types.Type], ...] = (
    *((text, types.TEXT) for text in TEXTS),
    *((number, types.BIGINT) for number in (0, -1, 2**63 - 1, -(2**63))),
    *((number, types.INT) for number in (2**31 - 1, -(2**31))),
    (-128, types.Integer(8)),
    (-32768, types.Integer(16)),
    (255, types.Integer(8, signed=False)),
    (65535, types.Integer(16, signed=False)),
    (4294967295, types.Integer(32, signed=False)),
    (2**63 - 1, types.Integer(64, signed=False)),
    *((number, types.DOUBLE) for number in (0.1, -1.5, 1e300, 5e-324, INF, -INF)),
    (0.5, FLOAT),
    (INF, FLOAT),
    (Decimal("-123.450"), types.Decimal(10, 3)),
    (Decimal("1e-10"), types.Decimal(38, 10)),
    (True, types.BOOLEAN),
    (False, types.BOOLEAN),
    (b"", types.Bytes()),
    (b"\x00\xff'", types.Bytes()),
    (at("2024-02-29T23:59:59.999999"), types.TIMESTAMP),
    (at("0002-01-01T00:00:00"), types.TIMESTAMP),
    (at("9999-12-31T23:59:59.999999"), types.TIMESTAMP),
    (date(1, 1, 1), types.Date()),
    (date(9999, 12, 31), types.Date()),
    *((seconds(length), types.Interval()) for length in (0, 0.000001, -0.000001, -86401.5, 1e9)),
    (timedelta(days=106751990), types.Interval()),
    *((None, kind) for kind in (types.TEXT, types.Interval(), types.WINDOW, types.Array(types.INT), types.Json())),
)

CASTS: tuple[tuple[Value | Literal, types.Type, object], ...] = (
    (1.9, types.BIGINT, 1),
    (-1.9, types.INT, -1),
    (decimal("1.9", 3, 1), types.BIGINT, 1),
    (decimal("1.25", 3, 2), types.Decimal(3, 1), Decimal("1.3")),
    (300, types.Integer(16), 300),
    (255, types.Integer(8, signed=False), 255),
    ("255", types.Integer(8, signed=False), 255),
    (unsigned(7, 32), types.Integer(64, signed=False), 7),
    (" 12 ", types.BIGINT, 12),
    ("1.5", types.DOUBLE, 1.5),
    ("inf", types.DOUBLE, INF),
    ("t", types.BOOLEAN, True),
    (1, types.BOOLEAN, True),
    (True, types.INT, 1),
    (True, types.TEXT, "true"),
    (12, types.TEXT, "12"),
    (1e7, types.TEXT, "10000000.0"),
    (0.001, types.TEXT, "0.001"),
    (0.0001, types.TEXT, "0.0001"),
    (-123456789.125, types.TEXT, "-123456789.125"),
    (1e16, types.TEXT, "1e16"),
    (1.5e-7, types.TEXT, "1.5e-7"),
    (-INF, types.TEXT, "-inf"),
    (NAN, types.TEXT, "NaN"),
    (typed(0.1, FLOAT), types.TEXT, "0.1"),
    (typed(16777216.0, FLOAT), types.TEXT, "16777216.0"),
    (at("2024-01-02T03:04:05"), types.TEXT, "2024-01-02T03:04:05"),
    (at("2024-01-02T03:04:05"), types.Date(), date(2024, 1, 2)),
    (date(2024, 1, 2), types.TIMESTAMP, at("2024-01-02T00:00:00")),
    (date(2024, 1, 2), types.TEXT, "2024-01-02"),
    ("2024-01-02 03:04", types.TIMESTAMP, at("2024-01-02T03:04:00")),
    ("2024-01-02T03:04:05.5Z", types.TIMESTAMP, at("2024-01-02T03:04:05.500000")),
    ("2024-01-02", types.Date(), date(2024, 1, 2)),
    (at("1970-01-01T00:00:01"), types.BIGINT, 1_000_000_000),
    (1_000_000_001, types.TIMESTAMP, at("1970-01-01T00:00:01")),
    (-1, types.TIMESTAMP, at("1969-12-31T23:59:59.999999")),
    ("é", types.Bytes(), "é".encode()),
    ("é".encode(), types.TEXT, "é"),
    ("{}", types.Json(), "{}"),
    (None, types.TIMESTAMP, None),
)

FAILING: tuple[tuple[str, tuple[Value | Expr, ...]], ...] = (
    ("+", (2**63 - 1, 1)),
    ("+", (small(2**31 - 1), small(1))),
    ("-", (-(2**63), 1)),
    ("*", (2**62, 2)),
    ("/", (1, 0)),
    ("/", (1.0, 0)),
    ("/", (-(2**63), -1)),
    ("%", (1, 0)),
    ("negate", (Cast(literal(-(2**63)), types.BIGINT),)),
    ("abs", (-(2**63),)),
    ("split_part", ("a", ",", 0)),
    ("make_date", (2023, 2, 29)),
    ("to_timestamp", ("now",)),
    ("to_timestamp", ("12:30:00",)),
    ("to_timestamp", ("2024",)),
    ("chr", (-1,)),
    ("factorial", (21,)),
    ("decode", ("invalid", "base64")),
    ("decode", ("dG9tbXk", "base64pad")),
    ("decode", ("d!9t", "base64")),
    ("decode", ("616", "hex")),
    ("to_timestamp", ("2024-05-17", "%d.%m.%Y")),
    ("to_timestamp", ("Fri 2024-05-16", "%a %F")),
    ("to_timestamp", ("2024-05", "%Y-%m")),
    ("to_timestamp", ("2024-05-17", "%d/%m/%Y")),
    ("to_date", ("2024-02-30", "%F")),
    ("power", (2, 63)),
    ("power", (2, -1)),
    ("power", (3, 10**9)),
    ("gcd", (-(2**63), 0)),
    ("lcm", (2**62, 3)),
)

FAILING_CASTS: tuple[tuple[Value | Literal, types.Type], ...] = (
    (-1, types.Integer(64, signed=False)),
    (256, types.Integer(8, signed=False)),
    (2**32, types.Integer(32, signed=False)),
    (128, types.Integer(8)),
    ("1.5", types.BIGINT),
    ("x", types.DOUBLE),
    ("x", types.BOOLEAN),
    ("today", types.Date()),
    ("yesterday", types.TIMESTAMP),
    (NAN, types.BIGINT),
    (b"\xff", types.TEXT),
    (1000.0, types.Decimal(3, 1)),
)


@pytest.mark.parametrize("keep_backslashes", ["true", "false"])
def test_constants_come_back_as_they_were(spark: SparkSession, keep_backslashes: str) -> None:
    spark.conf.set("spark.sql.parser.escapedStringLiterals", keep_backslashes)
    try:
        frame = _select(spark, [Literal(value, kind) for value, kind in CONSTANTS])
        values = [_plain(value) for value in frame.collect()[0]]
    finally:
        spark.conf.unset("spark.sql.parser.escapedStringLiterals")

    assert values == [value for value, _ in CONSTANTS]
    assert _types(frame) == [to_spark(kind).simpleString() for _, kind in CONSTANTS]


@pytest.mark.parametrize(
    "name", ["plain", "with space", "a.b", "tick`tick", "'quote'", "é🙂", "$", "select", "back\\slash", "{0}"]
)
def test_any_name_names_its_column(spark: SparkSession, name: str) -> None:
    frame = spark.createDataFrame([(1, (2,))], f"{quote_name(name)} BIGINT, s STRUCT<{quote_name(name)}: BIGINT>")
    whole = types.Struct((types.Member(name, types.BIGINT),))
    total = call("+", [Column(name, types.BIGINT), Member(Column("s", whole), name, types.BIGINT)])

    assert total is not None
    assert frame.select(F.expr(to_sql(total))).collect()[0][0] == 3


@pytest.mark.parametrize("name", ["${env:HOME}", "a${spark.app.name}"])
def test_a_name_that_spark_would_look_up_is_refused(name: str) -> None:
    with pytest.raises(UnusableNameError):
        to_sql(Column(name, types.BIGINT))


def test_casts_follow_the_reference_engine(spark: SparkSession) -> None:
    expressions = [_cast(value, kind) for value, kind, _ in CASTS]
    frame = _select(spark, expressions)

    results = [_plain(value) for value in frame.collect()[0]]
    wrong = [
        (value, str(kind), result, expected)
        for (value, kind, expected), result in zip(CASTS, results, strict=True)
        if result != expected
    ]
    assert wrong == []
    assert _types(frame) == [to_spark(expr.type).simpleString() for expr in expressions]


@pytest.mark.parametrize(("value", "kind"), FAILING_CASTS, ids=str)
def test_a_cast_that_does_not_fit_fails_or_gives_null_when_lenient(
    spark: SparkSession, value: Value | Literal, kind: types.Type
) -> None:
    with pytest.raises(PySparkException):
        _select(spark, [_cast(value, kind)]).collect()
    assert _select(spark, [_cast(value, kind, lenient=True)]).collect()[0][0] is None


@pytest.mark.parametrize(("name", "arguments"), FAILING, ids=str)
def test_computation_without_a_result_fails(
    spark: SparkSession, name: str, arguments: tuple[Value | Expr, ...]
) -> None:
    expr = call(name, [value if isinstance(value, Literal | Cast) else literal(value) for value in arguments])

    assert expr is not None
    with pytest.raises(PySparkException):
        _select(spark, [expr]).collect()


def test_case_takes_the_first_true_branch_and_computes_no_other(spark: SparkSession) -> None:
    number = Column("id", types.BIGINT)
    is_zero, quotient = call("=", [number, literal(0)]), call("/", [literal(6), number])
    assert is_zero is not None
    assert quotient is not None
    case = Case(((is_zero, literal(-1)),), quotient, types.BIGINT)
    without = Case(((is_zero, literal("zero")),), None, types.TEXT)

    rows = spark.range(3).select(F.expr(to_sql(case)), F.expr(to_sql(without))).collect()

    assert [tuple(row) for row in rows] == [(-1, "zero"), (6, None), (3, None)]


def test_a_kernel_without_an_answer_fails_only_where_it_is_asked_for(spark: SparkSession) -> None:
    number = Column("id", types.BIGINT)
    is_zero, multiple = call("=", [number, literal(0)]), call("lcm", [number, literal(2**62)])
    assert is_zero is not None
    assert isinstance(multiple, Call)
    register_calls(spark, [multiple])
    rows = spark.createDataFrame([(0,), (3,)], "id BIGINT")

    guarded = Case(((call("not", [is_zero]) or is_zero, literal(-1)),), multiple, types.BIGINT)
    assert [row[0] for row in rows.select(F.expr(to_sql(guarded))).collect()] == [0, -1]
    with pytest.raises(PySparkException, match="lcm has no answer for 3"):
        rows.select(F.expr(to_sql(multiple))).collect()


def test_an_expression_that_would_never_end_is_refused() -> None:
    nested: Expr = Column("a", types.DOUBLE)
    for _ in range(100):
        nested = call("floor", [nested]) or nested

    with pytest.raises(TooLargeError):
        to_sql(nested)


def test_forms_are_of_declared_functions() -> None:
    assert set(FORMS) <= set(FUNCTIONS)


def _cast(value: Value | Literal, kind: types.Type, *, lenient: bool = False) -> Expr:
    expression = cast(literal(value), kind, lenient=lenient)
    assert expression is not None
    return expression


def _select(spark: SparkSession, expressions: list[Expr]) -> DataFrame:
    register_calls(spark, [part for expr in expressions for part in walk(expr) if isinstance(part, Call)])
    return spark.range(1).select([F.expr(to_sql(expr)).alias(f"c{index}") for index, expr in enumerate(expressions)])


def _types(frame: DataFrame) -> list[str]:
    return [field.dataType.simpleString() for field in frame.schema]


def _plain(value: object) -> object:
    match value:
        case bytearray():
            return bytes(value)
        case datetime():
            return value.astimezone(UTC)
        case float() if value != value:
            return "NaN"
    return value
