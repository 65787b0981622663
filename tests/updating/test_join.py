"""Joins without a window: whatever comes and goes on either side, the folded changes are the batch answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from engine.plan.expressions.expr import Call, Column, Expr
from engine.plan.nodes import JoinKind
from engine.schema import Field, Schema
from engine.types import BIGINT, BOOLEAN, TEXT
from engine.updating.join import JoinSide, JoinSpec
from engine.updating.state_columns import MATCH, ROW
from tests.updating.streams import INSTANT, Buckets, Change, epochs_of, fold, identity, rows_after

DAY = 86_400_000_000
LARGER: Expr = Call("<", (Column("l1", BIGINT), Column("r1", BIGINT)), BOOLEAN)


def spec_of(kind: JoinKind, *, condition: Expr | None = None, changes: bool = True, ttl: int = DAY) -> JoinSpec:
    sides = [Schema((Field(f"{side}0", TEXT), Field(f"{side}1", BIGINT))) for side in "lr"]
    nothing = Schema(())
    return JoinSpec(sides[0], sides[1], kind, condition, (nothing, nothing), changes, has_watermark=False, ttl=ttl)


def packed(number: int, changes: Sequence[Change], *, only_appends: bool) -> pa.Table:
    rows = [row for _, row in changes]
    letter = "lr"[number]
    values = [(row["key"], row["value"]) for row in rows]
    hashes = [identity(*value) for value in values]
    match = [identity(key) if key is not None else identity(number, key, value) for key, value in values]
    columns: dict[str, pa.Array] = {
        MATCH: pa.array(match, pa.int64()),
        ROW: pa.array(hashes, pa.int64()),
        "_id": pa.array(hashes, pa.int64()),
        f"{letter}0": pa.array([key for key, _ in values], pa.string()),
        f"{letter}1": pa.array([value for _, value in values], pa.int64()),
        "_timestamp": pa.array([row["at"] for row in rows], INSTANT),
    }
    if not only_appends:
        columns["_retract"] = pa.array([retract for retract, _ in changes], pa.bool_())
    return pa.table(columns)


def random_rows(chance: Random) -> list[dict[str, Any]]:
    return [
        {
            "key": chance.choice(["a", "b", "c", "d", None]),
            "value": chance.choice([1, 2, 3, None]),
            "at": chance.randrange(1000),
        }
        for _ in range(chance.randrange(60))
    ]


def batch_answer(sides: Sequence[Sequence[dict[str, Any]]], kind: str, *, larger: bool) -> Counter[tuple[object, ...]]:
    with duckdb.connect() as database:
        for name, rows in zip("lr", sides, strict=True):
            values = {
                "key": pa.array([row["key"] for row in rows], pa.string()),
                "value": pa.array([row["value"] for row in rows], pa.int64()),
            }
            database.register(name, pa.table(values))
        also = " AND l.value < r.value" if larger else ""
        columns = "l.key, l.value" + ("" if kind in ("semi", "anti") else ", r.key, r.value")
        query = f"SELECT {columns} FROM l {kind} JOIN r ON l.key = r.key{also}"
        return Counter(database.execute(query).fetchall())


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("larger", [True, False])
@pytest.mark.parametrize("kind", ["inner", "left", "right", "full", "semi", "anti"])
def test_the_folded_changes_are_the_batch_answer(kind: JoinKind, larger: bool, seed: int) -> None:
    chance = Random(seed)
    spec = spec_of(kind, condition=LARGER if larger else None)
    operators = [JoinSide(spec, number) for number in (0, 1)]
    running = Buckets(operators[0])
    only_appends = chance.random() < 0.3
    sides = [epochs_of(chance, random_rows(chance), taken_back=0 if only_appends else 0.5) for _ in operators]
    changes: list[Any] = []

    for number in range(max(map(len, sides))):
        came = [side[number] if number < len(side) else [] for side in sides]
        parts = [
            (operator, packed(operator.number, part, only_appends=only_appends))
            for operator, part in zip(operators, came, strict=True)
        ]
        changes += running.run(parts)

        expected = batch_answer([rows_after(side[: number + 1]) for side in sides], kind, larger=larger)
        assert fold(changes) == expected


def test_a_row_of_an_outer_join_goes_when_its_partner_comes_and_comes_again_when_it_goes() -> None:
    operators = [JoinSide(spec_of("left"), number) for number in (0, 1)]
    running = Buckets(operators[0])
    left, right = {"key": "a", "value": 1, "at": 0}, {"key": "a", "value": 9, "at": 0}

    def came(number: int, retract: bool, row: dict[str, Any]) -> list[tuple[object, ...]]:
        out = running.run([(operators[number], packed(number, [(retract, row)], only_appends=False))])
        return sorted((bool(change["_retract"]), change["l1"], change["r1"]) for change in out)

    assert came(0, False, left) == [(False, 1, None)]
    assert came(1, False, right) == [(False, 1, 9), (True, 1, None)]
    assert came(1, True, right) == [(False, 1, None), (True, 1, 9)]


def test_a_row_that_is_tested_comes_once_however_many_partners_it_has() -> None:
    spec = spec_of("semi", changes=False)
    operators = [JoinSide(spec, number) for number in (0, 1)]
    running = Buckets(operators[0])
    left, rights = {"key": "a", "value": 1, "at": 0}, [{"key": "a", "value": value, "at": 0} for value in (7, 8, 9)]

    def came(number: int, *rows: dict[str, Any]) -> list[object]:
        part = packed(number, [(False, row) for row in rows], only_appends=True)
        return [row["l1"] for row in running.run([(operators[number], part)])]

    assert came(0, left) == []
    assert came(1, *rights[:2]) == [1]
    assert came(1, rights[2]) == []


def test_rows_meet_only_within_the_time_to_live() -> None:
    spec = spec_of("inner", changes=False, ttl=100)
    operators = [JoinSide(spec, number) for number in (0, 1)]
    running = Buckets(operators[0])

    def came(number: int, at: int) -> int:
        row = {"key": "a", "value": 1, "at": at}
        return len(running.run([(operators[number], packed(number, [(False, row)], only_appends=True))]))

    assert came(0, 0) == 0
    assert came(1, 100) == 1
    assert came(1, 101) == 0
    assert came(1, 201) == 0
    assert [state.tables["left"].rows for state in running.states.values()] == [0]
