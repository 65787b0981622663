from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from engine.connectors.base import Position, Table
from engine.connectors.generated import GeneratedSource, Numbers, Pace
from engine.connectors.nexmark.connector import NEXMARK
from engine.connectors.nexmark.events import EventMaker
from engine.connectors.options import read_table_options
from engine.errors import ScriptRefused
from tests.connectors.tables import connector, given, read_all, rows, source, table

SECOND = 1_000_000


class Timeline:
    """A counter and the clock it counts by, both moved by hand."""

    def __init__(self, pace: Pace) -> None:
        self.now = 1000 * SECOND
        of = table("impulse", None, {"at": "timestamp"}, event_rate=1)
        self.source = GeneratedSource(of, pace, _count, clock=lambda: self.now)
        self.at: Position = self.source.start("0")

    def step(self, seconds: float = 0, max_rows: int | None = None) -> list[tuple[int, float]]:
        """The numbers that have come since, each with its time in seconds behind the beginning."""
        self.now += int(seconds * SECOND)
        before, self.at = self.at, self.source.advance({"0": self.at}, max_rows)["0"]
        pieces = self.source.slices("0", before, self.at, 1)
        records = rows([chunk.rows for piece in pieces for chunk in self.source.read(piece)])
        return [(row["n"], row["at"].timestamp() - 1000) for row in records]


def _count(numbers: Numbers, micros: Numbers) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(numbers)], names=["n"])


def test_rows_come_at_the_rate_and_have_the_time_at_which_they_were_due() -> None:
    line = Timeline(Pace(10, None, None, None))

    assert [number for number, _ in line.step()] == [0]
    assert line.step(0.05) == []
    assert [number for number, _ in line.step(1)] == list(range(1, 11))
    [(number, due)] = line.step(0.1)
    assert number == 11
    assert due == pytest.approx(1.0, abs=0.11)


def test_a_slow_counter_starts_at_once() -> None:
    line = Timeline(Pace(0.5, None, None, None))

    assert [number for number, _ in line.step()] == [0]
    assert line.step(1) == []
    assert [number for number, _ in line.step(1)] == [1]


def test_after_a_long_pause_a_minute_is_owed_and_not_more() -> None:
    line = Timeline(Pace(10, None, None, None))
    line.step()

    numbers = line.step(3600)

    assert len(numbers) == pytest.approx(600, abs=1)
    assert numbers[0][1] > 3500


def test_a_count_ends_it() -> None:
    line = Timeline(Pace(1e6, 5, None, None))

    assert len(line.step()) == 5
    assert line.source.bounded
    assert line.source.is_finished("0", line.at)


def test_event_times_can_be_apart_by_a_fixed_distance_from_a_fixed_start() -> None:
    start = datetime(1970, 1, 1, 0, 16, 40, tzinfo=UTC)
    line = Timeline(Pace(1e6, 3, timedelta(seconds=5), start))

    assert line.step() == [(0, 0.0), (1, 5.0), (2, 10.0)]


def test_without_a_start_event_times_begin_where_the_pipeline_first_did() -> None:
    line = Timeline(Pace(1, 3, timedelta(seconds=5), None))

    assert line.step() == [(0, 0.0)]
    assert line.step(1) == [(1, 5.0)]


def test_impulse_counts_without_gaps() -> None:
    records = read_all(source(table("impulse", event_rate=1e9, message_count=20_000)), 7000, tasks=3)

    assert [row["counter"] for row in records] == list(range(20_000))
    assert {row["subtask_index"] for row in records} == {0}


@pytest.fixture(scope="module")
def events() -> pa.RecordBatch:
    numbers = np.arange(50_000, dtype=np.int64)
    return EventMaker(("person", "auction", "bid"), 0, 100.0)(numbers, numbers * 100)


def test_people_auctions_and_bids_come_as_1_to_3_to_46(events: pa.RecordBatch) -> None:
    counts = [len(column) - column.null_count for column in events.columns]

    assert counts == [1000, 3000, 46_000]
    present = [column.is_valid().cast(pa.int8()) for column in events.columns]
    assert pc.unique(pc.add(pc.add(*present[:2]), present[2])).to_pylist() == [1]


def test_ids_count_up_from_a_thousand(events: pa.RecordBatch) -> None:
    for column, count in (("person", 1000), ("auction", 3000)):
        ids = pc.struct_field(events.column(column).drop_null(), "id").to_pylist()
        assert ids == list(range(1000, 1000 + count))


def test_half_of_the_bids_go_to_hot_auctions_and_most_come_from_hot_bidders(events: pa.RecordBatch) -> None:
    bids = pa.Table.from_struct_array(events.column("bid").drop_null()).to_pandas()

    assert (bids.auction % 100 == 0).mean() == pytest.approx(0.5, abs=0.02)
    assert (bids.bidder % 100 == 1).mean() == pytest.approx(0.75, abs=0.02)
    assert bids.price.between(100, 100_000_000).all()
    assert bids.channel.isin(["Google", "Facebook", "Baidu", "Apple"]).mean() == pytest.approx(0.5, abs=0.02)


def test_events_depend_on_seed_and_number_alone(events: pa.RecordBatch) -> None:
    numbers = np.arange(12_345, 12_400, dtype=np.int64)
    maker = EventMaker(("person", "auction", "bid"), 0, 100.0)

    assert maker(numbers, numbers * 100).equals(events.slice(12_345, 55))
    assert not EventMaker(("bid",), 1, 100.0)(numbers, numbers * 100).equals(events.select(["bid"]).slice(12_345, 55))


def test_only_the_asked_columns_are_made() -> None:
    options = table("nexmark", message_count=100)
    bid = type(NEXMARK.schema)((NEXMARK.schema.fields[2],)) if NEXMARK.schema else None
    assert bid is not None
    narrow = Table("t", "nexmark", "source", options.options, bid)

    assert set(read_all(source(narrow))[0]) == {"bid"}


def test_a_runtime_is_a_count() -> None:
    of = source(table("nexmark", event_rate=1000, runtime=2))

    assert of.bounded
    assert not of.is_finished("0", {"n": 1999})
    assert of.is_finished("0", {"n": 2000})


def test_nexmark_without_rate_and_end_is_refused() -> None:
    with pytest.raises(ScriptRefused, match="option 'event_rate' is required"):
        read_table_options(connector("nexmark"), given(), table="t")
