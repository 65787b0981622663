"""Which shards are read in which order, where epochs end, and what is sent again, with a stream in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from engine.connectors.base import Position, Table
from engine.connectors.kinesis.options import KinesisSinkOptions, KinesisSourceOptions
from engine.connectors.kinesis.positions import Shard, ShardPosition, readable, stated_numbers
from engine.connectors.kinesis.sink import Record, Sender
from engine.connectors.kinesis.source import KinesisSource
from engine.connectors.testing import between, rows, start
from engine.errors import RecordsLostError, StartPositionError, TargetUnavailableError
from engine.values.start_positions import StartPosition
from tests.connectors.streams import FakeStream
from tests.connectors.tables import NUMBERS, table

SPLIT_AND_MERGED = {
    "0": Shard("0", is_open=False),
    "1": Shard("1", ("0",), is_open=False),
    "2": Shard("2", ("0",), is_open=False),
    "3": Shard("3", ("1", "2")),
}


def numbers(*values: int) -> list[bytes]:
    return [json.dumps({"n": n}).encode() for n in values]


def stream_table(**options: Any) -> Table:
    given = {"source__offset": "earliest", "source__poll_interval": "0 seconds", **options}
    return table("kinesis", NUMBERS, type="source", stream_name="s", format="json", **given)


def reader(stream: FakeStream, of: Table | None = None, **options: Any) -> KinesisSource:
    of = of or stream_table(**options)
    assert isinstance(of.options, KinesisSourceOptions)
    return KinesisSource(of, of.options, client=stream, clock=iter(range(10**6)).__next__)


def step(of: KinesisSource, at: dict[str, Position], max_rows: int | None = None) -> dict[str, Position]:
    """The next position, as the planner asks for it: new shards are read from the next epoch on."""
    new = [name for name in of.partitions() if name not in at]
    return {**of.advance(at, max_rows), **of.begin(new, is_first=False)}


def read(of: KinesisSource, first: Mapping[str, Position], last: Mapping[str, Position]) -> list[int]:
    return [row["n"] for row in rows(between(of, first, {name: last[name] for name in first}))]


@pytest.mark.parametrize(
    ("ended", "expected"), [("", ["0"]), ("0", ["0", "1", "2"]), ("01", ["0", "1", "2"]), ("012", list("0123"))]
)
def test_a_shard_is_read_once_all_its_parents_are(ended: str, expected: list[str]) -> None:
    assert readable(SPLIT_AND_MERGED, set(ended), ()) == expected


def test_a_parent_that_has_left_the_stream_holds_nothing_back() -> None:
    left = {name: shard for name, shard in SPLIT_AND_MERGED.items() if name in "23"}

    assert readable(left, {"2"}, ()) == ["2", "3"]
    assert readable(left, {"2"}, {"1"}) == ["2"]


def test_a_start_at_numbers_skips_ancestors_and_reads_descendants_from_their_begin() -> None:
    positions = stated_numbers("t", {"1": 7, "2": 9}, SPLIT_AND_MERGED)

    assert positions == {
        "0": ShardPosition(is_end=True),
        "1": ShardPosition(at="7"),
        "2": ShardPosition(at="9"),
        "3": ShardPosition(),
    }
    with pytest.raises(StartPositionError, match="for shard '2'"):
        stated_numbers("t", {"1": 7}, SPLIT_AND_MERGED)
    with pytest.raises(StartPositionError, match="no shard 'x'"):
        stated_numbers("t", {"x": 7}, SPLIT_AND_MERGED)


def test_records_of_a_key_stay_in_order_over_a_split_and_a_merge() -> None:
    stream = FakeStream()
    stream.open("0")
    stream.add("0", *numbers(1, 2))
    of = reader(stream, source__discovery_interval="0 seconds")
    at = start(of)
    stream.open("1", "0")
    stream.open("2", "0")
    stream.add("1", *numbers(3, 4))
    stream.add("2", *numbers(13, 14))
    stream.open("3", "1", "2")
    stream.add("3", *numbers(5, 15))
    seen: list[list[int]] = []
    for _ in range(8):
        following = step(of, at)
        seen.append(read(of, at, following))
        at = following

    assert [epoch for epoch in seen if epoch] == [[1, 2], [3, 4, 13, 14], [5, 15]]
    assert [of.is_finished(name, at[name]) for name in "0123"] == [True, True, True, False]
    assert of.is_at_end("3", at["3"])


@pytest.mark.parametrize("max_rows", [1, 2, 5, None])
def test_epochs_of_any_size_and_a_new_reader_have_the_same_records(max_rows: int | None) -> None:
    stream = FakeStream(at_once=3)
    stream.open("0").empty_answers = 2
    stream.add("0", *numbers(*range(10)))
    of = reader(stream)
    at, found = start(of), list[int]()
    for number in range(40):
        of = reader(stream) if number % 3 == 2 else of
        following = dict(of.advance(at, max_rows))
        epoch = read(reader(stream), at, following)
        assert max_rows is None or len(epoch) <= max_rows
        found, at = found + epoch, following

    assert found == list(range(10))


def test_an_iterator_that_has_expired_is_renewed() -> None:
    stream = FakeStream()
    stream.open("0")
    of = reader(stream)
    at = dict(of.advance(start(of), None))
    stream.add("0", *numbers(1))
    stream.expired = True

    assert read(of, at, of.advance(at, None)) == [1]


def test_a_shard_is_not_asked_again_before_the_pause_is_over() -> None:
    stream = FakeStream()
    stream.open("0")
    of = reader(stream, source__poll_interval="100 seconds")
    at = dict(of.advance(start(of), None))
    stream.add("0", *numbers(1))

    assert of.advance(at, None) == at


def test_records_that_have_left_before_they_were_read_are_an_error_unless_allowed() -> None:
    stream = FakeStream()
    stream.open("0")
    stream.add("0", *numbers(1, 2, 3))
    first = start(reader(stream))
    last = reader(stream).advance(first, None)
    del stream.shards["0"].records[2]

    with pytest.raises(RecordsLostError, match="is gone from shard '0'"):
        read(reader(stream), first, last)
    assert read(reader(stream, on_data_loss="continue"), first, last) == [1, 2]


def test_a_shard_that_has_left_is_an_error_unless_allowed() -> None:
    stream = FakeStream()
    stream.open("0")
    at: dict[str, Position] = {"0": {}, "old": {"after": "7"}}

    with pytest.raises(RecordsLostError, match="the shard is gone from shard 'old'"):
        reader(stream).advance(at, None)
    assert reader(stream, on_data_loss="continue").advance(at, None)["old"] == {"after": "7", "end": True}


def test_the_newest_records_are_those_of_open_shards_from_now_on() -> None:
    stream = FakeStream()
    stream.open("0")
    stream.open("1", "0")

    begins = start(reader(stream, source__offset="latest"))

    assert begins["0"] == {"end": True}
    assert isinstance(begins["1"], dict)
    assert begins["1"].keys() == {"since"}


def test_a_start_of_the_run_goes_before_that_of_the_table() -> None:
    stream = FakeStream()
    stream.open("0")
    of = replace(stream_table(), start=StartPosition("offsets", offsets=(("0", 7),)))

    assert start(reader(stream, of)) == {"0": {"at": "7"}}


def send(stream: FakeStream, count: int, size: int = 10, **options: Any) -> list[float]:
    settings = KinesisSinkOptions.model_validate({"stream_name": "s", **options})
    pauses: list[float] = []
    records: list[Record] = [{"Data": b"x" * size, "PartitionKey": f"{n:02}"} for n in range(count)]
    Sender(settings, stream, pauses.append, lambda: sum(pauses)).send_all(iter(records))
    return pauses


def test_only_what_was_not_accepted_is_sent_again_after_a_pause() -> None:
    stream = FakeStream(refusals=[{0, 2}, {1}])

    pauses = send(stream, 4)

    sent = [[record["PartitionKey"] for record in request] for request in stream.requests]
    assert sent == [["00", "01", "02", "03"], ["00", "02"], ["02"]]
    assert pauses == [0.1, 0.2]


def test_requests_keep_to_the_limits_of_a_stream() -> None:
    by_count, by_size = FakeStream(), FakeStream()
    send(by_count, 1001)
    send(by_size, 9, size=600_000, **{"sink.max_bytes_per_batch": 1_300_000})

    assert [len(request) for request in by_count.requests] == [500, 500, 1]
    assert [len(request) for request in by_size.requests] == [2, 2, 2, 2, 1]


def test_a_stream_that_accepts_nothing_ends_the_epoch() -> None:
    stream = FakeStream(refusals=[{0}] * 500)

    with pytest.raises(TargetUnavailableError, match="ProvisionedThroughputExceeded"):
        send(stream, 1, **{"sink.retry_timeout": timedelta(minutes=1)})
