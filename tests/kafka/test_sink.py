"""What records look like, and what the options mean."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message

from engine.connectors import kind_of, sink_kind_of
from engine.connectors.base import HasProbe, Table
from engine.connectors.kafka.write.records import parts_of
from engine.delivery.file_ledger import WritePermit, read_ledger
from engine.errors import EngineError, MissingTopicError, ScriptRefused
from engine.plan.tree import RETRACT, ROW_ID
from engine.schema import Field, Schema
from engine.types import BIGINT, BOOLEAN, TEXT, TIMESTAMP, Bytes, Member, Struct
from tests.connectors.tables import batch, epoch, sink, table, take
from tests.kafka.broker import PASSWORD, USER, Broker
from tests.kafka.sink_pipeline import (
    EPOCHS,
    EVENTS,
    MODES,
    TIMED,
    directory,
    expected,
    make_topic,
    numbers,
    run,
    settled,
    target,
)

AT = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
MILLIS = 1714979289123


def written(of: Table, broker: Broker, root: Path, schema: Schema, *rows: tuple[object, ...]) -> list[Message]:
    """What a reader finds after one epoch with these rows."""
    take(sink(of, root / "state" / "sinks" / "t"), epoch(0), [batch(schema, *rows)])
    return settled(broker, of.options.topic)  # type: ignore[attr-defined]


@pytest.mark.parametrize("parallelism", [1, 3])
def test_every_row_is_there_once(parallelism: int, broker: Broker, tmp_path: Path) -> None:
    topic = make_topic(broker, partitions=4)

    run(target(broker.address, topic, sink__parallelism=parallelism), tmp_path)

    assert numbers(settled(broker, topic)) == expected(EPOCHS)


@pytest.mark.parametrize("mode", MODES)
def test_a_topic_is_probed_without_a_record(mode: str, broker: Broker, tmp_path: Path) -> None:
    topic = make_topic(broker)

    def probe(name: str) -> None:
        asked = sink(target(broker.address, name, sink__commit_mode=mode), tmp_path / "state" / "sinks" / "t")
        assert isinstance(asked, HasProbe)
        asked.probe()

    probe(topic)
    assert settled(broker, topic) == []
    with pytest.raises(MissingTopicError):
        probe(f"{topic}-that-nobody-made")


@pytest.mark.parametrize("mode", MODES)
def test_a_record_has_the_key_the_time_and_the_headers_that_the_columns_say(
    mode: str, broker: Broker, tmp_path: Path
) -> None:
    kind = Struct((Member("trace", TEXT), Member("raw", Bytes())))
    columns = (Field("k", TEXT), Field("at", TIMESTAMP), Field("h", kind))
    options = {"sink__key_field": "K", "sink__timestamp_field": "at", "sink__headers_field": "h"}
    of = table("kafka", Schema(columns), bootstrap_servers=broker.address, type="sink", topic=make_topic(broker),
               format="json", sink__commit_mode=mode, **options)  # fmt: skip

    first, second = written(of, broker, tmp_path, Schema(columns), ("a", AT, {"trace": "x", "raw": b"\0"}),
                         (None, None, None))  # fmt: skip

    assert (first.key(), first.timestamp()[1], first.headers()) == (b"a", MILLIS, [("trace", b"x"), ("raw", b"\0")])
    assert json.loads(first.value() or b"")["k"] == "a"
    assert (second.key(), second.headers()) == (None, None)
    assert second.timestamp()[1] > MILLIS


@pytest.mark.parametrize("mode", MODES)
def test_the_time_of_a_record_is_the_event_time(mode: str, broker: Broker, tmp_path: Path) -> None:
    of = target(broker.address, make_topic(broker), sink__commit_mode=mode)

    [message] = written(of, broker, tmp_path, TIMED, (1, "a", AT))

    assert (message.key(), message.value(), message.timestamp()[1]) == (b"a", b'{"n":1,"name":"a"}', MILLIS)
    assert sink_kind_of(of).needs_event_time(of.options)


def test_raw_text_is_the_value_and_null_is_none(broker: Broker, tmp_path: Path) -> None:
    columns = Schema((Field("value", TEXT),))
    of = table("kafka", columns, bootstrap_servers=broker.address, type="sink", topic=make_topic(broker),
               format="raw_string")  # fmt: skip

    messages = written(of, broker, tmp_path, Schema((*columns, Field("_timestamp", TIMESTAMP))), ("ä", AT), (None, AT))

    assert [message.value() for message in messages] == ["ä".encode(), None]


def test_a_change_has_the_key_of_the_row_it_is_about(broker: Broker, tmp_path: Path) -> None:
    hidden = (Field(RETRACT, BOOLEAN), Field(ROW_ID, BIGINT), Field("_timestamp", TIMESTAMP))
    of = target(broker.address, make_topic(broker), format="debezium_json", sink__commit_mode="at_least_once")
    rows = [(1, "new", False, 1, AT), (2, "old", True, 2, AT), (3, "now", False, 2, AT), (4, "gone", True, 3, AT)]

    messages = written(of, broker, tmp_path, Schema((*EVENTS, *hidden)), *rows)

    assert {(message.key(), json.loads(message.value() or b"")["op"]) for message in messages} == {
        (b"new", "c"),
        (b"now", "u"),
        (b"gone", "d"),
    }


def test_at_least_once_an_epoch_that_was_the_last_is_not_noted_twice(broker: Broker, tmp_path: Path) -> None:
    topic = make_topic(broker)
    of = target(broker.address, topic, sink__commit_mode="at_least_once")
    run(of, tmp_path, until=2)
    (tmp_path / "commits").write_text("0\n")

    run(of, tmp_path, until=2)

    messages = settled(broker, topic)
    assert numbers(messages[: len(expected(2))]) == expected(2)
    assert len(messages) == len(expected(2)) + 10


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("limit", ["topic", "client"])
def test_a_record_that_is_too_large_is_named(limit: str, mode: str, broker: Broker, tmp_path: Path) -> None:
    topic = make_topic(broker, max_message_bytes=2000) if limit == "topic" else make_topic(broker)
    large = "x" * (5000 if limit == "topic" else 1_100_000)

    with pytest.raises(EngineError) as refused:
        written(target(broker.address, topic, sink__commit_mode=mode), broker, tmp_path, TIMED, (1, large, AT))

    assert refused.value.code == "delivery.record_too_large"
    assert broker.read(topic) == []


@pytest.mark.parametrize("mode", MODES)
def test_a_row_that_is_too_large_is_left_out_and_kept(mode: str, broker: Broker, tmp_path: Path) -> None:
    letters = tmp_path / "kept"
    more = {"bad_data": "dead_letter", "dead_letter__path": str(letters), "client_configs": "message.max.bytes=2000"}
    of = target(broker.address, make_topic(broker), sink__commit_mode=mode, **more)
    rows = [(1, "a", AT), (2, "x" * 950, AT), (3, "y" * 900, AT)]

    messages = written(of, broker, tmp_path, TIMED, *rows)

    [file] = letters.iterdir()
    [letter] = [json.loads(line) for line in file.read_text().splitlines()]
    assert numbers(messages) == [1, 3]
    assert json.loads(letter["record"])["n"] == 2
    assert letter["table"] == "t"
    assert "'message.max.bytes', 2000" in letter["error"]


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("bad_data", ["drop", "dead_letter"])
def test_oversized_row_is_stored_once_when_its_epoch_is_repeated(
    bad_data: str, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(*_: object, **__: object) -> None:
        raise Killed

    letter_options = {"dead_letter__path": str(tmp_path / "kept")} if bad_data == "dead_letter" else {}
    more = {"bad_data": bad_data, "client_configs": "message.max.bytes=2000", **letter_options}
    of = target(broker.address, make_topic(broker), sink__commit_mode="exactly_once", sink__parallelism=2, **more)
    rows = [(number, "x" * 2000 if number % 3 == 0 else "a", AT) for number in range(10)]
    with monkeypatch.context() as patched:
        patched.setattr(WritePermit, "record", kill)
        with pytest.raises(Killed):
            written(of, broker, tmp_path, TIMED, *rows)

    messages = written(of, broker, tmp_path, TIMED, *rows)

    assert sorted(numbers(messages)) == [1, 2, 4, 5, 7, 8]
    letters = [line for file in tmp_path.glob("kept/*") for line in file.read_text().splitlines()]
    assert len(letters) == (4 if bad_data == "dead_letter" else 0)
    assert [(entry.rows, entry.refused) for entry in read_ledger(directory(tmp_path))] == [(6, 4)]


@pytest.mark.parametrize("mode", MODES)
def test_a_record_of_the_far_future_is_named(mode: str, broker: Broker, tmp_path: Path) -> None:
    of = target(broker.address, make_topic(broker), sink__commit_mode=mode)

    with pytest.raises(EngineError) as refused:
        written(of, broker, tmp_path, TIMED, (1, "a", datetime(2200, 1, 1, tzinfo=UTC)))

    assert refused.value.code == "delivery.refused"
    assert "sink.timestamp_field" in (refused.value.hint or "")


@pytest.mark.parametrize("mode", MODES)
def test_a_topic_that_is_not_there_is_named(mode: str, broker: Broker, tmp_path: Path) -> None:
    with pytest.raises(EngineError) as refused:
        written(target(broker.address, "nowhere", sink__commit_mode=mode), broker, tmp_path, TIMED, (1, "a", AT))

    assert refused.value.code == "data.missing_topic"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("password", [PASSWORD, "wrong"])
def test_failed_login_is_reported(password: str, mode: str, broker: Broker, tmp_path: Path) -> None:
    login = {"auth__type": "sasl", "auth__protocol": "SASL_PLAINTEXT", "auth__username": USER}
    of = target(broker.sasl_address, make_topic(broker), sink__commit_mode=mode, auth__password=password, **login)
    if password == PASSWORD:
        assert len(written(of, broker, tmp_path, TIMED, (1, "a", AT))) == 1
        return

    with pytest.raises(EngineError) as refused:
        written(of, broker, tmp_path, TIMED, (1, "a", AT))

    assert refused.value.code == "delivery.refused"
    assert password not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topic": "a,b"}, "must name a single topic"),
        ({"sink__transaction_timeout": "1 hour"}, "between 10 seconds and 15 minutes"),
        ({"sink__transaction_timeout": "1 second"}, "between 10 seconds and 15 minutes"),
        ({"sink__commit_mode": "at_least_once", "sink__parallelism": 2}, "only for sink.commit_mode = 'exactly_once'"),
        ({"client_configs": "transactional.id=mine"}, "cannot be set in a script"),
        ({"client_configs": "acks=0"}, "cannot be set in a script"),
        ({"client_configs": "enable.idempotence=false"}, "cannot be set in a script"),
        ({"client_configs": "isolation.level=read_uncommitted"}, "cannot be set in a script"),
    ],
)
def test_options_that_would_break_a_promise_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ScriptRefused) as refused:
        target("here:9092", **{"topic": "t"} | options)

    assert message in str(refused.value)


@pytest.mark.parametrize("option", ["sink.key_field", "sink.timestamp_field", "sink.headers_field"])
@pytest.mark.parametrize("column", ["n", "nothing"])
def test_columns_that_do_not_fit_are_refused(option: str, column: str) -> None:
    of = target("here:9092", "t", **{option.replace(".", "__"): column})

    complaint = kind_of(of).check(of)

    assert complaint is not None
    assert option in complaint


def test_equal_keys_go_into_the_same_part_whichever_task_has_them() -> None:
    keys = batch(Schema((Field("k", Bytes()),)), *((key,) for key in (b"a", b"b", None, b"a", b"c"))).column(0)

    first_parts, second_parts = parts_of(keys, 0, 4).tolist(), parts_of(keys, 1, 4).tolist()

    assert [first_parts[at] for at in (0, 1, 3, 4)] == [second_parts[at] for at in (0, 1, 3, 4)]
    assert first_parts[0] == first_parts[3]
    assert (first_parts[2], second_parts[2]) == (0, 1)
