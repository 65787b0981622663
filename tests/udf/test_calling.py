"""What the user's functions are called with and what becomes of their answers, without Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from engine.errors import EngineError
from engine.udf.calling import aggregate_lists, call_udf
from engine.udf.declared import Udf, UdfFile
from engine.udf.reading import read_udfs

HEAD = """
import asyncio, decimal, sys
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Iterator, NamedTuple, TypedDict
import pyarrow as pa
import pyarrow.compute as pc
from engine.udf import udf, udaf, udtf
CALLS = []
"""


def read(text: str) -> Udf:
    return next(iter(read_udfs([UdfFile("own.py", HEAD + text)]).by_name.values()))


def call(text: str, *columns: pa.Array, when: pa.Array | None = None) -> list[object]:
    return list(call_udf(read(text), columns, when).to_pylist())


def failure(text: str, *columns: pa.Array) -> str:
    with pytest.raises(EngineError) as refused:
        call(text, *columns)
    return f"{refused.value.code} {refused.value.message}"


INTS = pa.array([1, None, 3])
COUNT = "@udf\ndef f(x: int) -> int:\n  CALLS.append(x)\n  return len(CALLS)\n"


def test_null_for_a_parameter_that_takes_none_gives_null_without_a_call() -> None:
    assert call(COUNT, INTS) == [1, None, 2]


def test_an_optional_parameter_gets_none() -> None:
    assert call("@udf\ndef f(x: int | None) -> bool: return x is None", INTS) == [False, True, False]


def test_only_rows_that_are_wanted_are_called() -> None:
    when = pa.array([False, True, True])

    assert call(COUNT + "#", pa.array([1, 2, 3]), when=when) == [None, 1, 2]
    assert call(COUNT + "##", pa.array([1, 2, 3]), when=pa.array([None, False, False], pa.bool_())) == [None] * 3


def test_a_vectorized_function_never_sees_null_unless_it_asks() -> None:
    plus = "@udf(vectorized=True)\ndef f(x: int) -> int:\n  assert not x.null_count\n  return pc.add(x, 1)"
    text = "@udf(vectorized=True)\ndef f(x: int | None) -> bool: return x.is_valid()"

    assert call(plus, INTS) == [2, None, 4]
    assert call(text, INTS) == [True, False, True]


def test_an_empty_batch_gives_an_empty_answer() -> None:
    assert call("@udf\ndef f(x: int) -> int: return x", pa.array([], pa.int64())) == []


def test_times_are_aware_and_naive_answers_are_utc() -> None:
    noon = datetime(2024, 5, 1, 12, tzinfo=UTC)
    times = pa.array([noon], pa.timestamp("us", tz="UTC"))

    assert call("@udf\ndef f(x: datetime) -> datetime: return x.replace(hour=13)", times) == [noon.replace(hour=13)]
    assert call("@udf\ndef f(x: datetime) -> datetime: return x.replace(tzinfo=None)", times) == [noon]


def test_decimals_structs_and_lists_go_both_ways() -> None:
    money = pa.array([Decimal("1.50")], pa.decimal128(10, 2))
    points = pa.array([{"x": 1, "y": "a"}])
    tuples = "class P(NamedTuple):\n  x: int\n  y: str\n"
    classes = "@dataclass\nclass P:\n  x: int\n  y: str\n"
    dicts = "class P(TypedDict):\n  x: int\n  y: str\n"

    assert call("@udf\ndef f(x: Decimal) -> Decimal: return x * 2", money) == [Decimal("3.0000000000")]
    assert call(tuples + "@udf\ndef f(p: P) -> P: return P(p.x + 1, p.y)", points) == [{"x": 2, "y": "a"}]
    assert call(classes + "@udf\ndef f(p: P) -> P: return P(p.x + 1, p.y)", points) == [{"x": 2, "y": "a"}]
    assert call(dicts + "@udf\ndef f(p: P) -> P: return {**p, 'x': 7}", points) == [{"x": 7, "y": "a"}]
    assert call("@udf\ndef f(x: list[int]) -> list[str]: return [str(i) for i in x]", pa.array([[1, 2]])) == [
        ["1", "2"]
    ]


def test_classes_in_classes_and_in_lists_are_structs_too() -> None:
    text = "class P(NamedTuple):\n  x: int\n@dataclass\nclass Q:\n  p: P\n  all: list[P]\n"
    struct = {"p": {"x": 1}, "all": [{"x": 2}, None]}

    assert call(text + "@udf\ndef f(x: int) -> Q: return Q(P(1), [P(2), None])", INTS) == [struct, None, struct]
    assert call(text + "@udf\ndef f(x: int) -> list[P]: return [P(x)]", INTS) == [[{"x": 1}], None, [{"x": 3}]]


def test_async_answers_come_in_the_order_of_the_rows() -> None:
    slow = "@udf\nasync def f(x: int) -> int:\n  await asyncio.sleep((3 - x) / 100)\n  return x * 2"

    assert call(slow, pa.array([1, 2, 3])) == [2, 4, 6]


def test_no_more_async_calls_are_under_way_than_are_allowed() -> None:
    text = """
NOW = [0]
@udf(max_in_flight=2)
async def f(x: int) -> int:
    NOW[0] += 1
    seen = NOW[0]
    await asyncio.sleep(0)
    NOW[0] -= 1
    return seen
