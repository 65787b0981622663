"""What Arroyo's generated client and its web console send, and the shape of what they are answered."""

from __future__ import annotations

import json
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from engine.connectors.preview import PREVIEW_FILE
from engine.spark.read.scan_spec import safe_name
from tests.api import arroyo_shapes as shapes
from tests.api.conftest import Plane, report

KEPT = Path(__file__).parents[1] / "kept" / "2026-11" / "windows.tar.xz"
NEW = {"name": "orders", "query": "SELECT 1", "parallelism": 2, "checkpoint_interval_micros": 10_000_000, "udfs": []}


def ask(plane: Plane, verb: str, path: str, shape: shapes.Shape, body: object = None, status: int = 200) -> Any:
    """The answer to a request, once it has been seen to be of that shape."""
    answer = plane.http.request(verb, f"/api/v1{path}", json=body)
    assert answer.status_code == status, answer.text
    Draft202012Validator(shape).validate(answer.json())
    return answer.json()


def refused(plane: Plane, verb: str, path: str, body: object) -> tuple[int, str]:
    answer = plane.http.request(verb, f"/api/v1{path}", json=body)
    Draft202012Validator(shapes.ERROR).validate(answer.json())
    return answer.status_code, answer.json()["code"]


def events(text: str) -> list[dict[str, Any]]:
    """The data of server-sent events without a name, as a browser's EventSource gives it."""
    lines = [line for block in text.split("\n\n") for line in block.splitlines() if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def test_a_pipeline_is_made_started_stopped_and_deleted_as_the_console_does_it(plane: Plane) -> None:
    made = ask(plane, "POST", "/pipelines", shapes.PIPELINE, NEW)
    at = f"/pipelines/{made['id']}"
    plane.settle()
    plane.come_up()

    assert ask(
        plane, "GET", "/pipelines?limit=100&with=query&with=graph", shapes.listed(shapes.PIPELINE, is_paged=True)
    )["data"]
    [job] = ask(plane, "GET", "/jobs", shapes.listed(shapes.JOB))["data"]
    assert (job["pipeline_id"], job["state"], job["running_desired"]) == (made["id"], "Running", True)
    assert ask(plane, "GET", f"{at}/jobs", shapes.listed(shapes.JOB))["data"] == [job]
    assert ask(plane, "PATCH", at, shapes.PIPELINE, {"parallelism": 3})["id"] == made["id"]
    ask(plane, "PATCH", at, shapes.PIPELINE, {"stop": "immediate", "env_vars": None, "scheduler_config": {}})
    plane.settle()
    plane.end("stopped")
    assert ask(plane, "GET", at, shapes.PIPELINE)["action"] == "none"
    ask(plane, "POST", f"{at}/restart", shapes.PIPELINE, {"ignore_state": False})
    plane.settle()
    plane.come_up()
    ask(plane, "PATCH", at, shapes.PIPELINE, {"stop": "checkpoint"})
    plane.settle()
    plane.end("stopped")
    assert plane.http.delete(f"/api/v1{at}").is_success
    assert ask(plane, "GET", "/jobs", shapes.listed(shapes.JOB))["data"] == []


def test_null_fields_of_the_generated_client_are_ignored(plane: Plane) -> None:
    empty = {"state_url": None, "tags": {}, "env_vars": {}, "scheduler_config": None, "udfs": None}

    made = ask(plane, "POST", "/pipelines", shapes.PIPELINE, {**NEW, **empty})

    assert (made["parallelism"], made["checkpoint_interval_micros"]) == (2, 10_000_000)
    ask(plane, "POST", "/pipelines", shapes.PIPELINE, {"name": "least", "query": "SELECT 1", "parallelism": 1})
    assert ask(plane, "GET", f"/pipelines/{made['id']}", shapes.PIPELINE)["query"] == "SELECT 1"


@pytest.mark.parametrize(
    "more",
    [{"state_url": "s3://a/b"}, {"env_vars": {"A": "1"}}, {"scheduler_config": {"a": 1}}],
)
def test_unsupported_endpoint_is_refused_by_its_name(plane: Plane, more: dict[str, object]) -> None:
    assert refused(plane, "POST", "/pipelines", {**NEW, **more}) == (400, "request.unsupported")
    assert plane.get("/pipelines")["data"] == []


def test_a_name_is_given_once(plane: Plane) -> None:
    first = ask(plane, "POST", "/pipelines", shapes.PIPELINE, NEW)

    assert refused(plane, "POST", "/pipelines", {**NEW, "query": "SELECT 2"}) == (409, "pipeline.exists")
    assert plane.get("/pipelines/orders")["query"] == first["query"]


def test_a_change_of_what_there_is_not_is_refused(plane: Plane) -> None:
    plane.run()

    assert refused(plane, "PATCH", "/pipelines/orders", {"env_vars": {"A": "1"}}) == (400, "request.unsupported")
    assert refused(plane, "POST", "/pipelines/orders/restart", {"ignore_state": True}) == (400, "request.unsupported")
    assert plane.job()["run_id"] == 1


def test_functions_come_back_as_they_were_sent(plane: Plane) -> None:
    udf = {"definition": "def f(): ...", "language": "python"}

    assert ask(plane, "POST", "/pipelines", shapes.PIPELINE, {**NEW, "udfs": [udf]})["udfs"] == [udf]
    assert refused(plane, "POST", "/pipelines", {**NEW, "udfs": [{**udf, "language": "rust"}]})[0] == 422


def test_a_query_is_validated_as_the_editor_does_it(plane: Plane) -> None:
    good = ask(plane, "POST", "/pipelines/validate_query", shapes.VALIDATION, {"query": "SELECT 1", "udfs": []})
    bad = ask(plane, "POST", "/pipelines/validate_query", shapes.VALIDATION, {"query": "bad", "udfs": None})

    assert (good["errors"], bad["graph"]) == ([], None)
    assert bad["errors"][0]["span"]["start"] == {"line": 1, "column": 8}


def test_errors_are_reported_page_by_page(plane: Plane) -> None:
    pipeline = plane.run()
    error = {"code": "connector.unavailable", "message": "the broker is away", "hint": "start it"}
    plane.end("failed", error)
    plane.let_pass(120)
    plane.end(None)
    job = plane.job()
    Draft202012Validator(shapes.JOB).validate(job)

    at = f"/pipelines/{pipeline['id']}/jobs/{job['id']}/errors"
    first = ask(plane, "GET", f"{at}?limit=1", shapes.listed(shapes.JOB_LOG_MESSAGE, is_paged=True))
    after = first["data"][0]["id"]
    second = ask(plane, "GET", f"{at}?starting_after={after}", shapes.listed(shapes.JOB_LOG_MESSAGE, is_paged=True))

    assert (first["hasMore"], second["hasMore"]) == (True, False)
    assert [int(message["id"]) < int(after) for message in second["data"]] == [True] * len(second["data"])
    assert [message["details"] for message in second["data"]][-1] == "start it"


def test_epochs_and_their_rates_are_shown(plane: Plane) -> None:
    pipeline = plane.run()
    tables = {"clicks": {"rows_in": 120}, "counts": {"rows_out": 60}}
    plane.call(
        "heartbeat",
        {"state": "running", "reports": [{**report(epoch, 2 * epoch), "tables": tables} for epoch in (0, 1)]},
    )
    at = f"/pipelines/{pipeline['id']}/jobs/{plane.job()['id']}"

    checkpoints = ask(plane, "GET", f"{at}/checkpoints", shapes.listed(shapes.CHECKPOINT))
    metrics = ask(plane, "GET", f"{at}/operator_metric_groups", shapes.listed(shapes.OPERATOR_METRIC_GROUP))

    assert [each["epoch"] for each in checkpoints["data"]] == [1, 0]
    assert metrics["data"] == []  # the plan of this test has no nodes


def test_the_state_of_the_newest_epoch_is_shown_by_operator(plane: Plane, tmp_path: Path) -> None:
    pipeline = plane.run()
    with tarfile.open(KEPT) as packed:
        packed.extractall(tmp_path / "unpacked", filter="data")
    state = plane.context.directory.state(pipeline["id"])
    shutil.rmtree(state, ignore_errors=True)
    shutil.copytree(tmp_path / "unpacked" / "state", state)
    at = f"/pipelines/{pipeline['id']}/jobs/{plane.job()['id']}/checkpoints"

    groups = ask(plane, "GET", f"{at}/3/operator_checkpoint_groups", shapes.listed(shapes.OPERATOR_CHECKPOINT_GROUP))[
        "data"
    ]

    whole = plane.get("/pipelines/orders/state")["operators"]
    assert [group["bytes"] for group in groups] == [operator["bytes"] for operator in whole]
    assert [sum(part["bytes"] for part in group["subtasks"]) for group in groups] == [
        group["bytes"] for group in groups
    ]
    assert refused(plane, "GET", f"{at}/2/operator_checkpoint_groups", None) == (409, "state.epoch_not_kept")


def test_the_rows_of_a_preview_are_sent_as_events(plane: Plane) -> None:
    pipeline = plane.run()
    directory = plane.context.directory.state(pipeline["id"]) / "sinks" / safe_name("shown")
    directory.mkdir(parents=True)
    (directory / PREVIEW_FILE).write_text('#5\n{"n": 4}\n{"n": 5}\n')
    at = f"/api/v1/pipelines/{pipeline['id']}/jobs/{plane.job()['id']}/output"

    answer = plane.http.get(f"{at}?timeout_seconds=0")
    [event] = events(answer.text)

    assert answer.headers["content-type"].startswith("text/event-stream")
    Draft202012Validator(shapes.OUTPUT_DATA).validate(event)
    assert (event["start_id"], json.loads(event["batch"]), len(event["timestamps"])) == (3, [{"n": 4}, {"n": 5}], 2)
    assert plane.http.get(f"{at}?table=other&timeout_seconds=0").status_code in (200, 404)


def test_a_preview_that_is_over_ends_its_stream(plane: Plane) -> None:
    pipeline = plane.run()
    plane.end("finished")

    answer = plane.http.get(f"/api/v1/pipelines/{pipeline['id']}/jobs/{plane.job()['id']}/output")

    assert (answer.status_code, events(answer.text)) == (200, [])


def test_a_query_is_looked_at_as_the_editor_does_it(plane: Plane) -> None:
    asked = {"query": "SELECT 1", "udfs": [], "enable_sinks": False}
    made = ask(plane, "POST", "/pipelines/preview", shapes.PIPELINE, asked)
    at = f"/pipelines/{made['id']}"
    plane.settle()
    plane.come_up()

    [job] = ask(plane, "GET", f"{at}/jobs", shapes.listed(shapes.JOB))["data"]
    assert (made["preview"], job["state"]) == (True, "Running")
    assert plane.http.get(f"/api/v1{at}/jobs/{job['id']}/output?timeout_seconds=0").status_code == 200
    assert plane.http.patch(f"/api/v1{at}", json={"stop": "immediate"}).is_success
    assert refused(plane, "POST", "/pipelines/preview", {**asked, "enable_sinks": True}) == (
        400,
        "request.unsupported",
    )


def test_connectors_are_listed(plane: Plane) -> None:
    found = ask(plane, "GET", "/connectors", shapes.listed(shapes.CONNECTOR))["data"]

    assert {"kafka", "filesystem", "impulse"} <= {connector["id"] for connector in found}


def test_rates_are_told_of_tables_that_are_at_one_place_of_the_plan(plane: Plane) -> None:
    nodes = [
        {"node_id": number, "operator": operator, "description": description, "parallelism": 1}
        for number, operator, description in (
            (0, "Scan", "Scan clicks (n)"),
            (1, "Scan", "Scan twice (n)"),
            (2, "Scan", "Scan twice (n)"),
            (3, "Filter", "Filter n"),
            (4, "Write", "Write counts"),
            (5, "Scan", "Scan my clicks (n)"),
            (6, "Scan", "Scan my orders (n)"),
            (7, "WindowAggregate", "WindowAggregate count(*)"),
        )
    ]
    nodes[7]["operator_id"] = "tumble-1f"
    picture = json.dumps({"nodes": nodes, "edges": [{"src_id": 0, "dest_id": 4, "edge_type": "forward"}]})
    plan = plane.context.planner.plan
    plane.http.app.state.context = plane.plans_by(  # type: ignore[attr-defined]
        plan=lambda query, udfs: replace(plan(query, udfs), graph=picture)
    )
    pipeline = plane.run(parallelism=3)
    tables = {
        "clicks": {"rows_in": 120},
        "counts": {"rows_out": 60},
        "twice": {"rows_in": 9},
        "my clicks": {"rows_in": 240},
    }
    operators = {"tumble-1f": {"rows_in": 600, "rows_out": 6, "busy": 0.5}}
    reports = [{**report(epoch, 2 * epoch), "tables": tables, "operators": operators} for epoch in (0, 1)]
    plane.call("heartbeat", {"state": "running", "reports": reports})
    at = f"/pipelines/{pipeline['id']}"

    graph = ask(plane, "GET", at, shapes.shape(graph=shapes.GRAPH))["graph"]
    groups = ask(
        plane,
        "GET",
        f"{at}/jobs/{plane.job()['id']}/operator_metric_groups",
        shapes.listed(shapes.OPERATOR_METRIC_GROUP),
    )["data"]

    assert {node["parallelism"] for node in graph["nodes"]} == {3}
    assert {
        group["node_id"]: [
            (rate["name"], rate["subtasks"][0]["metrics"][0]["value"]) for rate in group["metric_groups"]
        ]
        for group in groups
    } == {
        0: [("messages_sent", 1.0)],
        1: [],
        2: [],
        3: [],
        4: [("messages_recv", 0.5)],
        5: [("messages_sent", 2.0)],
        6: [],
        7: [("messages_recv", 5.0), ("messages_sent", 0.1)],
    }


def test_connections_of_the_administrator_are_listed_without_their_secrets(plane: Plane) -> None:
    declared = """CREATE CONNECTION shop WITH (
        connector = 'kafka', bootstrap_servers = 'b:9092',
        'auth.type' = 'sasl', 'auth.username' = 'ann', 'auth.password' = 'hush'
    );"""
    plane.http.app.state.context = replace(plane.context, connections=declared)  # type: ignore[attr-defined]

    [profile] = ask(plane, "GET", "/connection_profiles", shapes.listed(shapes.CONNECTION_PROFILE))["data"]

    assert (profile["name"], profile["connector"]) == ("shop", "kafka")
    assert profile["config"] == {
        "bootstrap_servers": "b:9092",
        "auth": {"type": "sasl", "username": "ann", "password": "**********"},
    }


def test_the_login_in_the_url_of_a_connection_is_not_shown(plane: Plane) -> None:
    declared = (
        "CREATE CONNECTION hook WITH (connector = 'webhook', endpoint = 'https://ann:hush@shop.example/hook?a=b@c');"
    )
    plane.http.app.state.context = replace(plane.context, connections=declared)  # type: ignore[attr-defined]

    [profile] = ask(plane, "GET", "/connection_profiles", shapes.listed(shapes.CONNECTION_PROFILE))["data"]

    assert profile["config"]["endpoint"] == "https://**********@shop.example/hook?a=b@c"


def test_a_control_plane_without_connections_lists_none(plane: Plane) -> None:
    for path in ("/connection_profiles", "/connection_tables?limit=50", "/udfs"):
        assert ask(plane, "GET", path, shapes.listed(shapes.MAP, is_paged=True))["data"] == []


def test_functions_are_validated_as_the_editor_does_it(plane: Plane) -> None:
    good = "from engine.udf import udf\n\n@udf\ndef plus(a: int) -> int:\n    return a + 1\n"
    verdicts = [
        ask(plane, "POST", "/udfs/validate", shapes.UDF_VALIDATION, {"definition": text, "language": "python"})
        for text in (good, "import", "def f(): ...")
    ]

    assert [verdict["udf_name"] for verdict in verdicts] == ["plus", None, None]
    assert [len(verdict["errors"]) for verdict in verdicts] == [0, 1, 1]
