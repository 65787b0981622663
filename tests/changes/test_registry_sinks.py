"""Sinks whose records a schema registry describes: it is asked before anything is done, and nothing is registered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2

from engine.changes.compare import compare
from engine.changes.verdict import Change, Verdict
from engine.compile import compile_script
from engine.connectors.addresses import ALLOWED
from engine.errors import SchemaRefusedError
from tests.connectors.http_serving import serving
from tests.connectors.registry_stub import Stub


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    monkeypatch.setenv(ALLOWED, "localhost")
    with serving(Stub()) as stub:
        stub.registered.append(("/subjects/out-value/versions", "AVRO", "{}"))
        yield stub


def of_sink(url: str, columns: str, before: str = "user", form: str = "avro", more: str = "") -> Verdict:
    """What a plan says of the sink when it gets other columns."""

    def script(columns: str, options: str) -> str:
        return f"""
            CREATE TABLE clicks (user TEXT, n BIGINT) WITH (
              connector = 'kafka', bootstrap_servers = 'k:9092', topic = 'clicks', format = 'json', type = 'source');
            CREATE TABLE out WITH (connector = 'kafka', bootstrap_servers = 'k:9092', topic = 'out', type = 'sink',
              format = '{form}', {form}.confluent_schema_registry = true, schema_registry.endpoint = '{url}'{options});
            INSERT INTO out SELECT {columns} FROM clicks;
        """

    old = compile_script(script(before, more.replace("new", "old")))
    plan = compare(old, compile_script(script(columns, more)))
    (verdict,) = (verdict for verdict in plan.verdicts if verdict.subject == "sink")
    assert plan.is_refused == (verdict.change is Change.REFUSED)
    return verdict


@pytest.mark.parametrize("form", ["avro", "json"])
def test_a_sink_gets_columns_where_the_registry_agrees(registry: Stub, form: str) -> None:
    verdict = of_sink(registry.url, "user, n", form=form)

    assert verdict.change is Change.RESTART
    assert "+ n BIGINT" in verdict.reason
    assert "the schema registry takes their schema as the next version of out-value" in verdict.shown
    assert registry.requests == ["POST /compatibility/subjects/out-value/versions"]
    assert len(registry.registered) == 1


def test_a_subject_that_the_registry_does_not_know_may_begin_with_any_schema(registry: Stub) -> None:
    registry.registered.clear()

    assert of_sink(registry.url, "user, n").change is Change.RESTART
    assert registry.registered == []


def test_columns_that_the_registry_refuses_are_refused_by_the_plan(registry: Stub) -> None:
    verdict = of_sink(registry.url, "user, n AS incompatible")

    assert verdict.change is Change.REFUSED
    assert f"{SchemaRefusedError.code}: the schema registry refuses the columns" in verdict.reason
    assert "out-value" in verdict.reason
    assert "use another 'value.subject'" in verdict.reason


@pytest.mark.parametrize(
    ("answer", "words"), [((401, {"message": "no"}), "check api_key"), ((404, {"error_code": 404}), "404")]
)
def test_a_registry_that_cannot_be_asked_is_named(registry: Stub, answer: tuple[int, object], words: str) -> None:
    registry.answers = [answer]

    verdict = of_sink(registry.url, "user, n")

    assert verdict.change is Change.REFUSED
    assert words in verdict.reason


def test_a_registry_to_which_nobody_may_connect_is_refused(registry: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ALLOWED)

    assert of_sink(registry.url, "user, n").change is Change.REFUSED


def test_registry_is_not_queried_for_unchanged_columns(registry: Stub) -> None:
    assert of_sink(registry.url, "upper(user) AS user").change is Change.RESTART
    assert registry.requests == []


def test_a_message_of_protobuf_gets_fields_with_its_file(registry: Stub, tmp_path: Path) -> None:
    kind = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="clicks.proto", syntax="proto3")
    message = file.message_type.add(name="Click")
    for number, (name, of) in enumerate((("user", kind.TYPE_STRING), ("n", kind.TYPE_INT64)), 1):
        message.oneof_decl.add(name=f"_{name}")
        message.field.add(
            name=name, number=number, type=of, label=kind.LABEL_OPTIONAL, oneof_index=number - 1, proto3_optional=True
        )
        path = tmp_path / ("old" if number == 1 else "new")
        path.write_bytes(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
    more = f", protobuf.descriptor = '{tmp_path}/new', protobuf.message = 'Click'"

    verdict = of_sink(registry.url, "user, n", form="protobuf", more=more)

    assert verdict.change is Change.RESTART
    assert registry.requests == ["POST /compatibility/subjects/out-value/versions"]
