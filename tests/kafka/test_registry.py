"""Records that a schema registry describes: written to a real broker, read back, and what a stranger finds there."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2

from engine import types
from engine.connectors.addresses import ALLOWED
from engine.schema import Field, Schema
from tests.connectors.http_serving import serving
from tests.connectors.registry_stub import Stub
from tests.connectors.tables import batch, between, epoch, rows, sink, table, take
from tests.kafka.broker import Broker
from tests.kafka.sink_pipeline import MODES, make_topic, settled
from tests.kafka.tables import begin, kafka_source

COLUMNS = Schema(
    (
        Field("id", types.BIGINT, nullable=False),
        Field("amount", types.Decimal(10, 2)),
        Field("st", types.Struct((types.Member("a", types.TEXT),))),
    )
)
AT = datetime(2024, 5, 6, tzinfo=UTC)
TIMED = Schema((*COLUMNS, Field("_timestamp", types.TIMESTAMP)))


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    monkeypatch.setenv(ALLOWED, "localhost")
    with serving(Stub()) as stub:
        yield stub


def described(path: Path) -> dict[str, str]:
    """Options of Protobuf: a message with the columns."""
    file = descriptor_pb2.FileDescriptorProto(name="orders.proto", syntax="proto3")
    message = file.message_type.add(name="Order")
    kind = descriptor_pb2.FieldDescriptorProto
    message.nested_type.add(name="St").field.add(name="a", number=1, type=kind.TYPE_STRING, label=kind.LABEL_OPTIONAL)
    message.oneof_decl.add(name="_amount")

    def add(name: str, number: int, of: Any, **more: Any) -> None:
        message.field.add(name=name, number=number, type=of, label=kind.LABEL_OPTIONAL, **more)

    add("id", 1, kind.TYPE_INT64)
    add("amount", 2, kind.TYPE_STRING, oneof_index=0, proto3_optional=True)
    add("st", 3, kind.TYPE_MESSAGE, type_name=".Order.St")
    path.write_bytes(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
    return {"protobuf__descriptor": str(path), "protobuf__message": "Order"}


@pytest.mark.parametrize("form", ["avro", "json", "protobuf"])
@pytest.mark.parametrize("mode", MODES)
def test_rows_written_with_a_registry_are_read_with_it(
    form: str, mode: str, registry: Stub, broker: Broker, tmp_path: Path
) -> None:
    topic = make_topic(broker)
    options = {
        "bootstrap_servers": broker.address,
        "topic": topic,
        "format": form,
        f"{form}__confluent_schema_registry": True,
        "schema_registry__endpoint": registry.url,
        **(described(tmp_path / "orders.desc") if form == "protobuf" else {}),
    }
    to = table("kafka", COLUMNS, type="sink", sink__commit_mode=mode, **options)

    take(
        sink(to, tmp_path / "state/sinks/t"),
        epoch(0),
        [batch(TIMED, (1, Decimal("1.50"), {"a": "x"}, AT), (2, None, None, AT))],
    )

    assert {value.value()[:5] for value in settled(broker, topic)} == {b"\0\0\0\0\1"}
    (schema,) = registry.registered
    assert schema[:2] == (f"/subjects/{topic}-value/versions", form.upper())
    assert "amount" in (str(b64decode(schema[2])) if form == "protobuf" else json.dumps(json.loads(schema[2])))
    of = kafka_source(table("kafka", COLUMNS, type="source", source__offset="earliest", **options))
    first = begin(of)
    records = rows(list(between(of, first, dict(of.advance(first, None)))))
    assert [(row["id"], str(row["amount"]), row["st"]) for row in sorted(records, key=lambda row: row["id"])] == [
        (1, "1.50", {"a": "x"}),
        (2, "None", None),
    ]
