"""Functions with OVER by event time: whatever comes in whichever epoch, all rows that came out are the batch answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from engine.plan.tree import EVENT_TIME, ROW_ID
from engine.schema import Field, Schema, to_arrow
from engine.types import BIGINT, DOUBLE, TEXT, Decimal, Member, Struct, Type
from engine.updating.accumulators.counts import Sorting
from engine.updating.bucket_state import BucketState
from engine.updating.event_time_over import PAST, WAITING, EventTimeOverOperator, EventTimeOverSpec
from engine.updating.over_frames import OverCall
from engine.updating.state_columns import ROW
from tests.updating.streams import INSTANT, identity

pytestmark = pytest.mark.unit

PAIR = Struct((Member("n", BIGINT), Member("t", TEXT)))
KINDS: dict[str, Type] = {"number": BIGINT, "real": DOUBLE, "price": Decimal(12, 2), "word": TEXT, "pair": PAIR}
FOREVER = 1 << 50


def call(
    function: str,
    columns: str,
    result: Type,
    unit: Any,
    start: int | None,
    end: int = 0,
    *,
    ignores_nulls: bool = False,
) -> OverCall:
    kinds = tuple(KINDS[column] for column in columns.split())
    return OverCall(function, kinds, result, unit, start, end, ignores_nulls)


BY_ROW = "OVER (PARTITION BY key ORDER BY ts, id ROWS BETWEEN {} PRECEDING AND {})"
AHEAD = "OVER (PARTITION BY key ORDER BY ts, id ROWS BETWEEN {} AND {} FOLLOWING)"
TIME_AHEAD = "OVER (PARTITION BY key ORDER BY ts RANGE BETWEEN {} AND {} FOLLOWING)"
BY_TIME = "OVER (PARTITION BY key ORDER BY ts RANGE BETWEEN {} PRECEDING AND CURRENT ROW)"
PEERS = "OVER (PARTITION BY key ORDER BY ts)"
HERE = "CURRENT ROW"
ROWS = {
    "row_number() OVER (PARTITION BY key ORDER BY ts, id)": call("row_number", "", BIGINT, "rows", None),
    "lag(word) OVER (PARTITION BY key ORDER BY ts, id)": call("lag", "word", TEXT, "rows", -1, -1),
    "lag(real, 3, real) OVER (PARTITION BY key ORDER BY ts, id)": call("lag", "real real", DOUBLE, "rows", -3, -3),
    f"sum(number) {BY_ROW.format(2, HERE)}": call("sum", "number", BIGINT, "rows", -2),
    f"count(*) {BY_ROW.format(4, '2 PRECEDING')}": call("count", "", BIGINT, "rows", -4, -2),
    f"min(word) {BY_ROW.format(3, '1 PRECEDING')}": call("min", "word", TEXT, "rows", -3, -1),
    f"avg(price) {BY_ROW.format(5, HERE)}": call("avg", "price", Decimal(16, 6), "rows", -5),
    f"first_value(word) {BY_ROW.format(2, HERE)}": call("first_value", "word", TEXT, "rows", -2),
    f"last_value(word) {BY_ROW.format(3, '2 PRECEDING')}": call("last_value", "word", TEXT, "rows", -3, -2),
    f"sum(price) {BY_ROW.format('UNBOUNDED', HERE)}": call("sum", "price", Decimal(22, 2), "rows", None),
    f"max(real) {BY_ROW.format('UNBOUNDED', HERE)}": call("max", "real", DOUBLE, "rows", None),
    f"first_value(number) {BY_ROW.format('UNBOUNDED', HERE)}": call("first_value", "number", BIGINT, "rows", None),
    f"first_value(word IGNORE NULLS) {BY_ROW.format('UNBOUNDED', HERE)}": call(
        "first_value", "word", TEXT, "rows", None, ignores_nulls=True
    ),
    f"last_value(number IGNORE NULLS) {BY_ROW.format('UNBOUNDED', HERE)}": call(
        "last_value", "number", BIGINT, "rows", None, ignores_nulls=True
    ),
    f"last_value(word IGNORE NULLS) {BY_ROW.format(3, '1 PRECEDING')}": call(
        "last_value", "word", TEXT, "rows", -3, -1, ignores_nulls=True
    ),
}
LATER_ROWS = {
    "lead(word) OVER (PARTITION BY key ORDER BY ts, id)": call("lead", "word", TEXT, "rows", 1, 1),
    "lead(real, 3, real) OVER (PARTITION BY key ORDER BY ts, id)": call("lead", "real real", DOUBLE, "rows", 3, 3),
    f"sum(number) {AHEAD.format('1 PRECEDING', 1)}": call("sum", "number", BIGINT, "rows", -1, 1),
    f"count(*) {AHEAD.format('1 FOLLOWING', 3)}": call("count", "", BIGINT, "rows", 1, 3),
    f"max(word) {AHEAD.format(HERE, 2)}": call("max", "word", TEXT, "rows", 0, 2),
    f"sum(price) {AHEAD.format('UNBOUNDED PRECEDING', 2)}": call("sum", "price", Decimal(22, 2), "rows", None, 2),
    f"last_value(word) {AHEAD.format('UNBOUNDED PRECEDING', 2)}": call("last_value", "word", TEXT, "rows", None, 2),
    f"first_value(number IGNORE NULLS) {AHEAD.format('UNBOUNDED PRECEDING', 1)}": call(
        "first_value", "number", BIGINT, "rows", None, 1, ignores_nulls=True
    ),
    f"last_value(real IGNORE NULLS) {AHEAD.format('UNBOUNDED PRECEDING', 1)}": call(
        "last_value", "real", DOUBLE, "rows", None, 1, ignores_nulls=True
    ),
    f"first_value(word IGNORE NULLS) {AHEAD.format('1 FOLLOWING', 3)}": call(
        "first_value", "word", TEXT, "rows", 1, 3, ignores_nulls=True
    ),
}
TIMES = {
    f"sum(number) {BY_TIME.format(20)}": call("sum", "number", BIGINT, "range", -20),
    f"count(word) {BY_TIME.format(5)}": call("count", "word", BIGINT, "range", -5),
    f"max(word) {BY_TIME.format(100)}": call("max", "word", TEXT, "range", -100),
    f"sum(number) {PEERS}": call("sum", "number", BIGINT, "range", None),
    f"count(*) {PEERS}": call("count", "", BIGINT, "range", None),
    f"avg(real) {PEERS}": call("avg", "real", DOUBLE, "range", None),
    "sum(number) OVER (PARTITION BY key ORDER BY ts RANGE BETWEEN CURRENT ROW AND CURRENT ROW)": call(
        "sum", "number", BIGINT, "range", 0
    ),
}
LATER_TIMES = {
    f"sum(number) {TIME_AHEAD.format(HERE, 10)}": call("sum", "number", BIGINT, "range", 0, 10),
    f"count(word) {TIME_AHEAD.format('5 PRECEDING', 5)}": call("count", "word", BIGINT, "range", -5, 5),
    f"max(word) {TIME_AHEAD.format('UNBOUNDED PRECEDING', 30)}": call("max", "word", TEXT, "range", None, 30),
}


@dataclass
class Running:
    """An operator with what its buckets keep."""

    operator: EventTimeOverOperator
    calls: Sequence[OverCall]
    columns: Sequence[str]
    states: dict[int, BucketState]

    def epoch(self, tasks: Sequence[Sequence[Mapping[str, Any]]], watermark: int) -> Iterator[Mapping[str, object]]:
        payloads: dict[int, list[bytes]] = defaultdict(list)
        for rows in filter(None, tasks):
            for bucket, payload in self.operator.pack(self._packed(rows)):
                payloads[bucket].append(payload)
        woken = {bucket for bucket, state in self.states.items() if state.newest <= watermark}
        stepping = {bucket: self.states.get(bucket, BucketState()) for bucket in {*payloads, *woken}}
        if stepping:
            result = self.operator.steps(stepping, payloads, watermark)
            self.states.update(result.states)
            yield from result.out.to_pylist()

    def _packed(self, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        columns = {
            ROW_ID: pa.array([identity(row["key"]) for row in rows], pa.int64()),
            ROW: pa.array([identity(*row.values()) for row in rows], pa.int64()),
            EVENT_TIME: pa.array([row["ts"] for row in rows], INSTANT),
            "c0": pa.array([row["id"] for row in rows], pa.int64()),
        }
        if self.operator.spec.order:
            columns["o0"] = columns["c0"]
        for index, (one, names) in enumerate(zip(self.calls, self.columns, strict=True)):
            for name, column in zip(one.columns(index), names.split(), strict=True):
                columns[name] = pa.array([row[column] for row in rows], to_arrow(KINDS[column]))
        return pa.table(columns)


def running(calls: Sequence[OverCall], columns: Sequence[str], *, is_by_row: bool, ttl: int = FOREVER) -> Running:
    results = [Field(f"r{index}", one.result) for index, one in enumerate(calls)]
    order = (Sorting(BIGINT, descending=False, nulls_first=False),) if is_by_row else ()
    spec = EventTimeOverSpec(Schema((Field("c0", BIGINT), *results)), order, tuple(calls), ttl)
    return Running(EventTimeOverOperator(spec), calls, columns, {})


def columns_of(sql: str, one: OverCall) -> str:
    inside = sql[sql.index("(") + 1 : sql.index(")")].split(", ")
    if len(one.arguments) == 2:
        return "real real"
    name = inside[0].split(" ")[0]
    return name if name in KINDS else ""


def random_rows(chance: Random, count: int) -> list[dict[str, Any]]:
    def maybe(value: Any) -> Any:
        return None if chance.random() < 0.2 else value

    return [
        {
            "id": number,
            "ts": 1000 + number // 2 + chance.randrange(20),
            "key": maybe(chance.choice("abcd")),
            "number": maybe(chance.randrange(-9, 9)),
            "real": maybe(chance.choice([0.5, 1.25, -3.0, 1e3])),
            "price": maybe(chance.randrange(-500, 500)),
            "word": maybe(chance.choice(["x", "y", "zz", ""])),
        }
        for number in range(count)
    ]


def batch_answer(rows: Sequence[Mapping[str, Any]], calls: Sequence[str]) -> Counter[tuple[object, ...]]:
    types = {"id": BIGINT, "ts": BIGINT, "key": TEXT, **KINDS}
    del types["pair"]
    table = pa.table({name: pa.array([row[name] for row in rows], to_arrow(kind)) for name, kind in types.items()})
    with duckdb.connect() as database:
        database.register("rows", table)
        answer = database.execute(f"SELECT id, {', '.join(calls)} FROM rows").fetchall()
    return Counter(tuple(map(_plain, row)) for row in answer)


def _plain(value: Any) -> object:
    return value if value is None or isinstance(value, str) else round(float(value), 5) + 0.0


@pytest.mark.parametrize("seed", range(120))
def test_all_rows_come_out_once_with_the_batch_answer(seed: int) -> None:
    chance = Random(seed)
    is_by_row = chance.random() < 0.5
    table = ROWS if is_by_row else TIMES
    if chance.random() < 0.5:
        table = {**table, **(LATER_ROWS if is_by_row else LATER_TIMES)}
    names = chance.sample(sorted(table), chance.randint(1, 5))
    calls = [table[name] for name in names]
    columns = [columns_of(name, one) for name, one in zip(names, calls, strict=True)]
    stream = running(calls, columns, is_by_row=is_by_row)
    rows = random_rows(chance, chance.randrange(1, 200))
    out: list[Mapping[str, object]] = []
    begin = 0
    while begin < len(rows):
        end = min(begin + chance.randrange(1, 60), len(rows))
        arrived = rows[begin:end]
        cut = chance.randrange(len(arrived) + 1)
        watermark = min(row["ts"] for row in [*rows[end:], {"ts": 1 << 40}]) if chance.random() < 0.8 else 0
        out += stream.epoch([arrived[:cut], arrived[cut:]], watermark)
        begin = end
    out += stream.epoch([], 1 << 52)

    came = Counter(tuple(_plain(value) for name, value in row.items() if name != EVENT_TIME) for row in out)
    assert came == batch_answer(rows, names)
    assert all(not state.tables[WAITING].rows for state in stream.states.values())


def _row(number: int, at: int, key: str = "a") -> dict[str, Any]:
    return {"id": number, "ts": at, "key": key, "number": number, "real": 0.5, "price": 1, "word": "x"}


COUNTED = call("count", "", BIGINT, "rows", None)
BEFORE = call("lag", "number", BIGINT, "rows", -1, -1)


def test_a_partition_starts_again_after_its_time_to_live() -> None:
    stream = running([COUNTED, BEFORE], ["", "number"], is_by_row=True, ttl=100)
    rows = [_row(0, 10), _row(1, 110), _row(2, 211), _row(3, 212), _row(4, 400)]
    out = [*stream.epoch([rows[:1]], 11), *stream.epoch([rows[1:4]], 213), *stream.epoch([rows[4:]], 500)]

    assert [(row["c0"], row["r0"], row["r1"]) for row in out] == [
        (0, 1, None),
        (1, 2, 0),
        (2, 1, None),
        (3, 2, 2),
        (4, 1, None),
    ]


def test_the_last_struct_that_is_not_null_is_found_across_epochs() -> None:
    stream = running(
        [call("last_value", "pair", PAIR, "rows", None, ignores_nulls=True)], ["pair"], is_by_row=True, ttl=100
    )
    first, empty, other = {"n": 1, "t": "x"}, {"n": None, "t": None}, {"n": 2, "t": None}
    pairs = [(10, None), (11, first), (12, None), (20, None), (21, empty), (22, None), (30, other), (200, None)]
    rows = [{**_row(number, at), "pair": pair} for number, (at, pair) in enumerate(pairs)]
    out = [
        *stream.epoch([rows[:3]], 15),
        *stream.epoch([rows[3:6]], 25),
        *stream.epoch([rows[6:]], 300),
    ]

    assert [row["r0"] for row in out] == [None, first, first, first, empty, empty, other, None]


def test_a_row_waits_for_the_next_one_or_for_the_end_of_its_partition() -> None:
    after = call("lead", "number", BIGINT, "rows", 1, 1)
    stream = running([after, COUNTED], ["number", ""], is_by_row=True, ttl=100)
    came = [
        list(stream.epoch([[_row(0, 10), _row(1, 15)]], 11)),
        list(stream.epoch([], 16)),
        list(stream.epoch([], 115)),
        list(stream.epoch([], 116)),
        list(stream.epoch([[_row(2, 130), _row(3, 300)]], 301)),
    ]

    assert [[(row["c0"], row["r0"], row["r1"]) for row in rows] for rows in came] == [
        [],
        [(0, 1, 1)],
        [],
        [(1, None, 2)],
        [(2, None, 1)],
    ]


def test_a_row_that_was_overtaken_is_left_out() -> None:
    stream = running([COUNTED], [""], is_by_row=True)
    out = [*stream.epoch([[_row(0, 10)]], 20), *stream.epoch([[_row(1, 15), _row(2, 20)]], 30)]

    assert [(row["c0"], row["r0"]) for row in out] == [(0, 1), (2, 2)]


def test_the_state_is_what_frames_reach() -> None:
    by_row = running([call("sum", "number", BIGINT, "rows", -3)], ["number"], is_by_row=True, ttl=1000)
    by_time = running([call("sum", "number", BIGINT, "range", -50)], ["number"], is_by_row=False)
    for number in range(100):
        for stream in (by_row, by_time):
            list(stream.epoch([[_row(number, 10 * number)]], 10 * number + 1))

    assert _kept(by_row) == [970, 980, 990]
    assert min(_kept(by_time)) >= 990 - 50 - 10
    list(by_row.epoch([[_row(100, 2500)]], 2501))
    assert _kept(by_row) == [2500]


def _kept(stream: Running) -> list[int]:
    rows = [state.tables[PAST].all() for state in stream.states.values() if PAST in state.tables]
    return sorted(time for table in rows if table is not None for time in table["_time"].to_pylist())
