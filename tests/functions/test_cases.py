"""Every function, in every way the tables know, on Spark: folded by its optimiser, and computed from columns."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import Row
from pyspark.sql import functions as F  # noqa: N812 - everybody calls it F

from engine import types
from engine.arrow.functions import FUNCTION_KERNELS
from engine.functions import FUNCTIONS, find_function
from engine.plan.expressions.calls import call
from engine.plan.expressions.expr import Call, Column, Expr, Literal, rewrite
from engine.spark.printers.expressions import to_sql
from engine.spark.spark_types import to_spark
from engine.spark.workers.register_functions import register_calls
from tests.functions.cases import CASES
from tests.functions.cases.values import literal

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import SparkSession


UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


def test_every_function_and_alias_has_a_case_with_and_without_null() -> None:
    called = {name for name, _, _ in CASES}
    with_null = {find_function(name) for name, arguments, _ in CASES if _has_null(arguments)}

    settled = [function for function in FUNCTIONS.values() if function.deterministic]
    names = {name for function in settled for name in (function.name, *function.aliases)}
    assert called == names
    assert [function.name for function in settled if function not in with_null] == ["pi"]


def test_functions_of_chance_give_something_else_for_each_row(spark: SparkSession) -> None:
    columns = [F.expr(to_sql(call(name, []) or literal(None))) for name in ("random", "uuid")]
    rows = spark.range(100).select(*columns).collect()

    assert len({number for number, _ in rows}) == len({text for _, text in rows}) == 100
    assert all(0 <= number < 1 and re.fullmatch(UUID, text) for number, text in rows)


def test_every_case_fits_the_function_it_calls() -> None:
    assert [case for case in CASES if call(case[0], [literal(value) for value in case[1]]) is None] == []


@pytest.fixture(scope="module")
def kernels(spark: SparkSession) -> None:
    register_calls(spark, [expr for expr in _expressions() if isinstance(expr, Call)])


def test_a_format_may_be_a_column(spark: SparkSession) -> None:
    written = call("to_char", [Column("at", types.TIMESTAMP), Column("format", types.TEXT)])
    assert isinstance(written, Call)
    register_calls(spark, [written])
    rows = spark.sql("SELECT TIMESTAMP'2024-05-17 13:00:00' AS at, format FROM VALUES ('%H'), ('YYYY') AS t(format)")

    assert [row[0] for row in rows.select(F.expr(to_sql(written))).collect()] == ["13", "2024"]


def test_clocks_give_the_time_of_the_query(spark: SparkSession) -> None:
    before = datetime.now(UTC)
    columns = [F.expr(to_sql(call(name, []) or literal(None))) for name in ("now", "current_date", "current_time")]
    now, today, time = spark.range(1).select(*columns).collect()[0]

    assert before <= now.astimezone(UTC) <= datetime.now(UTC)
    assert (today, time) == (now.astimezone(UTC).date(), now.astimezone(UTC).strftime("%H:%M:%S.%f"))


def test_every_function_that_is_computed_has_its_kernel() -> None:
    assert {name for name, function in FUNCTIONS.items() if function.is_computed} == set(FUNCTION_KERNELS)


@pytest.mark.usefixtures("kernels")
def test_constants_give_what_the_tables_say(spark: SparkSession) -> None:
    frame = spark.range(1).select([_column(index, expr) for index, expr in enumerate(_expressions())])

    assert _differences(frame.collect()[0]) == []


@pytest.mark.usefixtures("kernels")
def test_results_have_the_declared_types(spark: SparkSession) -> None:
    expressions = _expressions()
    frame = spark.range(1).select([_column(index, expr) for index, expr in enumerate(expressions)])

    kinds = [field.dataType for field in frame.schema]
    wrong = [
        (CASES[index], kind.simpleString())
        for index, (expr, kind) in enumerate(zip(expressions, kinds, strict=True))
        if to_spark(expr.type).simpleString() != kind.simpleString()
    ]
    assert wrong == []


@pytest.mark.usefixtures("kernels")
def test_columns_give_what_the_tables_say(spark: SparkSession, tmp_path: Path) -> None:
    constants: dict[str, Literal] = {}
    expressions = [_over_columns(expr, constants) for expr in _expressions()]
    register_calls(spark, [expr for expr in expressions if isinstance(expr, Call)])
    path = str(tmp_path / "constants")
    stored = spark.range(1).select([F.expr(to_sql(value)).alias(name) for name, value in constants.items()])
    stored.write.parquet(path)

    frame = spark.read.parquet(path).select([_column(index, expr) for index, expr in enumerate(expressions)])

    assert _differences(frame.collect()[0]) == []


def test_not_null_function_never_returns_null() -> None:
    broken = [
        (name, arguments)
        for (name, arguments, expected), expr in zip(CASES, _expressions(), strict=True)
        if expected is None and isinstance(expr, Call) and not expr.nullable
    ]
    assert broken == []


@pytest.mark.parametrize("name", ["reflect", "java_method", "transform", "raise_error", "input_file_name", "shuffle"])
def test_undeclared_function_cannot_be_called(name: str) -> None:
    assert call(name, [literal("a"), literal("b")]) is None
    # whatever is not ours can only be the user's own, under a name that is no function of Spark's
    assert to_sql(Call(name, (literal("a"),), literal("a").type)) == f"arroyo_own_{name}('a')"


def _expressions() -> list[Expr]:
    expressions = [call(name, [literal(value) for value in arguments]) for name, arguments, _ in CASES]
    return [expr for expr in expressions if expr is not None]


def _column(index: int, expr: Expr) -> SparkColumn:
    return F.expr(to_sql(expr)).alias(f"c{index}")


def _over_columns(expr: Expr, constants: dict[str, Literal]) -> Expr:
    """The expression with columns for all constants, except those that have to be constants."""
    if not isinstance(expr, Call):
        return expr
    function = FUNCTIONS[expr.function]

    def stored(part: Expr) -> Expr:
        if not isinstance(part, Literal):
            return part
        name = f"a{len(constants)}"
        constants[name] = part
        return Column(name, part.type)

    arguments = (
        argument if position in function.choices else rewrite(argument, stored)
        for position, argument in enumerate(expr.arguments)
    )
    return Call(expr.function, tuple(arguments), expr.type, expr.nullable)


def _differences(row: tuple[object, ...]) -> list[str]:
    return [
        f"{name}{arguments} gave {result!r}, not {expected!r}"
        for (name, arguments, expected), result in zip(CASES, map(_plain, row), strict=True)
        if not _same(result, expected)
    ]


def _plain(value: object) -> object:
    match value:
        case bytearray():
            return bytes(value)
        case datetime():
            return value.astimezone(UTC)
        case Row():
            return {name: _plain(member) for name, member in value.asDict().items()}
        case list():
            return [_plain(element) for element in value]
    return value


def _same(result: object, expected: object) -> bool:
    if isinstance(result, float) and isinstance(expected, float):
        both_nan = math.isnan(result) and math.isnan(expected)
        return both_nan or math.isclose(result, expected, rel_tol=1e-14, abs_tol=1e-300)
    return type(result) is type(expected) and result == expected


def _has_null(arguments: tuple[object, ...]) -> bool:
    return any(value is None or (isinstance(value, Literal) and value.value is None) for value in arguments)
