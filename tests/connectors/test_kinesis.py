"""Reading and writing streams, against a server that speaks Kinesis."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.server import ThreadedMotoServer

from engine.connectors.addresses import ALLOWED
from engine.connectors.base import HasMovingStart, Table
from engine.connectors.kinesis.connector import KINESIS
from engine.connectors.kinesis.options import KinesisConnectionOptions, KinesisOptions
from engine.connectors.testing import SINK_CHECKS, SOURCE_CHECKS, SinkCheck, SourceCheck
from engine.errors import (
    AddressRefusedError,
    BadRecordError,
    RowRefusedError,
    ScriptRefused,
    SourceRefusedError,
    SourceUnavailableError,
    StartPositionError,
    TargetRefusedError,
)
from tests.connectors.tables import NUMBERS, batch, between, epoch, positions, rows, sink, source, start, table, take
from tests.ports import free_port

pytestmark = pytest.mark.connectors

COUNT = 300
KEYS = {"auth.access_key_id": "me", "auth.secret_access_key": "mine-is-secret"}


@dataclass(frozen=True)
class Stream:
    """A stream that nobody else has."""

    client: Any
    endpoint: str
    name: str

    def put(self, *contents: bytes) -> None:
        for first in range(0, len(contents), 500):
            some = contents[first : first + 500]
            records = [{"Data": data, "PartitionKey": f"key {first + i}"} for i, data in enumerate(some)]
            self.client.put_records(StreamName=self.name, Records=records)

    def shards(self) -> list[str]:
        return [shard["ShardId"] for shard in self.client.list_shards(StreamName=self.name)["Shards"]]

    def records(self) -> list[dict[str, Any]]:
        found = []
        for shard in self.shards():
            answer = self.client.get_shard_iterator(
                StreamName=self.name, ShardId=shard, ShardIteratorType="TRIM_HORIZON"
            )
            found += self.client.get_records(ShardIterator=answer["ShardIterator"])["Records"]
        return found

    def split(self, shard: str) -> None:
        self.client.split_shard(StreamName=self.name, ShardToSplit=shard, NewStartingHashKey=str(2**126))

    def table(self, direction: str, metadata: dict[str, str] | None = None, **options: Any) -> Table:
        given = {"type": direction, "stream_name": self.name, "aws_region": "us-east-1", "endpoint": self.endpoint}
        keys = {name.replace(".", "__"): value for name, value in KEYS.items()}
        from_begin = {"source__offset": "earliest", "source__poll_interval": "0 seconds"}
        typed = {**given, **keys, **(from_begin if direction == "source" else {}), **options}
        is_set = {name: value for name, value in typed.items() if value is not None}
        return table("kinesis", NUMBERS, metadata, **{"format": "json", **is_set})


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    running = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def stream(server: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Stream:
    monkeypatch.setenv(ALLOWED, "127.0.0.1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    client: Any = boto3.client(
        "kinesis", endpoint_url=server, region_name="us-east-1", aws_access_key_id="me", aws_secret_access_key="mine"
    )
    name = f"s{abs(hash(request.node.nodeid)):x}"
    client.create_stream(StreamName=name, ShardCount=2)
    return Stream(client, server, name)


def numbers(*values: int) -> list[bytes]:
    return [json.dumps({"n": n, "name": str(n)}).encode() for n in values]


def located(stream: Stream) -> list[dict[str, Any]]:
    reader = source(stream.table("source", {"shard": "shard"}))
    ends = positions(reader, None)
    return rows(between(reader, ends[0], ends[-1]))


def read(of: Table) -> list[int]:
    reader = source(of)
    ends = positions(reader, None)
    return sorted(row["n"] for row in rows(between(source(of), ends[0], ends[-1])))


@pytest.mark.parametrize("check", SOURCE_CHECKS, ids=lambda check: check.__name__)
def test_the_source_keeps_the_contract(check: SourceCheck, stream: Stream) -> None:
    stream.put(*numbers(*range(COUNT)))

    check(stream.table("source"), COUNT)


@pytest.mark.parametrize("check", SINK_CHECKS, ids=lambda check: check.__name__)
def test_the_sink_keeps_the_contract(check: SinkCheck, stream: Stream, tmp_path: Path) -> None:
    check(stream.table("sink"), tmp_path, lambda: [record["Data"] for record in stream.records()])


def test_records_carry_where_they_are_from(stream: Stream) -> None:
    keys = {key: key for key in ("shard", "sequence_number", "partition_key", "event_time")}
    before = time.time()
    stream.put(*numbers(7))
    of = stream.table("source", keys)
    reader = source(of)
    ends = positions(reader, None)

    [row] = rows(between(reader, ends[0], ends[-1]))

    assert row["n"] == 7
    assert (row["shard"] in stream.shards(), row["partition_key"]) == (True, "key 0")
    assert ends[-1][row["shard"]] == {"after": row["sequence_number"]}
    assert abs(row["event_time"].timestamp() - before) < 60


def test_a_start_with_the_newest_records_is_an_instant_that_a_replay_keeps(stream: Stream) -> None:
    of = stream.table("source", source__offset="latest")

    begins = start(source(of))

    assert {name: set(position) for name, position in begins.items()} == {name: {"since"} for name in stream.shards()}
    since = [position["since"] for position in begins.values() if isinstance(position, dict)]
    assert all(abs(int(str(millis)) / 1000 - time.time()) < 60 for millis in since)


def test_a_start_at_an_instant_or_at_numbers_is_kept_to(stream: Stream) -> None:
    stream.put(*numbers(*range(20)))
    an_hour_ago = datetime.fromtimestamp(time.time() - 3600, UTC).isoformat()

    assert read(stream.table("source", source__offset=f"timestamp:{an_hour_ago}")) == list(range(20))
    named = json.dumps(dict.fromkeys(stream.shards(), 3))
    assert len(read(stream.table("source", source__offset=f"offsets:{named}"))) == 20 - 2 * len(stream.shards())
    with pytest.raises(StartPositionError, match="no sequence number is named"):
        read(stream.table("source", source__offset=f'offsets:{{"{stream.shards()[0]}": 3}}'))


def test_the_shards_of_a_split_follow_it(stream: Stream) -> None:
    parent, other = stream.shards()
    reader = source(stream.table("source", source__discovery_interval="0 seconds"))
    at = start(reader)
    stream.split(parent)
    assert set(reader.partitions()) == {parent, other}

    at |= reader.advance(at, None)  # the source has seen the shard open
    at |= reader.advance(at, None)
    assert reader.is_finished(parent, at[parent])
    children = set(reader.partitions()) - {parent, other}
    assert len(children) == 2
    assert isinstance(reader, HasMovingStart)
    assert reader.begin(children, is_first=False) == {child: {} for child in children}


def test_a_record_that_cannot_be_decoded_is_named(stream: Stream) -> None:
    stream.put(*numbers(1), b"nonsense", *numbers(2))

    with pytest.raises(BadRecordError, match=f"stream '{stream.name}', shardId-0000.*nonsense"):
        read(stream.table("source"))
    assert read(stream.table("source", bad_data="drop")) == [1, 2]


def test_keys_choose_the_shard(stream: Stream, tmp_path: Path) -> None:
    of = stream.table("sink", sink__explicit_hash_key_field="name")

    take(sink(of, tmp_path), epoch(1), [batch(NUMBERS, (1, "0"), (2, str(2**128 - 2)), (3, None))])

    shard_of = {row["n"]: row["shard"] for row in located(stream)}
    assert shard_of.keys() == {1, 2, 3}
    assert [shard_of[1], shard_of[2]] == stream.shards()


def test_rows_that_no_stream_accepts_are_refused(stream: Stream, tmp_path: Path) -> None:
    of = stream.table("sink", sink__explicit_hash_key_field="name")
    with pytest.raises(RowRefusedError, match="'x' is not a number"):
        take(sink(of, tmp_path / "a"), epoch(1), [batch(NUMBERS, (1, "x"))])

    of = stream.table("sink", bad_data="drop")
    take(sink(of, tmp_path / "b"), epoch(1), [batch(NUMBERS, (1, "x" * 2**20), (2, "y"))])

    assert [json.loads(record["Data"])["n"] for record in stream.records()] == [2]


def test_a_stream_that_is_not_there_is_named(stream: Stream, tmp_path: Path) -> None:
    for_reading, for_writing = (stream.table(way, stream_name="nothing") for way in ("source", "sink"))

    with pytest.raises(SourceRefusedError, match="the stream 'nothing' does not exist"):
        source(for_reading).partitions()
    with pytest.raises(TargetRefusedError, match="the stream 'nothing' does not exist"):
        take(sink(for_writing, tmp_path), epoch(1), [batch(NUMBERS, (1, "a"))])
    assert KINESIS.probe is not None
    with pytest.raises(SourceRefusedError, match="the stream 'nothing' does not exist"):
        KINESIS.probe(for_reading.options)
    assert KINESIS.probe(stream.table("source").options) == "the stream has 2 open shards"
    login = {"aws_region": "us-east-1", "endpoint": stream.endpoint, **KEYS}
    assert KINESIS.probe(KinesisConnectionOptions.model_validate(login)) == "Kinesis lets it in"


def test_a_server_that_is_away_is_an_outage(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.connectors.kinesis.client._ATTEMPTS", 1)
    of = stream.table("source", endpoint=f"http://127.0.0.1:{free_port()}")

    with pytest.raises(SourceUnavailableError, match="does not answer") as caught:
        source(of).partitions()

    assert caught.value.is_outage
    assert "mine-is-secret" not in str(caught.value)


def test_endpoints_on_the_private_network_are_refused(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    of = stream.table("source")
    monkeypatch.delenv(ALLOWED)

    with pytest.raises(AddressRefusedError, match="not a public address"):
        source(of).partitions()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"auth__secret_access_key": None}, "go together"),
        ({"source__offset": "group"}, "no position in a stream"),
        ({"stream_name": "a b"}, "stream_name"),
    ],
)
def test_options_that_make_no_sense_are_refused(stream: Stream, options: dict[str, Any], error: str) -> None:
    with pytest.raises(ScriptRefused, match=error):
        stream.table("source", **options)


def test_keys_never_print(stream: Stream) -> None:
    options = stream.table("source").options

    assert isinstance(options, KinesisOptions)
    assert "mine-is-secret" not in repr(options)


def test_records_with_ids_of_a_registry_are_refused(stream: Stream) -> None:
    assert KINESIS.source is not None
    of = stream.table("source", format="avro", avro__confluent_schema_registry="true")

    assert "a schema registry, such as kafka" in str(KINESIS.source.check(of))
