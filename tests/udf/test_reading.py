"""What the compiler reads off a file of functions, and what it refuses. It never runs the file."""

from __future__ import annotations

from datetime import timedelta

import pytest

from engine import types
from engine.errors import EngineError, ScriptRefused
from engine.udf.declared import Hint, Udf, UdfFile, Waiting
from engine.udf.reading import read_udfs

HEAD = "from engine.udf import udf, udaf, udtf\n"


def read(text: str) -> dict[str, Udf]:
    return dict(read_udfs([UdfFile("own.py", HEAD + text)]).by_name)


def refused(text: str, head: str = HEAD) -> list[str]:
    with pytest.raises(ScriptRefused) as refusal:
        read_udfs([UdfFile("own.py", head + text)])
    return [
        f"{complaint.code} {complaint.message}"
        for complaint in refusal.value.complaints
        if isinstance(complaint, EngineError)
    ]


def parameters(udf: Udf) -> list[types.Type]:
    return [hint.type for _, hint in udf.parameters]


def test_udf_file_is_not_executed() -> None:
    assert set(read("raise SystemExit\n@udf\ndef f(x: int) -> int: return 1 / 0\n")) == {"f"}


def test_hints_are_types() -> None:
    text = """
import datetime as dt
from datetime import datetime
from decimal import Decimal
@udf
def f(a: int, b: float, c: "str", d: bool, e: bytes, f: datetime, g: dt.date, h: Decimal, i: list[int]) -> dt.timedelta:
    ...
"""
    udf = read(text)["f"]

    expected = ["BIGINT", "DOUBLE", "TEXT", "BOOLEAN", "BYTEA", "TIMESTAMP", "DATE", "DECIMAL(38, 10)", "BIGINT[]"]
    assert list(map(str, parameters(udf))) == expected
    assert udf.result == Hint(types.Interval())


@pytest.mark.parametrize("hint", ["Optional[int]", "int | None", "None | int", "Union[int, None]", "'int | None'"])
def test_optional_argument_is_nullable(hint: str) -> None:
    assert read(f"@udf\ndef f(x: {hint}) -> int: ...\n")["f"].parameters == (("x", Hint(types.BIGINT, optional=True)),)


def test_an_annotated_hint_names_a_type_of_sql() -> None:
    udf = read(
        "@udf\ndef f(x: Annotated[pa.Array, 'decimal(10,2)'], y: Annotated[str, 'JSON']) -> Annotated[int, 'INT']: ..."
    )["f"]

    assert parameters(udf) == [types.Decimal(10, 2), types.Json()]
    assert udf.result.type == types.INT


def test_a_class_of_fields_is_a_struct() -> None:
    udf = read("class P(NamedTuple):\n  x: int\n  y: list[str]\n@udf\ndef f(p: P) -> P: ...\n")["f"]

    assert str(udf.type) == "STRUCT<x BIGINT, y TEXT[]>"


def test_decorators_may_be_called_what_the_user_likes() -> None:
    text = "import engine.udf\nimport engine.udf as e\n"
    text += "from engine.udf import udf as mine\nfrom arroyo_udf import udf as theirs\n"
    text += "".join(
        f"@{mark}\ndef f{n}(x: int) -> int: ...\n"
        for n, mark in enumerate(["engine.udf.udf", "e.udf", "mine", "theirs"])
    )

    assert set(read(text)) == {"f0", "f1", "f2", "f3"}


def test_functions_that_are_not_marked_are_the_files_own() -> None:
    assert set(read("@other\ndef g(x): ...\ndef sqrt(x): ...\n@udf\ndef f(x: int) -> int: ...\n")) == {"f"}


def test_an_async_function_waits_as_it_says() -> None:
    plain = read("@udf\nasync def f(x: int) -> int: ...\n")["f"]
    udf = read(
        "@udf(ordered=False, max_in_flight=7, timeout='2 minutes', on_timeout='null')\n"
        "async def f(x: int) -> int: ...\n"
    )["f"]

    assert (plain.kind, plain.waiting) == ("async", Waiting(1000, timedelta(seconds=5), gives_null=False))
    assert udf.waiting == Waiting(7, timedelta(minutes=2), gives_null=True)


def test_an_aggregate_takes_lists_or_is_a_class() -> None:
    udfs = read("""
@udaf
def total(a: list[int], b: list[float | None]) -> float: ...
@udaf
class Average:
    def add(self, value: float, weight: int | None = None) -> None: ...
    def finish(self) -> float | None: ...
""")
    assert parameters(udfs["total"]) == [types.BIGINT, types.DOUBLE]
    assert [hint.optional for _, hint in udfs["total"].parameters] == [False, True]
    assert udfs["average"].is_class
    assert udfs["average"].defaults == 1


def test_a_table_function_gives_rows() -> None:
    udf = read("@udtf\ndef f(x: str, n: int = 3) -> Iterator[int]: ...\n")["f"]

    assert (str(udf.type), udf.kind, udf.defaults) == ("BIGINT[]", "table", 1)


def test_comments_and_layout_do_not_change_what_a_file_is() -> None:
    texts = ["def f(x):\n  return 1\n", "# a word\ndef f(x):\n\n      return (1)\n", "def f(x):\n  return 2\n"]
    digests = [UdfFile("own.py", text).digest for text in texts]

    assert digests[0] == digests[1] != digests[2]


