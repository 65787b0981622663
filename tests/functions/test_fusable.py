"""What may be computed in the task of a source gives what Spark gives, in any combination."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 - everybody calls it F

from engine import types
from engine.arrow.evaluate import evaluate
from engine.plan.expressions.calls import call, cast
from engine.plan.expressions.expr import Call, Case, Column, Expr, Literal, Member, walk
from engine.plan.placement.whole import is_fusable
from engine.spark.printers.expressions import to_sql
from engine.spark.workers.register_functions import register_calls
from tests.functions.cases.values import INF, NAN, literal
from tests.functions.test_evaluate import COLUMNS, random_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXPRESSIONS = 300
INTEGERS = ("tiny", "small", "int", "big", "wide", "odd")
FLOATS = ("float", "double", "finite", "nonzero")
CONSTANTS = (0, 1, -1, 7, 123, -3, 2**31, 2**63 - 1, -(2**63) + 1)
FRACTIONS = (0.0, -0.0, 0.5, -2.25, 1e300, NAN, INF, -INF)
DOCUMENTS = (
    *('{"a": 1, "b": "x", "c": [true, 1.5e3, null], "a": 2}', '{"a": -7, "b": "a", "c": [false]}', '{"b": null}'),
    *('{"a": 1e400, "b": "\\ud83d", "c": [NaN]}', '{"a": 9223372036854775808, "c": [-0.0]}', "[1, 2", "", "null", None),
)
"""JSON, and what is none: names that are there twice, numbers that no type holds, half of a character."""
COMPARED = ("=", "<>", "<", "<=", ">", ">=", "is_distinct_from", "is_not_distinct_from")


def test_random_conditions_give_what_spark_gives(spark: SparkSession) -> None:
    chance = random.Random(15)
    conditions = [_condition(chance, 3) for _ in range(EXPRESSIONS)]
    assert [to_sql(condition) for condition in conditions if not is_fusable(condition)] == []
    rows = random_rows(21)
    rows = rows.append_column("doc", pa.array([chance.choice(DOCUMENTS) for _ in range(rows.num_rows)]))
    register_calls(spark, (part for condition in conditions for part in walk(condition) if isinstance(part, Call)))

    selected = [F.expr(to_sql(condition)).alias(f"c{index}") for index, condition in enumerate(conditions)]
    frame = spark.createDataFrame(pa.Table.from_batches([rows]))
    expected = [frame.select(selected[low : low + 100]).toArrow() for low in range(0, EXPRESSIONS, 100)]

    wrong = []
    for index, condition in enumerate(conditions):
        spark_result = expected[index // 100].column(index % 100).combine_chunks().to_pylist()
        if evaluate(condition, rows).to_pylist() != spark_result:
            wrong.append(to_sql(condition))
    assert wrong == []


def _condition(chance: random.Random, depth: int) -> Expr:
    if depth == 0:
        return _comparison(chance, 0)
    return chance.choice([_comparison, _connected, _connected, _denied, _chosen])(chance, depth - 1)


def _connected(chance: random.Random, depth: int) -> Expr:
    return _call(chance.choice(["and", "or"]), *(_condition(chance, depth) for _ in range(chance.randint(2, 3))))


def _denied(chance: random.Random, depth: int) -> Expr:
    names = ("not", "is_null", "is_not_null", "is_true", "is_not_true", "is_false", "is_not_false")
    return _call(chance.choice(names), _condition(chance, depth))


def _chosen(chance: random.Random, depth: int) -> Expr:
    tested, then, otherwise = (_condition(chance, depth) for _ in range(3))
    default = chance.choice([otherwise, None])
    return chance.choice([Case(((tested, then),), default, types.BOOLEAN), _call("coalesce", tested, otherwise)])


def _comparison(chance: random.Random, _: int) -> Expr:
    kind = chance.choice([_number, _number, _fraction, _text, _instant, _flag, _length])
    if chance.random() < 0.2:
        return _call("between", kind(chance), kind(chance), kind(chance))
    if chance.random() < 0.2 and kind is not _fraction:
        choices = [kind(chance) for _ in range(chance.choice([2, 3, 12]))]
        return _call("in", kind(chance), *choices, *([literal(None)] * chance.randint(0, 1)))
    if chance.random() < 0.2:
        return _call("is_null", kind(chance))
    return _call(chance.choice(COMPARED), kind(chance), kind(chance))


def _number(chance: random.Random) -> Expr:
    match chance.randint(0, 5):
        case 0:
            return literal(chance.choice(CONSTANTS))
        case 3:
            return _of_json(chance, "json_get_int", "json_length")
        case 1:
            divisor = chance.choice([number for number in CONSTANTS if number])
            return _call("%", _column(chance.choice(INTEGERS)), literal(divisor))
        case 2:
            return Member(_column("pair"), "number", types.BIGINT)
    return _column(chance.choice(INTEGERS))


def _fraction(chance: random.Random, depth: int = 2) -> Expr:
    match chance.randint(0, 4):
        case 0:
            return literal(chance.choice(FRACTIONS))
        case 1 if depth:
            sides = _fraction(chance, depth - 1), _fraction(chance, depth - 1)
            return _call(chance.choice(["+", "-", "*"]), *sides)
        case 2:
            widened = cast(_column(chance.choice(["tiny", "big", "wide"])), types.DOUBLE)
            assert widened is not None
            return widened
        case 3 if depth:
            return _call("negate", _fraction(chance, depth - 1))
    return _column(chance.choice(FLOATS))


def _text(chance: random.Random) -> Expr:
    if chance.random() < 0.3:
        return _of_json(chance, "json_get_str", "json_as_text")
    return chance.choice(
        [_column("text"), _column("stamp"), literal(chance.choice(["", "a", "é", "a ", "2024-01-02"]))]
    )


def _instant(chance: random.Random) -> Expr:
    texts = ("2024-01-02", "1969-12-31 23:59:59.999999", "2024-01-02T03:04:05.25+02:00", "1900-05-06 07:08:09")
    constant = cast(literal(chance.choice(texts)), types.TIMESTAMP)
    assert constant is not None
    return chance.choice([_column("seen"), _column("then"), constant])


def _flag(chance: random.Random) -> Expr:
    return chance.choice([_column("flag"), _column("other"), literal(True), Literal(None, types.BOOLEAN)])


def _of_json(chance: random.Random, *functions: str) -> Expr:
    document = cast(Column("doc", types.TEXT), types.JSON)
    assert document is not None
    keys = chance.choice([("a",), ("b",), ("c", 0), ("c", 1), ("d", "e")])
    return _call(chance.choice(functions), document, *map(literal, keys))


def _length(_: random.Random) -> Expr:
    return _column("length")


def _column(name: str) -> Column:
    return Column(name, COLUMNS[name][0])


def _call(name: str, *arguments: Expr) -> Expr:
    expr = call(name, arguments)
    assert expr is not None, (name, arguments)
    return expr