"""
    assert set(call(text, pa.array(range(10)))) == {1, 2}


def test_an_async_call_that_takes_too_long_gives_null_or_stops_the_run() -> None:
    body = "async def f(x: int) -> int:\n  await asyncio.sleep(0 if x else 60)\n  return x"

    assert call(f"@udf(timeout='20ms', on_timeout='null')\n{body}", pa.array([0, 1])) == [None, 1]
    assert (
        failure(f"@udf(timeout='20ms')\n{body}", pa.array([0, 1]))
        == "udf.timeout f, own.py:12: the call takes longer than 0.02 s"
    )


def test_an_exception_is_reported_with_its_line_and_cut_short() -> None:
    assert failure("@udf\ndef f(x: int) -> int:\n  y = x\n  return y / 0", INTS) == (
        "udf.failed f, own.py:14: ZeroDivisionError: division by zero"
    )
    long = failure("@udf\ndef f(x: int) -> int: raise ValueError('many\\nwords ' * 1000)", INTS)
    assert long.startswith("udf.failed f, own.py:12: ValueError: many words many")
    assert len(long) < 400
    assert (
        failure("@udf\nasync def f(x: int) -> int: raise OSError('gone')", INTS)
        == "udf.failed f, own.py:12: OSError: gone"
    )
    assert failure("@udf\ndef f(x: int) -> int: sys.exit(3)", INTS) == "udf.failed f, own.py:12: SystemExit: 3"
    assert failure("@udf(vectorized=True)\ndef f(x: int) -> int: return x.nothing", INTS).startswith(
        "udf.failed f, own.py:12: AttributeError"
    )


WRONG = [
    (
        "@udf\ndef f(x: int) -> int: return 'secret'",
        "the function returned a value of type str, which cannot be converted to int64",
    ),
    (
        "@udf\ndef f(x: int) -> int: return 2 ** 70",
        "the function returned a value of type int, which cannot be converted to int64",
    ),
    ("@udf\ndef f(x: int) -> int: return None", "the function returned None, but its result is not Optional"),
    (
        "@udf(vectorized=True)\ndef f(x: int) -> int: return 5",
        "the function returned int, which is not a pyarrow Array",
    ),
    ("@udf(vectorized=True)\ndef f(x: int) -> int: return x[:0]", "the function returned 0 values for 2 rows"),
    (
        "@udf(vectorized=True)\ndef f(x: int) -> int: return pa.array(['a', 'b'])",
        "the function returned string, which cannot be converted to BIGINT",
    ),
]


@pytest.mark.parametrize(("text", "complaint"), WRONG, ids=[text for text, _ in WRONG])
def test_an_answer_of_another_type_is_named_without_its_value(text: str, complaint: str) -> None:
    assert failure(text, INTS) == f"udf.result f, own.py:12: {complaint}"


def test_a_file_that_raises_while_it_is_loaded_is_named() -> None:
    assert failure("@udf\ndef f(x: int) -> int: ...\n1 / 0", INTS) == (
        "udf.load own.py:13: ZeroDivisionError: division by zero"
    )
    assert failure("@udf\ndef f(x: int) -> int: ...\ndel f", INTS).startswith("udf.load own.py: f no longer exists")


def test_a_table_function_may_be_a_generator_a_list_or_give_nothing() -> None:
    assert call("@udtf\ndef f(x: int) -> Iterator[int]:\n  yield from range(x)", INTS) == [[0], None, [0, 1, 2]]
    assert call("@udtf\ndef f(x: int) -> list[str]:\n  if x > 1: return ['a']", INTS) == [[], None, ["a"]]


ONE = pa.array([[{"a": 3}, {"a": None}], [{"a": 5}], []])
GROUPS = pa.array([[{"a": 3, "b": 1}, {"a": None, "b": 2}], [{"a": 5, "b": None}], []])


def test_an_aggregate_gets_the_values_of_a_group_without_nulls() -> None:
    assert aggregate_lists(read("@udaf\ndef f(a: list[int]) -> str: return str(a)"), ONE).to_pylist() == [
        "[3]",
        "[5]",
        "[]",
    ]


def test_an_aggregate_that_takes_none_sees_every_row() -> None:
    aggregate = read("@udaf\ndef f(a: list[int | None], b: list[int]) -> str: return f'{a} {b}'")

    assert aggregate_lists(aggregate, GROUPS).to_pylist() == ["[3, None] [1, 2]", "[] []", "[] []"]


def test_an_aggregate_can_take_its_rows_one_by_one() -> None:
    text = """
@udaf
class F:
    def __init__(self) -> None: self.seen = []
    def add(self, a: int | None, b: int | None) -> None: self.seen.append((a, b))
    def finish(self) -> int | None: return len(self.seen) or None
"""
    assert aggregate_lists(read(text), GROUPS).to_pylist() == [2, 1, None]


def test_an_aggregate_gets_structs_as_the_class_that_it_names() -> None:
    text = """
class P(NamedTuple):
    x: int
@udaf
def f(points: list[P]) -> int: return sum(point.x for point in points)
"""
    groups = pa.array([[{"a": {"x": 3}}, {"a": None}, {"a": {"x": 4}}]])

    assert aggregate_lists(read(text), groups).to_pylist() == [7]


def test_groups_of_a_slice_are_its_own() -> None:
    aggregate = read("@udaf\ndef f(a: list[int | None]) -> int: return len(a)")

    assert aggregate_lists(aggregate, ONE.slice(1)).to_pylist() == [1, 0]
