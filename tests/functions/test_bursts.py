"""Merged bursts against what sessions make of their rows, over random rows and watermarks."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from engine.arrow.merging import MergingRows, in_bursts
from engine.compile import compile_script
from engine.plan.nodes import Partials
from engine.plan.tree import EVENT_TIME, walk

GAP = 10_000
"""Microseconds."""
TABLE = """
CREATE TABLE bids (
  auction BIGINT, price BIGINT, channel TEXT, hot BOOLEAN, ratio DOUBLE, exact DECIMAL(10, 2), seen TIMESTAMP NOT NULL
) WITH (connector = 'single_file', path = '/bids.json', format = 'json', type = 'source', event_time_field = 'seen');
"""
RESULTS = "session(INTERVAL '10 milliseconds') AS w, count(*) AS n, sum(price) AS total, min(price) AS least"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Row = Mapping[str, object]


def partials(keys: str) -> Partials:
    """Of sessions by these keys."""
    named = keys.replace("k,", "auction % 7 AS k,")
    sql = f"SELECT {named} {RESULTS} FROM bids GROUP BY {keys} w;"
    parts = replace(compile_script(TABLE + sql), is_fused=True).running_parts
    return next(node for branch in parts.branches for node in walk(branch) if isinstance(node, Partials))


def rows(seed: int, count: int) -> list[Row]:
    """Rows whose distances are about the gap: a tick less, exactly, a tick more, a half."""
    chance = random.Random(seed)
    return [
        {
            "auction": chance.choice([1, 8, None]),
            "price": chance.choice([None, 5, -7]),
            "channel": chance.choice(["a", "", "\U0001f600", None]),
            "hot": chance.choice([True, False, None]),
            "ratio": chance.choice([None, float("nan"), 0.5]),
            "exact": chance.choice([None, Decimal("0.50")]),
            "seen": chance.randrange(-12, 40) * GAP // 2 + chance.choice([-1, 0, 0, 1]),
        }
        for _ in range(count)
    ]


def batch(some: Sequence[Row]) -> pa.RecordBatch:
    types = {"auction": pa.int64(), "price": pa.int64(), "channel": pa.string(), "hot": pa.bool_()}
    types |= {"ratio": pa.float64(), "exact": pa.decimal128(10, 2), "seen": pa.timestamp("us", "UTC")}
    columns = {name: pa.array([row[name] for row in some], kind) for name, kind in types.items()}
    return pa.record_batch({**columns, EVENT_TIME: columns["seen"]})


@dataclass(frozen=True)
class Part:
    """What crosses into Spark: of a key, from its time to its last one, so many rows with such a total and least."""

    key: tuple[object, ...]
    start: int
    last: int
    rows: int
    total: int | None
    least: int | None


def micros(time: object) -> int:
    assert isinstance(time, datetime)
    return (time - EPOCH) // timedelta(microseconds=1)


def merged(chunks: Sequence[Sequence[Row]], keys: str, watermark: int) -> list[Part]:
    merging = MergingRows(partials(keys), watermark)
    batches = [*(merging.add(batch(chunk)) for chunk in chunks), merging.flush()]
    out = [row for rows in batches if rows is not None for row in rows.to_pylist()]
    return [
        Part(
            key_of(row, keys),
            micros(row[EVENT_TIME]),
            micros(row["__last"]),
            row["__rows"],
            row["__partial0"],
            row["__partial1"],
        )
        for row in out
    ]


def unmerged(some: Sequence[Row], keys: str) -> list[Part]:
    parts = []
    for row in some:
        time, price = row["seen"], row["price"]
        assert isinstance(time, int)
        assert price is None or isinstance(price, int)
        parts.append(Part(key_of(row, keys), time, time, 1, price, price))
    return parts


def key_of(row: Row, keys: str) -> tuple[object, ...]:
    auction = row.get("auction")
    if keys == "k,":
        return (auction % 7 if isinstance(auction, int) else None,)
    return tuple(str(row[name.strip()]) for name in keys.split(",")[:-1])


def sessions(parts: Sequence[Part], watermark: int, spark: int) -> tuple[int, int, object]:
    """As Spark makes them: the rows that are late, those that Spark's own watermark drops, and the sessions."""
    late = [part for part in parts if part.start + GAP <= watermark]
    others = [part for part in parts if part.start + GAP > watermark]
    dropped = sum(part.rows for part in others if part.last + GAP - 1 <= spark)
    groups: defaultdict[tuple[object, ...], list[Part]] = defaultdict(list)
    for part in sorted((part for part in others if part.last + GAP - 1 > spark), key=lambda part: part.start):
        groups[part.key].append(part)
    found = [session for group in groups.values() for session in joined(group)]
    return sum(part.rows for part in late), dropped, sorted(found, key=str)


def joined(group: Sequence[Part]) -> Iterator[Part]:
    session = group[0]
    for part in group[1:]:
        if part.start > session.last + GAP - 1:
            yield session
            session = part
            continue
        totals = [total for total in (session.total, part.total) if total is not None]
        leasts = [least for least in (session.least, part.least) if least is not None]
        session = Part(
            session.key,
            session.start,
            max(session.last, part.last),
            session.rows + part.rows,
            sum(totals) if totals else None,
            min(leasts, default=None),
        )
    yield session


@pytest.mark.parametrize("keys", ["", "auction,", "k,", "channel, hot, ratio, exact,"])
@pytest.mark.parametrize("seed", range(12))
def test_sessions_of_bursts_are_those_of_their_rows(keys: str, seed: int) -> None:
    some, chance = rows(seed, 400), random.Random(seed)
    for _ in range(20):
        watermark = chance.randrange(-12, 40) * GAP // 2 + chance.choice([-1, 0, 1])
        spark = chance.choice([watermark, watermark // 1_000 * 1_000, watermark - GAP])

        out = merged([some[start : start + 100] for start in range(0, 400, 100)], keys, watermark)

        assert sessions(out, watermark, spark) == sessions(unmerged(some, keys), watermark, spark)


def numbers(times: Sequence[int], watermark: int = -(2**62)) -> list[int]:
    table = pa.record_batch({EVENT_TIME: pa.array(times, pa.timestamp("us", "UTC"))})
    return in_bursts(table, (), timedelta(microseconds=GAP), watermark)[1].to_pylist()


def test_rows_exactly_the_gap_apart_are_in_two_bursts() -> None:
    assert numbers([0, GAP - 1, 3 * GAP, 2 * GAP]) == [0, 0, 1, 2]


def test_a_burst_has_no_late_rows_beside_others() -> None:
    times = [0, 1, 2, 3, 4]

    assert numbers(times, watermark=GAP + 1) == [0, 0, 1, 2, 2]
    assert numbers(times, watermark=GAP + 100) == [0, 0, 0, 0, 0]


def test_rows_that_are_centuries_apart_cross_as_they_are() -> None:
    far = [{**row, "seen": century * 10**16} for century, row in enumerate(rows(1, 2))]

    assert len(merged([[*far, *rows(2, 100)]], "", 0)) == 102


def test_bursts_are_fewer_than_rows() -> None:
    assert len(merged([rows(1, 4_000)], "auction,", 0)) < 60
