"""Connections, tables and functions that are kept for all pipelines: made, used, shown without secrets, deleted."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from engine.control.upgrades.plan_query import plan_query
from engine.errors import ProbeBusyError, SecretsKeyError
from engine.jobs.processes.probes import LocalProbes, ProbeOrder, ProbeResult
from engine.store.database import open_database
from engine.store.pipelines import pipeline_secrets
from tests.api import arroyo_shapes as shapes
from tests.api.conftest import Plane

SHOP = {
    "name": "shop",
    "connector": "kafka",
    "config": {
        "bootstrap_servers": "b:9092",
        "auth": {"type": "sasl", "username": "ann", "password": "hush-hush"},
    },
}
ORDERS = {
    "name": "orders",
    "connector": "kafka",
    "config": {"type": "source", "topic": "orders", "source": {"offset": "earliest"}},
    "schema": {
        "format": {"json": {}},
        "bad_data": {"drop": {}},
        "fields": [
            {"name": "id", "type": "int64", "required": True},
            {"name": "amount", "type": "f64"},
            {"name": "at", "type": "timestamp", "unit": "nanosecond"},
        ],
    },
}
TICKS = {"name": "ticks", "connector": "impulse", "config": {"event_rate": 5}}
PLUS = "from engine.udf import udf\n\n@udf\ndef plus(a: int) -> int:\n    return a + 1\n"


@pytest.fixture
def planned(plane: Plane) -> Plane:
    """A control plane that plans as the real one does."""
    use(plane, plan=partial(plan_query, may_hold_secrets=False))
    return plane


def use(plane: Plane, **parts: Any) -> None:
    if plan := parts.pop("plan", None):
        plane.context = plane.plans_by(plan=plan)
    plane.context = replace(plane.context, **parts)
    plane.http.app.state.context = plane.context  # type: ignore[attr-defined]


def ask(plane: Plane, verb: str, path: str, body: object = None, status: int = 200) -> Any:
    answer = plane.http.request(verb, f"/api/v1{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


def refused(plane: Plane, verb: str, path: str, body: object = None) -> tuple[int, str]:
    answer = plane.http.request(verb, f"/api/v1{path}", json=body)
    assert "hush" not in answer.text
    return answer.status_code, answer.json()["code"]


def version_text(plane: Plane, name: str = "mine") -> str:
    text: str = ask(plane, "GET", f"/pipelines/{name}")["query"]
    return text


def test_a_connection_is_made_and_listed_and_its_secret_is_nowhere_to_be_read(plane: Plane) -> None:
    made = ask(plane, "POST", "/connection_profiles", SHOP)

    Draft202012Validator(shapes.CONNECTION_PROFILE).validate(made)
    assert made["config"]["auth"] == {"type": "sasl", "username": "ann", "password": "**********"}
    [listed] = ask(plane, "GET", "/connection_profiles")["data"]
    assert (listed["id"], listed["stored"], listed["used_by"]) == (made["id"], True, [])
    assert listed["created_by"] == "admin"
    with closing(sqlite3.connect(plane.context.directory.database)) as database:
        assert "hush-hush" not in "\n".join(database.iterdump())
        [sealed] = database.execute("SELECT sealed FROM stored_secrets").fetchone()
    assert plane.context.database.vault.unseal(sealed) == "hush-hush"


def test_a_script_names_a_table_that_it_does_not_declare(planned: Plane) -> None:
    profile = ask(planned, "POST", "/connection_profiles", SHOP)
    table = ask(planned, "POST", "/connection_tables", {**ORDERS, "connection_profile_id": profile["id"]})
    assert (table["table_type"], table["consumers"], table["connection_profile"]["name"]) == ("source", 0, "shop")
    assert [field["sql_name"] for field in table["schema"]["fields"]] == ["BIGINT", "DOUBLE", "TIMESTAMP"]
    assert (table["schema"]["format"], table["schema"]["bad_data"]) == ({"json": {}}, {"drop": {}})
    assert table["config"] == {"type": "source", "topic": "orders", "source": {"offset": "earliest"}}

    planned.deploy("mine", "SELECT id, amount FROM Orders")

    text = version_text(planned)
    assert text.endswith("\nSELECT id, amount FROM Orders")
    assert "CREATE CONNECTION" in text
    assert "hush" not in text
    listed = ask(planned, "GET", "/connection_tables")["data"][0]
    assert (listed["consumers"], listed["used_by"]) == (1, ["pipeline mine"])
    with planned.context.database.reading() as connection:
        pipeline_id = ask(planned, "GET", "/pipelines/mine")["id"]
        secrets = pipeline_secrets.read(connection, planned.context.database.vault, pipeline_id)
    assert secrets == {f"{profile['id']}_auth_password": "hush-hush"}
    assert f"{{{{ secret:{profile['id']}_auth_password }}}}" in text


def test_the_text_of_a_pipeline_can_be_deployed_as_it_is_shown(planned: Plane) -> None:
    ask(planned, "POST", "/connection_tables", TICKS)
    planned.deploy("mine", "SELECT counter FROM ticks")

    again = planned.deploy("mine", version_text(planned))

    assert again["unchanged"]
    assert planned.deploy("mine", "SELECT counter FROM ticks")["unchanged"]


def test_a_table_that_is_made_anew_changes_a_pipeline_once_it_is_deployed_again(planned: Plane) -> None:
    first = ask(planned, "POST", "/connection_tables", TICKS)
    planned.deploy("mine", "SELECT counter FROM ticks")
    before = version_text(planned)
    planned.deploy("mine", "CREATE TABLE t WITH (connector = 'impulse', event_rate = 1); SELECT counter FROM t")
    ask(planned, "DELETE", f"/connection_tables/{first['id']}", status=204)
    ask(planned, "POST", "/connection_tables", {**TICKS, "config": {"event_rate": 7}})

    planned.deploy("theirs", before)
    planned.deploy("mine", "SELECT counter FROM ticks")

    assert "'event_rate' = 5" in version_text(planned, "theirs")
    assert "'event_rate' = 7" in version_text(planned)


def test_stored_table_in_use_cannot_be_deleted(planned: Plane) -> None:
    profile = ask(planned, "POST", "/connection_profiles", SHOP)
    table = ask(planned, "POST", "/connection_tables", {**ORDERS, "connection_profile_id": "shop"})
    planned.deploy("mine", "SELECT id FROM orders")
    profile_path, table_path = f"/connection_profiles/{profile['id']}", f"/connection_tables/{table['id']}"

    answers = [planned.http.delete(f"/api/v1{path}") for path in (profile_path, table_path)]
    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(409, "stored.in_use")] * 2
    assert "table orders" in answers[0].json()["detail"]
    assert "pipeline mine" in answers[1].json()["detail"]

    planned.deploy("mine", "CREATE TABLE t WITH (connector = 'impulse', event_rate = 1); SELECT counter FROM t")
    ask(planned, "DELETE", table_path, status=204)
    ask(planned, "DELETE", profile_path, status=204)
    assert refused(planned, "DELETE", table_path) == (404, "stored.not_found")
    with closing(sqlite3.connect(planned.context.directory.database)) as database:
        assert database.execute("SELECT count(*) FROM stored_secrets").fetchone() == (0,)


def test_a_declaration_of_the_script_wins(planned: Plane) -> None:
    ask(planned, "POST", "/connection_tables", TICKS)

    planned.deploy("mine", "CREATE TABLE Ticks WITH (connector = 'impulse', event_rate = 1); SELECT counter FROM ticks")

    assert "stored table" not in version_text(planned)


def test_errors_name_places_of_the_text_that_was_sent(planned: Plane) -> None:
    ask(planned, "POST", "/connection_tables", TICKS)
    query = "SELECT counter FROM ticks;\nSELECT nothing FROM ticks"

    verdict = ask(planned, "POST", "/pipelines/validate_query", {"query": query})
    answer = planned.http.put("/api/v1/pipelines/by-name/mine", json={"query": query})

    assert verdict["errors"][0]["span"]["start"] == {"line": 2, "column": 8}
    assert answer.json()["errors"][0]["span"]["start"] == {"line": 2, "column": 8}
    assert "2:8" in answer.json()["detail"]


def test_a_table_brings_those_that_it_names(planned: Plane) -> None:
    ask(planned, "POST", "/connection_profiles", SHOP)
    letters = {"name": "letters", "connector": "blackhole", "schema": {"columns": "error TEXT, record TEXT"}}
    ask(planned, "POST", "/connection_tables", letters)
    schema = {
        "format": "json",
        "bad_data": "dead_letter",
        "columns": "id BIGINT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '5 seconds'",
    }
    config = {"type": "source", "topic": "o", "dead_letter": {"table": "letters"}, "connection_profile": "shop"}
    ask(planned, "POST", "/connection_tables", {"name": "o", "connector": "kafka", "config": config, "schema": schema})

    planned.deploy("mine", "SELECT id FROM o")

    assert version_text(planned).count("stored table") == 2


def test_a_function_that_is_kept_is_called_without_being_sent(planned: Plane) -> None:
    file = ask(planned, "POST", "/udfs", {"definition": PLUS, "prefix": "math", "description": "one more"})
    assert (file["name"], file["dylib_url"], file["language"]) == ("plus", None, "python")
    ask(planned, "POST", "/connection_tables", TICKS)

    planned.deploy("mine", "SELECT plus(counter) AS n FROM ticks")

    assert refused(planned, "DELETE", f"/udfs/{file['id']}") == (409, "stored.in_use")
    assert ask(planned, "GET", "/udfs")["data"][0]["used_by"] == ["pipeline mine"]
    planned.deploy("mine", "SELECT counter AS n FROM ticks")
    ask(planned, "DELETE", f"/udfs/{file['id']}", status=204)
    assert ask(planned, "GET", "/udfs")["data"] == []


def test_a_function_that_the_pipeline_brings_wins(planned: Plane) -> None:
    ask(planned, "POST", "/udfs", {"definition": PLUS})
    ask(planned, "POST", "/connection_tables", TICKS)

    planned.deploy("mine", "SELECT plus(counter) AS n FROM ticks", udfs=[PLUS.replace("+ 1", "+ 2")])

    assert [udf["definition"][-6:] for udf in ask(planned, "GET", "/pipelines/mine")["udfs"]] == ["a + 2\n"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({**SHOP, "connector": "kafkaesque"}, "option.bad_value"),
        ({**SHOP, "config": {}}, "option.missing"),
        ({**SHOP, "config": {"bootstrap_servers": "b", "topicc": "x"}}, "option.unknown"),
        ({**SHOP, "config": {"bootstrap_servers": ""}}, "option.bad_value"),
        ({**SHOP, "config": {"bootstrap_servers": {"a": {"b": {"c": {"d": {"e": 1}}}}}}}, "option.bad_value"),
        ({**SHOP, "config": {"bootstrap_servers": [1]}}, "option.bad_value"),
        ({**SHOP, "config": {"bootstrap_servers": "b", "auth": {"password": "**********"}}}, "option.secret_value"),
        ({**SHOP, "config": {"bootstrap_servers": "b", "auth": {"password": "hush\0"}}}, "option.secret_value"),
        ({**SHOP, "name": "cp_0123456789abcdef"}, "request.invalid"),
        ({**SHOP, "name": "a b"}, "request.invalid"),
        ({"name": "hook", "connector": "webhook", "config": {"endpoint": "http://a:hush@b"}}, "option.secret_value"),
    ],
)
def test_a_connection_that_is_wrong_is_refused_by_name(plane: Plane, body: object, code: str) -> None:
    assert refused(plane, "POST", "/connection_profiles", body)[1] in (code, "sql.refused")
    assert ask(plane, "GET", "/connection_profiles")["data"] == []


@pytest.mark.parametrize(
    "change",
    [
        {"connection_profile_id": "nobody"},
        {"config": {"type": "source"}},
        {"config": {"type": "source", "topic": "x", "bootstrap_servers": "b", "topicc": "y"}},
        {"schema": {"format": {"json": {}, "avro": {}}}},
        {"schema": {"format": "jason"}},
        {"schema": {"format": "json", "fields": [{"name": "a", "type": "int128"}]}},
        {"schema": {"format": "json", "fields": [{"name": "a", "sql_name": "TEXT) WITH (connector='blackhole'"}]}},
        {"schema": {"format": "json", "columns": "a TEXT) WITH (connector = 'blackhole'); SELECT 1; --"}},
        {"schema": {"format": "json", "columns": "a TEXT /*"}},
        {"schema": {"format": "json", "fields": [{"name": "a", "type": "string"}], "primary_keys": ["b"]}},
        {"connector": "memory", "config": {}, "schema": None},
    ],
)
def test_a_table_that_is_wrong_is_refused(plane: Plane, change: dict[str, object]) -> None:
    body = {**ORDERS, "config": {**ORDERS["config"], "bootstrap_servers": "b:9092"}, **change}  # type: ignore[dict-item]

    assert refused(plane, "POST", "/connection_tables", body)[0] == 400
    assert ask(plane, "GET", "/connection_tables")["data"] == []


DEFINITIONS = ({"avro_schema": "{}"}, {"type": "jsonSchema", "schema": "{}"}, {})


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_the_text_of_a_schema_is_not_taken_and_forgotten(plane: Plane, definition: dict[str, object]) -> None:
    schema = {**ORDERS["schema"], "definition": definition}  # type: ignore[dict-item]
    body = {**ORDERS, "config": {**ORDERS["config"], "bootstrap_servers": "b:9092"}, "schema": schema}  # type: ignore[dict-item]

    for path, sent in (("", body), ("/test", body), ("/schemas/test", schema)):
        assert refused(plane, "POST", f"/connection_tables{path}", sent) == (400, "request.unsupported")
    assert ask(plane, "GET", "/connection_tables")["data"] == []


def test_a_schema_is_tried_without_a_table(plane: Plane) -> None:
    columns = "at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '5 seconds'"

    for schema in (ORDERS["schema"], {"format": "avro", "columns": columns}, {"format": "parquet", "columns": "a INT"}):
        assert ask(plane, "POST", "/connection_tables/schemas/test", schema) is None


@pytest.mark.parametrize(
    "schema",
    [
        {"format": "jason", "columns": "a TEXT"},
        {"format": {"avro": {"schema": "none"}}, "columns": "a TEXT"},
        {"format": "json", "fields": [{"name": "a", "type": "int128"}]},
        {"format": "json", "columns": "a TEXT) WITH (connector = 'blackhole'); SELECT 1; --"},
    ],
)
def test_a_schema_that_is_wrong_is_refused(plane: Plane, schema: object) -> None:
    assert refused(plane, "POST", "/connection_tables/schemas/test", schema)[0] == 400


def at_once(*actions: Callable[[], object]) -> list[object]:
    results: list[object] = []
    threads = [threading.Thread(target=lambda action=action: results.append(action())) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_only_one_of_two_simultaneous_tables_with_one_name_is_created(plane: Plane) -> None:
    def make(name: str) -> int:
        return plane.http.post("/api/v1/connection_profiles", json={**SHOP, "name": name}).status_code

    assert sorted(at_once(partial(make, "shop"), partial(make, "SHOP"))) == [200, 409]  # type: ignore[type-var]
    assert len(ask(plane, "GET", "/connection_profiles")["data"]) == 1


def test_a_table_that_is_deleted_while_a_query_is_planned_is_not_used(planned: Plane) -> None:
    table = ask(planned, "POST", "/connection_tables", TICKS)

    def plan(query: str, udfs: Any) -> Any:
        ask(planned, "DELETE", f"/connection_tables/{table['id']}", status=204)
        return plan_query(query, udfs)

    use(planned, plan=plan)

    assert refused(planned, "PUT", "/pipelines/by-name/mine", {"query": "SELECT counter FROM ticks"})[0] == 409
    assert ask(planned, "GET", "/pipelines")["data"] == []


def test_the_file_of_the_administrator_comes_first(planned: Plane) -> None:
    use(planned, connections="CREATE CONNECTION shop WITH (connector = 'kafka', bootstrap_servers = 'file:9092');")

    assert refused(planned, "POST", "/connection_profiles", SHOP) == (409, "stored.exists")
    [profile] = ask(planned, "GET", "/connection_profiles")["data"]
    assert (profile["stored"], profile["id"], profile["config"]) == (False, "shop", {"bootstrap_servers": "file:9092"})


def test_stored_table_equals_its_definition_whatever_it_contains(plane: Plane) -> None:
    schema = {"format": "json", "columns": "a TEXT"}
    for number, text in enumerate(["it's", '"', "\\", "-- x", "/*", "a\nb", "\u202e", "<script>", "$$", "\U0001f600"]):
        config = {"type": "source", "path": f"/in/{text}"}
        body = {"name": f"t{number}", "connector": "single_file", "config": config, "schema": schema}
        assert ask(plane, "POST", "/connection_tables", body)["config"]["path"] == f"/in/{text}"


def test_older_clients_spell_names_with_capitals(plane: Plane) -> None:
    ask(plane, "POST", "/connection_profiles", SHOP)
    schema = {
        "format": {"json": {"confluentSchemaRegistry": False}},
        "badData": {"fail": {}},
        "primaryKeys": [],
        "fields": [{"name": "id", "type": "int64", "required": False, "sqlName": "BIGINT", "metadataKey": None}],
        "definition": None,
        "framing": None,
        "inferred": None,
    }
    body = {"name": "o", "connector": "kafka", "connectionProfileId": "shop", "config": {"type": "sink", "topic": "o"}}

    made = ask(plane, "POST", "/connection_tables", {**body, "schema": schema})

    assert (made["table_type"], made["schema"]["bad_data"]) == ("sink", {"fail": {}})


def test_a_named_token_may_keep_tables_and_is_named(plane: Plane) -> None:
    token = ask(plane, "POST", "/tokens", {"name": "bob"}, status=201)["token"]
    plane.http.headers["Authorization"] = f"Bearer {token}"

    assert ask(plane, "POST", "/connection_tables", TICKS)["created_by"] == "bob"


def test_a_connection_is_tried_with_its_secret_and_not_kept(plane: Plane) -> None:
    asked: list[tuple[ProbeOrder, Any]] = []

    def probe(order: ProbeOrder, secrets: Any) -> ProbeResult:
        asked.append((order, secrets))
        return ProbeResult("it is away", True, "data.source_unavailable", "start it")

    use(plane, probe=probe)

    said = ask(plane, "POST", "/connection_profiles/test", SHOP)
    assert (said["error"], said["done"], said["message"], said["hint"]) == (True, True, "it is away", "start it")
    [(order, secrets)] = asked
    assert list(secrets.values()) == ["hush-hush"]
    assert "hush" not in str(order)
    assert ask(plane, "GET", "/connection_profiles")["data"] == []


def test_a_table_is_tried_with_the_secrets_of_its_connection(plane: Plane) -> None:
    asked: list[tuple[ProbeOrder, Any]] = []

    def probe(order: ProbeOrder, secrets: Any) -> ProbeResult:
        asked.append((order, secrets))
        return ProbeResult("it is there")

    use(plane, probe=probe)
    ask(plane, "POST", "/connection_profiles", SHOP)

    answer = plane.http.post("/api/v1/connection_tables/test", json={**ORDERS, "connection_profile_id": "shop"})

    messages = [json.loads(line.removeprefix("data: ")) for line in answer.text.splitlines() if line]
    assert [(said["done"], said["error"], said["message"]) for said in messages] == [
        (False, False, "asking"),
        (True, False, "it is there"),
    ]
    [(order, secrets)] = asked
    assert list(secrets.values()) == ["hush-hush"]
    assert "CREATE CONNECTION" in order.connections
    assert ask(plane, "GET", "/connection_tables")["data"] == []


def test_a_test_is_played_in_a_process_of_its_own(tmp_path: Path) -> None:
    lines = tmp_path / "in.jsonl"
    lines.write_text('{"a": 1}\n')
    options = {"type": "source", "path": str(lines), "format": "json"}
    order = ProbeOrder("t", "single_file", options, "a BIGINT")

    assert LocalProbes().ask(order, {}) == ProbeResult("it can be read, and has 1 partition")
    stuck = LocalProbes(limit=timedelta(0)).ask(order, {})
    assert (stuck.is_wrong, stuck.message) == (True, "there was no answer within 0 seconds")


def test_more_tests_than_there_may_be_are_refused() -> None:
    probes = LocalProbes(_turns=threading.BoundedSemaphore(1))
    probes._turns.acquire()

    with pytest.raises(ProbeBusyError):
        probes.ask(ProbeOrder("t", "stdout", {}, ""), {})


def test_a_test_shows_nothing_of_its_secrets() -> None:
    said = LocalProbes().ask(ProbeOrder("c", "hush hush", {}), {"k": "hush hush"})

    assert (said.is_wrong, said.message) == (True, "there is no connector '**********'")


def test_a_test_ends_itself_when_nobody_is_there_to_end_it() -> None:
    asked = subprocess.Popen(
        [sys.executable, "-m", "engine.driver.probe", "1"], stdin=subprocess.PIPE, start_new_session=True
    )

    with asked:  # its standard input stays open, and so it waits for an order that does not come
        try:
            assert asked.wait(timeout=60) == -signal.SIGALRM
        finally:
            asked.kill()


def test_a_control_plane_does_not_start_without_the_key_of_what_it_keeps(plane: Plane) -> None:
    ask(plane, "POST", "/connection_profiles", SHOP)
    plane.context.database.close()
    plane.context.directory.secrets_key.unlink()

    with pytest.raises(SecretsKeyError):
        open_database(plane.context.directory)