def test_code_that_nests_too_deeply_to_be_written_again_is_known_by_its_text() -> None:
    deep = ["def f(x):\n  return " + "+".join(["x"] * 2000) + end for end in ("", "+1")]
    first, second = (UdfFile("own.py", text).digest for text in deep)

    assert first != second


REFUSED = [
    ("def f(:", "udf.syntax own.py:2: invalid syntax"),
    ("x = 1", "udf.syntax own.py: no function is marked with @udf, @udaf or @udtf"),
    ("@udf\ndef f(x) -> int: ...", "udf.signature own.py:3: f: x has no type hint"),
    ("@udf\ndef f(x: int): ...", "udf.signature own.py:3: f: the result has no type hint"),
    ("@udf\ndef f(x: dict) -> int: ...", "udf.signature own.py:3: f: dict has no type in SQL"),
    ("@udf\ndef f(x: int | str) -> int: ...", "udf.signature own.py:3: f: int | str is not one type"),
    ("@udf\ndef f(x: Annotated[int, 'HUGE']) -> int: ...", "udf.signature own.py:3: f: 'HUGE' is not a SQL type"),
    ("class C: pass\n@udf\ndef f(x: C) -> int: ...", "udf.signature own.py:4: f: class C has no annotated fields"),
    ("@udf\ndef f() -> int: ...", "udf.signature own.py:3: f: the function has no parameters"),
    (
        "@udf\ndef f(*x: int) -> int: ...",
        "udf.signature own.py:3: f: *, ** and keyword-only parameters cannot be used from SQL",
    ),
    ("@udf\ndef é(x: int) -> int: ...", "udf.signature own.py:3: é: a name may have only letters, digits and _"),
    ("@udf\ndef sqrt(x: int) -> int: ...", "udf.name own.py:3: SQL already has a function 'sqrt'"),
    ("@udaf\ndef Count(x: list[int]) -> int: ...", "udf.name own.py:3: SQL already has a function 'count'"),
    ("@udf\ndef unnest(x: int) -> int: ...", "udf.name own.py:3: SQL already has a function 'unnest'"),
    (
        "@udf\ndef f(x: int) -> int: ...\n@udf\ndef F(x: int) -> int: ...",
        "udf.name own.py:5: function 'F' is already defined in own.py:3",
    ),
    ("@udf(5)\ndef f(x: int) -> int: ...", "udf.signature own.py:3: f: options of @udf must be given by name"),
    ("@udf(fast=True)\ndef f(x: int) -> int: ...", "udf.signature own.py:3: f: @udf has no option fast"),
    ("@udf(vectorized=YES)\ndef f(x: int) -> int: ...", "udf.signature own.py:3: f: vectorized must be a constant"),
    ("@udf(vectorized=1)\ndef f(x: int) -> int: ...", "udf.signature own.py:3: f: vectorized must be bool, not 1"),
    (
        "@udf(timeout='5s')\ndef f(x: int) -> int: ...",
        "udf.signature own.py:3: f: option timeout is only for async functions",
    ),
    (
        "@udf(timeout='0s')\nasync def f(x: int) -> int: ...",
        "udf.signature own.py:3: f: timeout must be greater than zero",
    ),
    ("@udf(timeout='x')\nasync def f(x: int) -> int: ...", "udf.signature own.py:3: f: 'x' is not a length of time"),
    (
        "@udf(max_in_flight=0)\nasync def f(x: int) -> int: ...",
        "udf.signature own.py:3: f: max_in_flight must be greater than zero",
    ),
    (
        "@udf(on_timeout='x')\nasync def f(x: int) -> int: ...",
        "udf.signature own.py:3: f: on_timeout must be 'error' or 'null', not 'x'",
    ),
    (
        "@udaf\nasync def f(x: list[int]) -> int: ...",
        "udf.signature own.py:3: f: only a @udf that takes single values can be async",
    ),
    (
        "@udaf\ndef f(x: int) -> int: ...",
        "udf.signature own.py:3: f: x is not a list: for a UDAF, all arguments must be lists",
    ),
    (
        "@udaf\nclass F:\n  def add(self, x: int) -> None: ...",
        "udf.signature own.py:3: F: the class has no method finish",
    ),
    (
        "@udaf\nclass F:\n  def add(s, x: int): ...\n  def retract(s): ...\n  def finish(s) -> int: ...",
        "udf.signature own.py:3: F: method retract has the wrong parameters",
    ),
    (
        "@udaf\nclass F:\n  def add(s, x: int): ...\n  def merge(s, *many): ...\n  def finish(s) -> int: ...",
        "udf.signature own.py:3: F: method merge has the wrong parameters",
    ),
    ("@udf\nclass F: ...", "udf.signature own.py:3: F: a class cannot be a @udf"),
    ("@udtf\ndef f(x: int) -> int: ...", "udf.signature own.py:3: f: int is not a type of several rows"),
    ("@udf\n@udaf\ndef f(x: int) -> int: ...", "udf.signature own.py:4: f: the function has more than one mark"),
]


@pytest.mark.parametrize(("text", "complaint"), REFUSED, ids=[text for text, _ in REFUSED])
def test_unsupported_udf_is_refused_with_its_location(text: str, complaint: str) -> None:
    assert refused(text) == [complaint]


def test_all_complaints_are_heard_at_once() -> None:
    assert (
        len(refused("@udf\ndef f(x) -> int: ...\n@udf\ndef g(x: int): ...\n@udf\ndef abs(x: int) -> int: ...\n")) == 3
    )
