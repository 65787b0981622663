"""Which types meet in which, and which calls are refused."""

from __future__ import annotations

import pytest

from engine import types
from engine.functions import AGGREGATES, FUNCTIONS, find_aggregate, find_function
from engine.functions.base import AggregateFunction, Function
from engine.functions.coercion import can_cast, can_coerce, common_type
from engine.functions.parsers.time_patterns import to_java_pattern
from engine.plan.expressions.calls import call
from engine.plan.expressions.expr import Call, Column, Expr, Literal
from engine.types import BIGINT, BOOLEAN, DOUBLE, INT, TEXT, TIMESTAMP
from tests.functions.cases.values import at, literal, seconds

FLOAT = types.Float(32)
DATE = types.Date()
INTERVAL = types.Interval()
JSON = types.Json()
NULL = types.Null()


def u(bits: int) -> types.Integer:
    """An unsigned type."""
    return types.Integer(bits, signed=False)


@pytest.mark.parametrize(
    ("a", "b", "shared"),
    [
        (INT, BIGINT, BIGINT),
        (types.Integer(8), types.Integer(16), types.Integer(16)),
        (u(8), u(32), u(32)),
        (u(8), types.Integer(8), types.Integer(16)),
        (u(32), INT, BIGINT),
        (u(64), INT, BIGINT),
        (u(64), BIGINT, BIGINT),
        (INT, FLOAT, FLOAT),
        (BIGINT, DOUBLE, DOUBLE),
        (FLOAT, DOUBLE, DOUBLE),
        (types.Decimal(5, 2), DOUBLE, DOUBLE),
        (types.Decimal(5, 2), FLOAT, DOUBLE),
        (types.Decimal(5, 2), INT, types.Decimal(12, 2)),
        (types.Decimal(5, 2), types.Decimal(5, 4), types.Decimal(7, 4)),
        (types.Decimal(38, 10), types.Decimal(38, 0), types.Decimal(38, 10)),
        (TEXT, JSON, TEXT),
        (DATE, TIMESTAMP, TIMESTAMP),
        (NULL, INTERVAL, INTERVAL),
        (NULL, NULL, NULL),
        (types.Array(INT), types.Array(BIGINT), types.Array(BIGINT)),
        (types.WINDOW, types.WINDOW, types.WINDOW),
        (
            types.Struct((types.Member("a", INT),)),
            types.Struct((types.Member("a", BIGINT),)),
            types.Struct((types.Member("a", BIGINT),)),
        ),
        (types.Struct((types.Member("a", INT),)), types.Struct((types.Member("b", INT),)), None),
        (TEXT, INT, None),
        (TEXT, TIMESTAMP, None),
        (BOOLEAN, INT, None),
        (TIMESTAMP, INTERVAL, None),
    ],
    ids=str,
)
def test_two_types_meet_in_one_whichever_comes_first(a: types.Type, b: types.Type, shared: types.Type | None) -> None:
    assert common_type(a, b) == shared
    assert common_type(b, a) == shared


def test_every_coercion_is_also_a_cast() -> None:
    kinds = [
        INT,
        BIGINT,
        u(32),
        FLOAT,
        DOUBLE,
        types.Decimal(5, 2),
        TEXT,
        JSON,
        BOOLEAN,
        TIMESTAMP,
        DATE,
        INTERVAL,
        NULL,
    ]
    assert [(a, b) for a in kinds for b in kinds if can_coerce(a, b) and not can_cast(a, b)] == []


@pytest.mark.parametrize(
    ("a", "b"), [(INT, TEXT), (BIGINT, INT), (DOUBLE, INT), (TIMESTAMP, DATE), (TEXT, TIMESTAMP), (types.Bytes(), TEXT)]
)
def test_lossy_conversion_needs_a_cast(a: types.Type, b: types.Type) -> None:
    assert can_cast(a, b)
    assert not can_coerce(a, b)


@pytest.mark.parametrize(("a", "b"), [(TEXT, INTERVAL), (BOOLEAN, TIMESTAMP), (TIMESTAMP, INT), (types.WINDOW, TEXT)])
def test_some_types_never_become_one_another(a: types.Type, b: types.Type) -> None:
    assert not can_cast(a, b)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("upper", (1,)),
        ("upper", ()),
        ("upper", ("a", "b")),
        ("+", (Column("a", TEXT), 1)),
        ("+", (at("2024-01-01T00:00:00"), 1)),
        ("=", (Column("a", TEXT), 1)),
        ("=", (Column("a", TIMESTAMP), Column("b", TEXT))),
        ("and", (True, 1)),
        ("in", (1,)),
        ("date_trunc", ("fortnight", at("2024-01-01T00:00:00"))),
        ("date_trunc", (Column("unit", TEXT), at("2024-01-01T00:00:00"))),
        ("date_part", (None, at("2024-01-01T00:00:00"))),
        ("round", (1.5, Column("n", BIGINT))),
        ("regexp_like", ("a", "b", "q")),
        ("regexp_match", ("a", Column("b", TEXT))),
        ("to_char", (at("2024-01-01T00:00:00"), "%Q")),
        ("arrow_cast", (1, "Int31")),
        ("arrow_cast", (1, Column("b", TEXT))),
        ("arrow_cast", (True, "Date32")),
        ("no_such_function", ()),
    ],
)
def test_a_call_that_does_not_fit_is_refused(name: str, arguments: tuple[object, ...]) -> None:
    exprs = [value if isinstance(value, Column) else literal(value) for value in arguments]
    assert call(name, exprs) is None


