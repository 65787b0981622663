"""Columns of a table that is about to be made, found out from what it is to read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.driver.probe import infer
from engine.errors import EngineError, SchemaUnknownError
from engine.jobs.processes.probes import LocalProbes, ProbeOrder, ProbeResult
from tests.api.conftest import Plane
from tests.api.test_stored_tables import ask, refused, use

PATH = "/connection_tables/schemas/infer"


def of_file(path: Path, **options: Any) -> dict[str, Any]:
    config = {"type": "source", "path": str(path), **options}
    return {"name": "t", "connector": "single_file", "config": config, "schema": {"format": {"json": {}}}}


def here(order: ProbeOrder, secrets: object) -> ProbeResult:
    """Play a test in this process."""
    try:
        return infer(order, {})
    except EngineError as error:
        return ProbeResult(error.message, True, error.code, error.hint)


def test_columns_are_found_out_in_a_process_of_its_own(plane: Plane, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"id": 1, "at": "2026-01-02T03:04:05Z", "order": "x"}\n{"id": 2}\nbroken\n')
    use(plane, probe=LocalProbes().ask)

    found = ask(plane, "POST", PATH, of_file(path))

    assert found["columns"] == '"id" BIGINT,\n"at" TIMESTAMP,\n"order" TEXT'
    assert [(field["name"], field["type"], field["required"]) for field in found["fields"]] == [
        ("id", "int64", False),
        ("at", "timestamp", False),
        ("order", "string", False),
    ]
    assert found["message"] == "3 columns, from 2 records; 1 of 3 records do not fit them"
    table = of_file(path)
    table["schema"]["columns"] = found["columns"]
    ask(plane, "POST", "/connection_tables", table)


def test_the_format_may_be_an_option_as_the_command_line_sends_it(plane: Plane, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"id": 1}\n')
    use(plane, probe=here)
    config = {"type": "source", "path": str(path), "format": "json"}

    found = ask(
        plane, "POST", PATH, {"name": "t", "connector": "single_file", "config": config, "schema": {"columns": ""}}
    )

    assert found["columns"] == '"id" BIGINT'


def test_only_the_first_records_are_looked_at(plane: Plane, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text("".join(f'{{"n{number // 1000}": {number}}}\n' for number in range(20_000)))
    use(plane, probe=here)

    found = ask(plane, "POST", PATH, of_file(path))

    assert found["message"] == "1 column, from 1000 records"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "it is empty"),
        ("[1]\nx\n", "none of the first 2 records is a JSON object"),
        (json.dumps({f"c{number}": number for number in range(3_000)}), "there are 3000 columns"),
    ],
)
def test_schema_that_cannot_be_inferred_is_refused_with_a_reason(
    plane: Plane, tmp_path: Path, content: str, says: str
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(content)
    use(plane, probe=LocalProbes().ask)

    answer = plane.http.post(f"/api/v1{PATH}", json=of_file(path))

    assert (answer.status_code, answer.json()["code"]) == (409, "stored.no_schema")
    assert says in answer.json()["detail"]


def test_sinks_and_formats_that_say_nothing_are_refused(plane: Plane, tmp_path: Path) -> None:
    use(plane, probe=here)

    assert refused(plane, "POST", PATH, of_file(tmp_path / "x", type="sink")) == (409, "stored.no_schema")
    unknown = {**of_file(tmp_path / "x"), "schema": {"format": {"raw_string": {}}}}
    assert refused(plane, "POST", PATH, unknown)[0] in (400, 409)
    assert refused(plane, "POST", PATH, {"name": "t", "connector": "impulse", "config": {}})[0] in (400, 409)
    assert refused(plane, "POST", PATH, of_file(tmp_path / "missing.jsonl")) == (409, "stored.no_schema")
    with pytest.raises(SchemaUnknownError):
        infer(ProbeOrder("t", "impulse", {}, infer=True), {})


def test_a_parquet_file_says_what_it_has(plane: Plane, tmp_path: Path) -> None:
    columns = {
        "id": pa.array([1], pa.int32()),
        "at": pa.array([0], pa.timestamp("ms")),
        "parts": pa.array([[{"n": 1.5}]], pa.list_(pa.struct([("n", pa.float64())]))),
        "took": pa.array([1], pa.duration("s")),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    use(plane, probe=here)
    body = {
        "name": "t",
        "connector": "filesystem",
        "config": {"type": "source", "path": str(tmp_path)},
        "schema": {"format": {"parquet": {}}},
    }

    found = ask(plane, "POST", PATH, body)

    assert found["columns"] == '"id" INT,\n"at" TIMESTAMP,\n"parts" STRUCT<n DOUBLE>[]'
    assert found["message"] == "3 columns, as a.parquet has them; there is no type for took"


def test_an_avro_schema_and_changes_of_debezium_say_it_too(plane: Plane, tmp_path: Path) -> None:
    use(plane, probe=here)
    schema = {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "id", "type": "long"},
            {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
            {"name": "either", "type": ["int", "string"]},
        ],
    }
    body = {
        "name": "t",
        "connector": "kafka",
        "config": {"type": "source", "topic": "x", "bootstrap_servers": "b:1"},
        "schema": {"format": {"avro": {"schema": json.dumps(schema)}}},
    }
    found = ask(plane, "POST", PATH, body)
    assert found["columns"] == '"id" BIGINT NOT NULL,\n"at" TIMESTAMP'
    assert found["message"] == "2 columns, as avro.schema has them; there is no type for either"

    path = tmp_path / "changes.jsonl"
    path.write_text('{"before": null, "after": {"id": 7}, "op": "c"}\n')
    changed = of_file(path)
    changed["schema"] = {"format": {"debezium_json": {}}}
    assert ask(plane, "POST", PATH, changed)["columns"] == '"id" BIGINT'


def test_the_secrets_of_a_connection_come_along(plane: Plane) -> None:
    asked: list[tuple[ProbeOrder, Any]] = []

    def probe(order: ProbeOrder, secrets: Any) -> ProbeResult:
        asked.append((order, secrets))
        return ProbeResult("1 column", columns=(("a b", "TEXT", True),))

    use(plane, probe=probe)
    from tests.api.test_stored_tables import ORDERS, SHOP

    ask(plane, "POST", "/connection_profiles", SHOP)
    found = ask(plane, "POST", PATH, {**ORDERS, "connection_profile_id": "shop"})

    assert found["columns"] == '"a b" TEXT'
    [(order, secrets)] = asked
    assert (order.infer, list(secrets.values())) == (True, ["hush-hush"])
