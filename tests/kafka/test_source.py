"""Reading topics of a real broker, without Spark."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from engine import types
from engine.connectors.base import CommitListener, HasMovingStart
from engine.connectors.kafka import msk
from engine.connectors.kafka.read.positions import partition_name, share, split_name
from engine.errors import (
    BadRecordError,
    MissingTopicError,
    RecordsLostError,
    SourceRefusedError,
    SourceUnavailableError,
    TopicRecreatedError,
)
from engine.schema import Field, Schema
from tests.connectors.tables import between, rows, table
from tests.kafka.broker import PASSWORD, USER, Broker
from tests.kafka.proxy import LIST_OFFSETS, METADATA, OFFSET_FETCH, Wire, proxied
from tests.kafka.tables import VALUE, begin, kafka_source, kafka_table, offsets, place, values
from tests.ports import free_ports


def test_every_record_is_read_from_the_first_one_on(broker: Broker) -> None:
    topic = broker.create_topic(partitions=2)
    broker.produce(topic, "a", "b")
    broker.produce(topic, "c", partition=1)
    source = kafka_source(kafka_table(broker, topic))

    first = begin(source)
    last = source.advance(first, None)

    assert offsets(last) == [2, 1]
    assert values(source, first, last) == ["a", "b", "c"]


def test_the_latest_place_is_behind_what_is_there(broker: Broker) -> None:
    topic = broker.create_topic()
    broker.produce(topic, "old")
    source = kafka_source(kafka_table(broker, topic, source__offset="latest"))

    first = begin(source)
    broker.produce(topic, "new")

    assert values(source, first, source.advance(first, None)) == ["new"]


def test_a_group_goes_on_where_it_is_and_begins_at_the_first_record(broker: Broker) -> None:
    topic = broker.create_topic(partitions=2)
    broker.produce(topic, "a", "b", "c")
    broker.produce(topic, "d", partition=1)
    options = {"source__offset": "group", "source__group_id": topic}
    earlier_source = kafka_source(kafka_table(broker, topic, **options))
    earlier_source.partitions()
    broker.commit(topic, topic, 2)

    source = kafka_source(kafka_table(broker, topic, **options))
    first = begin(source)

    assert values(source, first, source.advance(first, None)) == ["c", "d"]


def test_several_topics_are_one_table(broker: Broker) -> None:
    first_topic, second_topic = broker.create_topic(), broker.create_topic()
    broker.produce(first_topic, "a")
    broker.produce(second_topic, "b")
    source = kafka_source(kafka_table(broker, f"{first_topic}, {second_topic}", {"from": "topic"}))

    first = begin(source)
    records = rows(list(between(source, first, source.advance(first, None))))

    assert records == [{"value": "a", "from": first_topic}, {"value": "b", "from": second_topic}]


def test_a_pattern_finds_topics_by_their_whole_name_and_new_ones_later(broker: Broker) -> None:
    broker.create_topic("pattern-a")
    broker.create_topic("no-pattern-a")
    broker.produce("pattern-a", "a")
    broker.produce("no-pattern-a", "no")
    options = {"source__topic_pattern": "pattern-.*", "source__discovery_interval": "0 seconds"}
    source = kafka_source(kafka_table(broker, None, source__offset="latest", **options))
    first = begin(source)

    broker.create_topic("pattern-b")
    broker.produce("pattern-b", "b")
    new_positions = source.begin([name for name in source.partitions() if name not in first], is_first=False)

    assert list(first) == ["pattern-a/0"]
    assert values(source, new_positions, source.advance(new_positions, None)) == ["b"]


def test_new_partitions_are_read_from_their_first_record(broker: Broker) -> None:
    topic = broker.create_topic()
    options = {"source__offset": "latest", "source__discovery_interval": "0 seconds"}
    source = kafka_source(kafka_table(broker, topic, **options))
    first = begin(source)
    broker.add_partitions(topic, 2)
    broker.produce(topic, "early", partition=1)

    new_positions = source.begin([name for name in source.partitions() if name not in first], is_first=False)

    assert values(source, new_positions, source.advance(new_positions, None)) == ["early"]


def test_records_around_those_of_aborted_transactions_are_read(broker: Broker) -> None:
    topic = broker.create_topic()
    broker.produce(topic, "a")
    with broker.transaction(topic, "no", "no", abort=True):
        pass
    with broker.transaction(topic, "b", "c"):
        pass
    source = kafka_source(kafka_table(broker, topic))
    first = begin(source)
    last = source.advance(first, None)

    assert offsets(last) == [7]
    assert values(source, first, last) == ["a", "b", "c"]


def test_a_range_of_nothing_but_aborted_records_ends(broker: Broker) -> None:
    topic = broker.create_topic()
    broker.produce(topic, "a")
    source = kafka_source(kafka_table(broker, topic))
    first = begin(source)
    middle = source.advance(first, None)
    for _ in range(3):
        with broker.transaction(topic, "no", abort=True):
            pass
    last = kafka_source(kafka_table(broker, topic)).advance(middle, None)

    assert offsets(last) == [7]
    assert values(source, middle, last) == []
    assert values(source, first, last) == ["a"]


def test_an_epoch_ends_before_an_open_transaction(broker: Broker) -> None:
    topic = broker.create_topic()
    broker.produce(topic, "a")
    with broker.transaction(topic, "open"):
        broker.produce(topic, "b")
        source = kafka_source(kafka_table(broker, topic))
        first = begin(source)
        committed = source.advance(first, None)
        anything = kafka_source(kafka_table(broker, topic, source__read_mode="read_uncommitted")).advance(first, None)

    assert (offsets(committed), offsets(anything)) == ([1], [3])


def test_uncommitted_records_are_read_when_that_is_wanted(broker: Broker) -> None:
    topic = broker.create_topic()
    with broker.transaction(topic, "aborted", abort=True):
        pass
    source = kafka_source(kafka_table(broker, topic, source__read_mode="read_uncommitted"))
    first = begin(source)

    assert values(source, first, source.advance(first, None)) == ["aborted"]


def test_metadata_of_a_record_becomes_columns(broker: Broker) -> None:
    topic = broker.create_topic(partitions=2, retention_ms=-1)
    broker.produce(topic, "a", partition=1, key=b"k", timestamp=1_700_000_000_123, headers=[("h", b"1"), ("h", None)])
    broker.produce(topic, "b", partition=1, timestamp=1_700_000_000_124)
    keys = ("topic", "partition", "offset_id", "timestamp", "event_time", "key", "headers")
    source = kafka_source(kafka_table(broker, topic, {key: key for key in keys}))
    first = begin(source)

    first_row, second_row = rows(list(between(source, first, source.advance(first, None))))

    assert first_row == {
        "value": "a",
        "topic": topic,
        "partition": 1,
        "offset_id": 0,
        "timestamp": 1_700_000_000_123,
        "event_time": datetime(2023, 11, 14, 22, 13, 20, 123_000, UTC),
        "key": b"k",
        "headers": [{"key": "h", "value": b"1"}, {"key": "h", "value": None}],
    }
    assert (second_row["key"], second_row["headers"], second_row["offset_id"]) == (None, [], 1)


def test_records_without_a_value_are_skipped_and_the_others_keep_their_columns(broker: Broker) -> None:
    topic = broker.create_topic()
    broker.produce(topic, "a", None, "b")
    source = kafka_source(kafka_table(broker, topic, {"at": "offset_id"}))
    first = begin(source)

    records = rows(list(between(source, first, source.advance(first, None))))

    assert records == [{"value": "a", "at": 0}, {"value": "b", "at": 2}]


def test_a_message_of_several_lines_is_several_records(broker: Broker) -> None:
    topic = broker.create_topic()
    broker.produce(topic, "a\nb\n", "c")
    read = replace(kafka_table(broker, topic, {"at": "offset_id"}), framing="newline")
    source = kafka_source(read)
    first = begin(source)

    records = rows(list(between(source, first, source.advance(first, None))))

    assert records == [{"value": "a", "at": 0}, {"value": "b", "at": 0}, {"value": "c", "at": 1}]


NUMBER = Schema((Field("n", types.BIGINT),))


def test_a_bad_record_says_where_it_is(broker: Broker) -> None:
    topic = broker.create_topic()
    broker.produce(topic, '{"n": 1}', None, "nonsense", '{"n": 2}')
    read = replace(kafka_table(broker, topic, format="json"), schema=NUMBER)
    source = kafka_source(read)
    first = begin(source)
    last = source.advance(first, None)

    with pytest.raises(BadRecordError, match=rf"topic '{topic}', partition 0, offset 2: .* The record is: nonsense"):
        list(between(source, first, last))
    dropping = kafka_source(replace(read, bad_data="drop"))
    (piece,) = dropping.slices(f"{topic}/0", first[f"{topic}/0"], last[f"{topic}/0"], 1)
    (chunk,) = dropping.read(piece)
    assert (chunk.rows.to_pylist(), chunk.dropped) == ([{"n": 1}, {"n": 2}], 1)
    (letter_chunk,) = kafka_source(replace(read, bad_data="dead_letter")).read(piece)
    assert [(letter.origin, letter.record) for letter in letter_chunk.dead_letters] == [
        (f"topic '{topic}', partition 0, offset 2", b"nonsense")
    ]


@pytest.mark.parametrize("tasks", [1, 3])
def test_many_records_come_in_order_in_one_piece_or_in_several(
    broker: Broker, tasks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.connectors.kafka.read.source._SMALLEST_SLICE", 100)
    monkeypatch.setattr("engine.connectors.kafka.read.fetch._AT_ONCE", 64)
    topic = broker.create_topic()
    expected = [str(number) for number in range(1000)]
    broker.produce(topic, *expected)
    source = kafka_source(kafka_table(broker, topic))
    first = begin(source)

    middle = source.advance(first, 333)
    last = kafka_source(kafka_table(broker, topic)).advance(middle, None)

    assert offsets(middle) == [333]
    assert values(source, first, middle, tasks) + values(source, middle, last, tasks) == expected
    assert values(source, first, last, tasks) == expected


def test_an_epoch_has_at_most_the_rows_and_about_the_bytes_it_may(broker: Broker) -> None:
    topic = broker.create_topic()
    broker.produce(topic, *["x" * 100] * 500)

    def reached(most: int | None, **limits: object) -> list[int]:
        source = kafka_source(kafka_table(broker, topic, **limits))
        return offsets(source.advance(begin(source), most))

    assert reached(50, source__max_rows_per_epoch=70) == [50]
    assert reached(90, source__max_rows_per_epoch=70) == [70]
    assert reached(None, source__max_bytes_per_epoch="2000 b") == [20]


def test_backlog_is_counted_to_the_last_committed_record(broker: Broker) -> None:
    topic = broker.create_topic(partitions=2)
    broker.produce(topic, *["x"] * 5, partition=0)
    broker.produce(topic, *["x"] * 3, partition=1)
    with broker.transaction(topic, "open"):
        broker.produce(topic, "y", partition=0)
        source = kafka_source(kafka_table(broker, topic))
        first = begin(source)
        after = source.advance(first, 4)

    assert sorted(source.waiting(first).values()) == [3, 5]
    assert sum(source.waiting(after).values()) == 4


def test_a_partition_is_at_its_end_where_the_last_look_ended(broker: Broker) -> None:
    topic = broker.create_topic()
    broker.produce(topic, *["x"] * 5)
    now = 0.0
    source = kafka_source(kafka_table(broker, topic))
    source._clock = lambda: now
    [partition] = first = begin(source)
    within = source.advance(first, 4)
    assert not source.is_at_end(partition, within[partition])
    now = 1.0
    behind = source.advance(within, None)
    assert source.is_at_end(partition, behind[partition])

    broker.produce(topic, "y")
    now = 2.0
    source.advance(behind, None)

    assert not source.is_at_end(partition, behind[partition])


def test_position_is_unchanged_without_new_records(broker: Broker) -> None:
    topic = broker.create_topic()
    now = 0.0
    read = kafka_table(broker, topic)
    source = kafka_source(read)
    source._clock = lambda: now
    first = begin(source)

    assert source.advance(first, None) is first
    broker.produce(topic, "a")
    assert source.advance(first, None) is first
    now = 1.0
    assert offsets(source.advance(first, None)) == [1]


def test_an_epoch_is_put_off_until_it_is_full_or_its_time_is_over(broker: Broker) -> None:
    topic = broker.create_topic()
    now = 0.0
    read = kafka_table(broker, topic, source__fill_time="30 seconds", source__max_rows_per_epoch=3)
    source = kafka_source(read)
    source._clock = lambda: now
    at = begin(source)

    def ends(*more: str, after: float) -> list[int]:
        nonlocal at, now
        now = after
        if more:
            broker.produce(topic, *more)
        at = dict(source.advance(at, None))
        return offsets(at)

    assert ends(after=0) == [0]
    assert ends("a", after=10) == [0]
    assert ends("b", after=39) == [0]
    assert ends(after=40) == [2]
    assert ends("c", after=50) == [2]
    assert ends("d", "e", "f", after=51) == [5]
    assert ends(after=52) == [5]
    assert ends(after=82) == [6]


def test_a_topic_that_is_not_there_is_named(broker: Broker) -> None:
    with pytest.raises(MissingTopicError, match="there is no topic 'nowhere'"):
        begin(kafka_source(kafka_table(broker, "nowhere")))


def test_records_that_are_gone_stop_the_table_or_are_counted(broker: Broker) -> None:
    topic = broker.create_topic()
    name = f"{topic}/0"
    broker.produce(topic, "a", "b", "c", "d")
    first = begin(kafka_source(kafka_table(broker, topic)))
    last = kafka_source(kafka_table(broker, topic)).advance(first, None)
    broker.delete_records(topic, before=3)

    strict = kafka_source(kafka_table(broker, topic))
    with pytest.raises(RecordsLostError, match="begins at offset 3, and was read up to 0: 3 records are gone"):
        strict.advance(first, None)
    with pytest.raises(RecordsLostError, match="begins at offset 3, and is read from 0 to 4"):
        values(strict, first, last)

    lenient = kafka_source(kafka_table(broker, topic, on_data_loss="continue"))
    (piece,) = lenient.slices(name, first[name], lenient.advance(first, None)[name], 1)
    chunks = list(lenient.read(piece))
    assert [row for chunk in chunks for row in chunk.rows.to_pylist()] == [{"value": "d"}]
    assert sum(chunk.dropped for chunk in chunks) == 3


def test_a_range_that_is_wholly_gone_ends(broker: Broker) -> None:
    topic = broker.create_topic()
    name = f"{topic}/0"
    broker.produce(topic, "a", "b", "c", "d")
    source = kafka_source(kafka_table(broker, topic, on_data_loss="continue"))
    first = begin(source)
    middle = source.advance(first, 2)
    broker.delete_records(topic, before=3)

    (piece,) = source.slices(name, first[name], middle[name], 1)

    assert [(chunk.rows.num_rows, chunk.dropped) for chunk in source.read(piece)] == [(0, 2)]


def test_a_topic_that_was_made_again_is_noticed_even_when_it_has_as_many_records(broker: Broker) -> None:
    topic = broker.create_topic()
    broker.produce(topic, "a", "b")
    first = begin(kafka_source(kafka_table(broker, topic)))
    last = kafka_source(kafka_table(broker, topic)).advance(first, None)
    broker.delete_topic(topic)
    strict = kafka_source(kafka_table(broker, topic))
    with pytest.raises(MissingTopicError, match="read up to offset 2, no longer exists"):
        strict.advance(last, None)

    broker.create_topic(topic)
    broker.produce(topic, "x", "y", "z")

    with pytest.raises(TopicRecreatedError, match="deleted and created again after partition 0 was read up to 2"):
        kafka_source(kafka_table(broker, topic)).advance(last, None)
    with pytest.raises(TopicRecreatedError):
        kafka_source(kafka_table(broker, topic)).slices(f"{topic}/0", first[f"{topic}/0"], last[f"{topic}/0"], 1)
    lenient = kafka_source(kafka_table(broker, topic, on_data_loss="continue"))
    lenient.partitions()
    assert values(lenient, last, lenient.advance(last, None)) == ["x", "y", "z"]


def test_the_group_is_told_how_far_the_table_was_read(broker: Broker) -> None:
    topic = broker.create_topic()
    broker.produce(topic, "a", "b")
    source = kafka_source(kafka_table(broker, topic, source__group_id=topic))
    last = source.advance(begin(source), None)

    source.acknowledge(last)

    broker.until(lambda: broker.committed(topic, topic) == 2)


def test_a_kafka_source_writes_down_where_it_begins_and_is_watched(broker: Broker) -> None:
    source = kafka_source(kafka_table(broker, "any"))

    assert isinstance(source, HasMovingStart)
    assert isinstance(source, CommitListener)
    assert not source.is_finished("any/0", 0)


def test_brokers_that_do_not_answer_are_named_and_may_be_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.connectors.kafka.read.fetch._POLL_SECONDS", 0.1)
    (port,) = free_ports(1)
    source = kafka_source(
        table(
            "kafka",
            VALUE,
            bootstrap_servers=f"127.0.0.1:{port}",
            type="source",
            format="raw_string",
            topic="any",
            source__broker_timeout="500 milliseconds",
        )
    )

    for asking in (source.partitions, lambda: values(source, {"any/0": place(0)}, {"any/0": place(1)})):
        with pytest.raises(SourceUnavailableError, match=f"Kafka at 127.0.0.1:{port}") as refused:
            asking()
        assert refused.value.retryable
        assert "it is up" in (refused.value.hint or "")


@pytest.mark.parametrize("by_pattern", [False, True])
@pytest.mark.parametrize("request_kind", [METADATA, LIST_OFFSETS, OFFSET_FETCH])
def test_a_question_whose_answer_is_lost_with_the_broker_is_asked_again(
    broker: Broker, request_kind: int, by_pattern: bool
) -> None:
    topic = broker.create_topic()
    broker.produce(topic, "one", "two")
    broker.commit(topic, topic, 1)
    wire = Wire(request_kind)
    options = {"source__offset": "group", "source__group_id": topic} | (
        {"source__topic_pattern": topic} if by_pattern else {}
    )
    with proxied(broker, wire) as address:
        source = kafka_source(kafka_table(broker, None if by_pattern else topic, bootstrap_servers=address, **options))
        source.partitions()
        for _ in range(3):  # so that the clients are connected, and it is their questions that get lost
            wire.count += 1
            source._discover()
            at = begin(source)

            assert offsets(at) == [1]
            assert offsets(source.advance(at, None)) == [2]
    assert wire.lost == 3


def test_a_password_that_is_wrong_is_said_to_be(broker: Broker) -> None:
    def asked(password: str) -> Sequence[str]:
        login = {"auth__type": "sasl", "auth__protocol": "SASL_PLAINTEXT", "auth__username": USER}
        options = login | {"auth__password": password, "bootstrap_servers": broker.sasl_address}
        return kafka_source(kafka_table(broker, topic, **options, source__broker_timeout="3 seconds")).partitions()

    topic = broker.create_topic()

    assert asked(PASSWORD) == [f"{topic}/0"]
    with pytest.raises(SourceRefusedError) as refused:
        asked("wrong")
    assert "auth.password" in (refused.value.hint or "")


def test_brokers_that_know_tokens_are_read_by_tokens(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    regions: list[str] = []

    def encoded(part: Mapping[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")

    def sign_in(region: str, _: str = "") -> tuple[str, float]:
        regions.append(region)
        now = time.time()
        return f"{encoded({'alg': 'none'})}.{encoded({'sub': 'me', 'iat': now - 1, 'exp': now + 300})}.", now + 300

    monkeypatch.setattr(msk, "sign_in", sign_in)
    topic = broker.create_topic()
    broker.produce(topic, "a", "b")
    login = {"auth__type": "aws_msk_iam", "auth__region": "eu-west-1", "auth__protocol": "SASL_PLAINTEXT"}
    source = kafka_source(kafka_table(broker, topic, **login, bootstrap_servers=broker.sasl_address))
    first = begin(source)

    assert values(source, first, source.advance(first, None)) == ["a", "b"]
    assert set(regions) == {"eu-west-1"}


def test_partitions_are_named_by_topic_and_number() -> None:
    assert partition_name("a.b-c", 12) == "a.b-c/12"
    assert split_name("a.b-c/12") == ("a.b-c", 12)


def test_backlog_is_divided_in_proportion() -> None:
    assert share({"a": 5, "b": 0}, None) == {"a": 5, "b": 0}
    assert share({"a": 5, "b": 5}, 10) == {"a": 5, "b": 5}
    assert share({"a": 1000, "b": 500}, 30) == {"a": 20, "b": 10}
    assert sum(share({"a": 7, "b": 7, "c": 7}, 10).values()) == 10
    assert share({"a": 1, "b": 1000}, 1) == {"a": 0, "b": 1}
    assert share({"a": 1, "b": 1000, "c": 0}, 2) == {"a": 1, "b": 1, "c": 0}