@pytest.mark.parametrize(
    ("name", "arguments", "kind"),
    [
        ("+", (INT, BIGINT), BIGINT),
        ("+", (INT, INT), INT),
        ("+", (u(32), u(32)), u(64)),
        ("-", (u(32), u(32)), BIGINT),
        ("*", (FLOAT, BIGINT), FLOAT),
        ("/", (INT, INT), INT),
        ("/", (types.Decimal(10, 2), types.Decimal(5, 1)), types.Decimal(15, 6)),
        ("*", (types.Decimal(38, 10), types.Decimal(38, 10)), types.Decimal(38, 20)),
        ("-", (TIMESTAMP, TIMESTAMP), INTERVAL),
        ("-", (DATE, DATE), INTERVAL),
        ("+", (DATE, INTERVAL), TIMESTAMP),
        ("coalesce", (INT, NULL, BIGINT), BIGINT),
        ("date_part", (TEXT, TIMESTAMP), INT),
        ("sha256", (TEXT,), types.Bytes()),
    ],
)
def test_the_result_has_the_type_of_the_rules(name: str, arguments: tuple[types.Type, ...], kind: types.Type) -> None:
    signature = FUNCTIONS[name].resolve(arguments)
    assert signature is not None
    assert signature.result == kind


@pytest.mark.parametrize(
    ("name", "kind", "total"),
    [
        ("count", TEXT, BIGINT),
        ("sum", INT, BIGINT),
        ("sum", u(32), u(64)),
        ("sum", FLOAT, DOUBLE),
        ("sum", types.Decimal(10, 2), types.Decimal(20, 2)),
        ("avg", BIGINT, DOUBLE),
        ("avg", types.Decimal(10, 2), types.Decimal(14, 6)),
        ("min", TEXT, TEXT),
        ("max", u(64), u(64)),
        ("max", types.WINDOW, None),
        ("sum", TEXT, None),
    ],
)
def test_aggregates_have_the_type_of_the_rules(name: str, kind: types.Type, total: types.Type | None) -> None:
    signature = AGGREGATES[name].resolve([kind])
    assert (signature.result if signature else None) == total


def test_names_are_found_without_regard_to_case_and_by_alias() -> None:
    assert find_function("UPPER") is FUNCTIONS["upper"]
    assert find_function("Ceiling") is FUNCTIONS["ceil"]
    assert find_aggregate("COUNT") is AGGREGATES["count"]
    assert find_function("count") is None
    assert find_aggregate("upper") is None


def test_every_doc_says_what_null_does() -> None:
    declared: list[Function | AggregateFunction] = [*FUNCTIONS.values(), *AGGREGATES.values()]
    assert [
        function.name for function in declared if "NULL" not in function.doc or not function.doc.endswith(".")
    ] == []


def test_text_constants_take_the_type_they_are_compared_with() -> None:
    difference = call("-", [Column("seen", TIMESTAMP), literal("5 seconds")])
    assert difference is not None
    assert difference.type == TIMESTAMP
    assert literal(seconds(5)) in difference.arguments  # type: ignore[union-attr]


def test_a_negated_constant_is_a_constant() -> None:
    assert call("negate", [literal(5)]) == Literal(-5, BIGINT)
    assert call("negate", [literal(seconds(5))]) == Literal(seconds(-5), INTERVAL)


def test_a_negated_constant_that_does_not_fit_is_left_to_fail() -> None:
    assert isinstance(call("negate", [literal(-(2**63))]), Call)


@pytest.mark.parametrize(
    ("name", "nullable"),
    [
        ("upper", True),
        ("is_null", False),
        ("coalesce", False),
        ("nullif", True),
        ("concat", False),
        ("greatest", False),
    ],
)
def test_nullability_follows_from_the_arguments(name: str, nullable: bool) -> None:
    sure, unsure = Column("a", TEXT, nullable=False), Column("b", TEXT)
    arguments: list[Expr] = (
        [unsure] if find_function(name) in (FUNCTIONS["upper"], FUNCTIONS["is_null"]) else [unsure, sure]
    )
    expr = call(name, arguments)
    assert expr is not None
    assert expr.nullable is nullable  # type: ignore[union-attr]


def test_a_pattern_is_refused_when_it_asks_for_something_else() -> None:
    assert to_java_pattern("%Y %Q") is None
    assert to_java_pattern("%Y-%m") == "yyyy-MM"
    assert to_java_pattern("YYYY[MM]") == "yyyy'['MM']'"


def test_aggregate_of_partial_results_accepts_them() -> None:
    combined = {name: function.combined_by for name, function in AGGREGATES.items() if function.combined_by is not None}

    assert combined.keys() >= {"count", "sum", "min", "max"}
    assert [name for name, combining in combined.items() if combining not in AGGREGATES] == []
    assert AGGREGATES["count"].combined_by == "sum"


def test_only_comparisons_and_their_combinations_cannot_fail() -> None:
    assert {name for name, function in FUNCTIONS.items() if function.cannot_fail} == {
        *("=", "<>", "<", "<=", ">", ">=", "in", "between", "like", "ilike", "and", "or", "not", "coalesce"),
        *("is_null", "is_not_null", "is_true", "is_not_true", "is_false", "is_not_false"),
        *("is_distinct_from", "is_not_distinct_from"),
    }
