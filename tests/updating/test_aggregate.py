"""Aggregation without a window: whatever comes and goes in whichever epoch, the folded changes are the batch answer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from engine.errors import SumOverflowError
from engine.functions.aggregates import AGGREGATE_FUNCTIONS
from engine.functions.base import Retention
from engine.schema import Field, Schema, to_arrow
from engine.types import BIGINT, BOOLEAN, DOUBLE, TEXT, Array, Decimal, Type
from engine.updating.accumulators.counts import Measure, Sorting
from engine.updating.accumulators.moments import LISTS
from engine.updating.aggregate import AggregateOperator
from engine.updating.aggregate_spec import AggregateSpec
from tests.updating.streams import INSTANT, Buckets, Change, epochs_of, fold, identity, rows_after

DAY = 86_400_000_000
PRICE = Decimal(12, 2)
KINDS: dict[str, Type] = {"number": BIGINT, "price": PRICE, "real": DOUBLE, "word": TEXT, "flag": BOOLEAN}


def measure(
    function: str, columns: str, result: Type, *, distinct: bool = False, order: Sequence[str] = ()
) -> tuple[Measure, list[str]]:
    sorting = tuple(Sorting(KINDS[column], descending=False, nulls_first=False) for column in order)
    kinds = tuple(KINDS[column] for column in columns.split())
    return Measure(function, kinds, result, distinct=distinct, order=sorting), [*columns.split(), *order]


MEASURES = {
    "count(*)": measure("count", "", BIGINT),
    "count(number)": measure("count", "number", BIGINT),
    "count(DISTINCT word)": measure("count", "word", BIGINT, distinct=True),
    "sum(number)": measure("sum", "number", BIGINT),
    "sum(DISTINCT number)": measure("sum", "number", BIGINT, distinct=True),
    "sum(price)": measure("sum", "price", Decimal(22, 2)),
    "sum(real)": measure("sum", "real", DOUBLE),
    "avg(real)": measure("avg", "real", DOUBLE),
    "min(number)": measure("min", "number", BIGINT),
    "max(word)": measure("max", "word", TEXT),
    "min(real)": measure("min", "real", DOUBLE),
    "max(real)": measure("max", "real", DOUBLE),
    "min(flag)": measure("min", "flag", BOOLEAN),
    "bool_and(flag)": measure("bool_and", "flag", BOOLEAN),
    "bool_or(flag)": measure("bool_or", "flag", BOOLEAN),
    "bit_xor(number)": measure("bit_xor", "number", BIGINT),
    "bit_and(number)": measure("bit_and", "number", BIGINT),
    "median(real)": measure("median", "real", DOUBLE),
    "mode(word ORDER BY word)": measure("mode", "word", TEXT),
    "stddev(real)": measure("stddev", "real", DOUBLE),
    "var_pop(real)": measure("var_pop", "real", DOUBLE),
    "covar_samp(real, number)": measure("covar_samp", "real number", DOUBLE),
    "regr_sxy(real, number)": measure("regr_sxy", "real number", DOUBLE),
    "regr_avgx(real, number)": measure("regr_avgx", "real number", DOUBLE),
    "regr_count(real, number)": measure("regr_count", "real number", BIGINT),
    "array_agg(number ORDER BY number)": measure("array_agg", "number", Array(BIGINT), order=["number"]),
}


def operator(names: Sequence[str], *, only_appends: bool, ttl: int = DAY) -> AggregateOperator:
    measures = tuple(MEASURES[name][0] for name in names)
    results = [Field(f"c{1 + index}", measure.result) for index, measure in enumerate(measures)]
    schema = Schema((Field("c0", TEXT), *results))
    return AggregateOperator(AggregateSpec(schema, 1, measures, only_appends, ttl))


def packed(spec: AggregateSpec, names: Sequence[str], changes: Sequence[Change]) -> pa.Table:
    rows = [row for _, row in changes]
    columns: dict[str, pa.Array] = {
        "_id": pa.array([identity(row["key"]) for row in rows], pa.int64()),
        "k0": pa.array([row["key"] for row in rows], pa.string()),
        "_timestamp": pa.array([row["at"] for row in rows], INSTANT),
    }
    if not spec.only_appends:
        columns["_retract"] = pa.array([retract for retract, _ in changes])
    for index, name in enumerate(names):
        measured, read = MEASURES[name]
        count = len(measured.arguments)
        for place, column in enumerate(read):
            argument = f"a{index}_{place}" if place < count else f"o{index}_{place - count}"
            columns[argument] = pa.array([row[column] for row in rows], to_arrow(KINDS[column]))
        if index in spec.kept_values:
            hashes = [identity(*(row[column] for column in read)) for row in rows]
            columns[f"v{index}"] = pa.array(hashes, pa.int64())
    return pa.table(columns)


def random_rows(chance: Random) -> list[dict[str, Any]]:
    def maybe(value: Any) -> Any:
        return None if chance.random() < 0.2 else value

    return [
        {
            "key": maybe(chance.choice("abcdefgh")),
            "number": maybe(chance.randrange(-5, 5)),
            "price": maybe(chance.randrange(-500, 500)),
            "real": maybe(chance.choice([0.5, 1.25, -3.0, 1e3])),
            "word": maybe(chance.choice(["x", "y", "zz", ""])),
            "flag": maybe(chance.random() < 0.5),
            "at": chance.randrange(1000),
        }
        for _ in range(chance.randrange(1, 120))
    ]


def batch_answer(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> Counter[tuple[object, ...]]:
    columns = {name: pa.array([row[name] for row in rows], to_arrow(kind)) for name, kind in KINDS.items()}
    table = pa.table({"key": pa.array([row["key"] for row in rows], pa.string()), **columns})
    with duckdb.connect() as database:
        database.register("rows", table)
        answer = database.execute(f"SELECT key, {', '.join(names)} FROM rows GROUP BY key").fetchall()
    return Counter(tuple(map(_plain, row)) for row in answer)


def _plain(value: object) -> object:
    if isinstance(value, float):
        return float(f"{round(value, 9):.12g}") + 0.0
    return tuple(value) if isinstance(value, list) else value


def rounded(rows: Counter[tuple[object, ...]]) -> Counter[tuple[object, ...]]:
    return Counter({tuple(_plain(value) for value in row): count for row, count in rows.items()})


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("only_appends", [True, False])
def test_the_folded_changes_are_the_batch_answer(seed: int, only_appends: bool) -> None:
    chance = Random(seed)
    names = chance.sample(sorted(MEASURES), 6)
    running = Buckets(operator(names, only_appends=only_appends))
    spec = running.operator.spec  # type: ignore[attr-defined]
    epochs = epochs_of(chance, random_rows(chance), taken_back=0 if only_appends else 0.4)
    changes: list[Any] = []

    for number, epoch in enumerate(epochs):
        cut = chance.randrange(len(epoch) + 1)
        parts = [packed(spec, names, part) for part in (epoch[:cut], epoch[cut:])]
        changes += running.run([(running.operator, part) for part in parts])

        assert rounded(fold(changes)) == batch_answer(rows_after(epochs[: number + 1]), names)


def test_an_epoch_that_changes_nothing_sends_nothing() -> None:
    names = ["min(number)"]
    running = Buckets(operator(names, only_appends=True))
    spec = running.operator.spec  # type: ignore[attr-defined]
    row = {"key": "a", "number": 1, "at": 0}

    first = running.run([(running.operator, packed(spec, names, [(False, row)]))])
    again = running.run([(running.operator, packed(spec, names, [(False, row)]))])

    assert [change["c1"] for change in first] == [1]
    assert again == []


def test_the_old_row_goes_before_the_new_one_comes() -> None:
    names = ["sum(number)"]
    running = Buckets(operator(names, only_appends=True))
    spec = running.operator.spec  # type: ignore[attr-defined]

    running.run([(running.operator, packed(spec, names, [(False, {"key": "a", "number": 1, "at": 0})]))])
    out = running.run([(running.operator, packed(spec, names, [(False, {"key": "a", "number": 2, "at": 5})]))])

    assert [(change["_retract"], change["c1"]) for change in out] == [(True, 1), (False, 3)]
    assert len({change["_id"] for change in out}) == 1


def test_a_sum_out_of_range_fails_by_name_and_one_that_comes_back_into_it_does_not() -> None:
    names = ["sum(number)"]
    most = (1 << 63) - 1
    running = Buckets(operator(names, only_appends=True))
    spec = running.operator.spec  # type: ignore[attr-defined]
    rows = [{"key": "a", "number": number, "at": 0} for number in (most, most, -most)]

    out = running.run([(running.operator, packed(spec, names, [(False, row) for row in rows]))])

    assert [change["c1"] for change in out] == [most]
    with pytest.raises(SumOverflowError):
        running.run([(running.operator, packed(spec, names, [(False, {"key": "a", "number": 1, "at": 0})]))])


def test_retracted_floats_leave_no_residue_in_a_sum() -> None:
    names = ["sum(real)"]
    running = Buckets(operator(names, only_appends=False))
    spec = running.operator.spec  # type: ignore[attr-defined]
    small, large, endless = ({"key": "a", "real": real, "at": 0} for real in (0.1, 1e20, math.inf))

    running.run([(running.operator, packed(spec, names, [(False, small), (False, large), (False, endless)]))])
    out = running.run([(running.operator, packed(spec, names, [(True, large), (True, endless)]))])

    assert [change["c1"] for change in out if not change["_retract"]] == [0.1]


def test_a_key_is_forgotten_when_it_has_not_changed_for_the_time_to_live() -> None:
    names = ["count(*)"]
    running = Buckets(operator(names, only_appends=True, ttl=100))
    spec = running.operator.spec  # type: ignore[attr-defined]

    def came(key: str, at: int) -> list[tuple[object, object]]:
        out = running.run([(running.operator, packed(spec, names, [(False, {"key": key, "at": at})]))])
        return [(change["_retract"], change["c1"]) for change in out]

    assert came("a", 0) == [(False, 1)]
    assert came("a", 100) == [(True, 1), (False, 2)]
    assert came("a", 201) == [(True, 2), (False, 1)]


def test_every_declared_aggregate_can_be_kept() -> None:
    assert {
        function.name
        for function in AGGREGATE_FUNCTIONS
        if function.retention in (Retention.MOMENTS, Retention.VALUES) and function.name not in LISTS
    } == set()
