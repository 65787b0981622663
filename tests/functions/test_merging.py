"""Merged rows against the same in plain Python, over random rows."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from engine.arrow.merging import BYTES_MERGED, ROWS_MERGED, MergingRows
from engine.compile import compile_script
from engine.plan.nodes import Partials
from engine.plan.tree import EVENT_TIME, walk

SQL = """
CREATE TABLE bids (auction BIGINT, price BIGINT, small INT, ratio DOUBLE, channel TEXT, seen TIMESTAMP NOT NULL)
WITH (connector = 'single_file', path = '/bids.json', format = 'json', type = 'source', event_time_field = 'seen');
SELECT auction, channel, ratio, hop(INTERVAL '2 seconds', INTERVAL '5 seconds') AS w, count(*) AS n,
       count(price) AS prices, sum(price) AS total, sum(small) AS smalls, min(price) AS least, max(price) AS most,
       min(channel) AS first, max(seen) AS last, count(ratio) AS ratios
FROM bids WHERE small IS NULL OR small <> 3 GROUP BY auction, channel, ratio, w;
"""
START = datetime(1969, 12, 31, 23, 59, 50, tzinfo=UTC)
LARGEST = 2**63 - 1
Row = dict[str, object]


def partials() -> Partials:
    parts = replace(compile_script(SQL), is_fused=True).running_parts
    return next(node for branch in parts.branches for node in walk(branch) if isinstance(node, Partials))


def rows(seed: int, count: int, *, prices: Sequence[int | None]) -> list[Row]:
    chance = random.Random(seed)
    return [
        {
            "auction": chance.choice([1, 2, None]),
            "price": chance.choice(prices),
            "small": chance.choice([None, 3, -(2**31), 2**31 - 1]),
            "ratio": chance.choice([None, float("nan"), 0.5]),
            "channel": chance.choice(["a", "\U0001f600", "\uffff", "", None]),
            "seen": START + timedelta(microseconds=chance.randrange(20_000_000)),
        }
        for _ in range(count)
    ]


def batch(chunk: Sequence[Row]) -> pa.RecordBatch:
    types = {"auction": pa.int64(), "price": pa.int64(), "small": pa.int32(), "ratio": pa.float64()}
    types |= {"channel": pa.string(), "seen": pa.timestamp("us", "UTC")}
    columns = {name: pa.array([row[name] for row in chunk], kind) for name, kind in types.items()}
    return pa.record_batch({**columns, EVENT_TIME: columns["seen"]})


def merged(chunks: Sequence[Sequence[Row]]) -> list[Row]:
    merging = MergingRows(partials(), 0)
    batches = [*(merging.add(batch(chunk)) for chunk in chunks), merging.flush()]
    return [row for out in batches if out is not None for row in out.to_pylist()]


def pane_of(time: object) -> int:
    assert isinstance(time, datetime)
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)


def by_group(some: Sequence[Row], time: str) -> dict[tuple[object, ...], list[Row]]:
    groups: defaultdict[tuple[object, ...], list[Row]] = defaultdict(list)
    for row in some:
        groups[(pane_of(row[time]), row["auction"], row["channel"], str(row["ratio"]))].append(row)
    return groups


def present(some: Sequence[Row], name: str) -> list[object]:
    return [row[name] for row in some if row[name] is not None]


def answers(some: Sequence[Row]) -> tuple[object, ...]:
    prices = [value for value in present(some, "price") if isinstance(value, int)]
    smalls = [value for value in present(some, "small") if isinstance(value, int)]
    channels = [str(value).encode() for value in present(some, "channel")]
    return (
        len(some),
        len(prices),
        sum(prices) if prices else None,
        sum(smalls) if smalls else None,
        min(prices, default=None),
        max(prices, default=None),
        min(channels).decode() if channels else None,
        max(str(row["seen"]) for row in some),
        len(present(some, "ratio")),
    )


def totals(some: Sequence[Row]) -> tuple[object, ...]:
    """What Spark makes of partial rows of one group."""

    def numbers(name: str) -> list[int]:
        return [value for value in present(some, name) if isinstance(value, int)]

    channels = [str(value).encode() for value in present(some, "__partial5")]
    return (
        sum(numbers("__rows")),
        sum(numbers("__partial0")),
        sum(numbers("__partial1")) if numbers("__partial1") else None,
        sum(numbers("__partial2")) if numbers("__partial2") else None,
        min(numbers("__partial3"), default=None),
        max(numbers("__partial4"), default=None),
        min(channels).decode() if channels else None,
        max(str(row["__partial6"]) for row in some),
        sum(numbers("__partial7")),
    )


def chosen(some: Sequence[Row]) -> Iterator[Row]:
    return (row for row in some if row["small"] != 3)


@pytest.mark.parametrize("prices", [(None, 5, -7), (None, LARGEST, -LARGEST - 1, 1), (1 << 40, 1)])
@pytest.mark.parametrize("seed", range(6))
def test_groups_have_the_same_answers_as_their_rows(seed: int, prices: Sequence[int | None]) -> None:
    some = rows(seed, 900, prices=prices)

    out = merged([some[start : start + 100] for start in range(0, 900, 100)])

    expected = {group: answers(part) for group, part in by_group(list(chosen(some)), "seen").items()}
    assert {group: totals(part) for group, part in by_group(out, EVENT_TIME).items()} == expected


def test_small_numbers_are_merged_and_numbers_near_the_end_of_the_range_are_not() -> None:
    small, large = rows(1, 5_000, prices=(1, 2)), rows(1, 5_000, prices=(1, 1 << 40))

    assert len(merged([small])) == len(by_group(list(chosen(small)), "seen"))
    assert len(merged([large])) == len(list(chosen(large)))


def test_rows_wait_until_there_are_many() -> None:
    merging, chunk = MergingRows(partials(), 0), batch(rows(1, 1_000, prices=(1,)) * 16)
    emitted = [merging.add(chunk) is not None for _ in range(2 * ROWS_MERGED // chunk.num_rows)]

    assert sum(emitted) == 1
    assert emitted[-1] is False
    assert merging.flush() is not None
    assert merging.flush() is None


def test_long_rows_wait_for_fewer_others() -> None:
    long = [{**row, "channel": "x" * 2**20} for row in rows(1, 4, prices=(1,))]
    merging, chunk = MergingRows(partials(), 0), batch(long)
    emitted = [merging.add(chunk) is not None for _ in range(BYTES_MERGED // chunk.nbytes + 1)]

    assert True in emitted


def test_rows_that_stay_as_many_are_not_waited_for() -> None:
    merging = MergingRows(partials(), 0)
    different = [{**row, "auction": number} for number, row in enumerate(rows(1, 500, prices=(1,)))]
    merging.add(batch(different))
    assert merging.flush() is not None

    out = merging.add(batch(different))

    assert out is not None
    assert set(out.column("__rows").to_pylist()) == {1}
