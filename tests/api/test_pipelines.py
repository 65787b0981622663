from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from engine.api.answers import DeployedPipeline
from engine.values.run_settings import RunSettings
from tests.api.conftest import T0, Plane, report

BY_NAME = "/api/v1/pipelines/by-name/orders"


def test_a_deployed_pipeline_is_started(plane: Plane) -> None:
    answer = plane.http.put(BY_NAME, json={"query": "SELECT 1", "parallelism": 2, "settings": {"memory": "1g"}})

    assert answer.status_code == 201
    assert set(answer.json()) == set(DeployedPipeline.model_fields)
    plane.settle()
    assert plane.state() == "Scheduling"
    [assignment] = plane.runner.launched
    assert (assignment.query, assignment.parallelism, assignment.generation) == ("SELECT 1", 2, 1)
    assert assignment.settings == RunSettings(memory="1g")


def test_the_same_deployment_again_changes_nothing(plane: Plane) -> None:
    first = plane.run()

    again = plane.http.put(BY_NAME, json={"query": "SELECT 1"})

    plane.settle()
    assert again.status_code == 200
    assert (again.json()["id"], again.json()["version"]) == (first["id"], 1)
    assert len(plane.runner.launched) == 1


def test_twenty_deployments_at_once_make_one_pipeline(plane: Plane) -> None:
    body = {"query": "SELECT 1", "idempotency_key": "k"}
    with ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(lambda _: plane.http.put(BY_NAME, json=body), range(20)))

    assert [answer.status_code for answer in answers] == [201] * 20
    assert sum("idempotency-replayed" in answer.headers for answer in answers) == 19
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len(plane.get("/pipelines")["data"]) == 1


def test_a_deployment_starts_a_stopped_pipeline_again(plane: Plane) -> None:
    plane.run()
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})
    plane.settle()
    plane.end()
    assert plane.state() == "Stopped"

    plane.deploy()

    assert plane.state() == "Scheduling"
    assert plane.runner.launched[-1].generation == 2


def test_a_deployment_starts_a_failed_pipeline_again(plane: Plane) -> None:
    plane.run()
    plane.end("failed", {"code": "sql.unknown_column", "message": "no"})
    assert plane.state() == "Failed"

    plane.deploy()

    assert plane.runner.launched[-1].generation == 2


def test_a_finished_pipeline_stays_finished(plane: Plane) -> None:
    plane.run(idempotency_key="k")
    plane.end("finished")

    plane.deploy(idempotency_key="k")

    assert plane.state() == "Finished"
    assert plane.http.post("/api/v1/pipelines/orders/restart").json()["code"] == "pipeline.busy"


def test_another_target_of_the_same_state_is_a_new_version_that_takes_over(plane: Plane) -> None:
    plane.run()
    plane.call("heartbeat", {"state": "running", "reports": [report(1, 1)]})

    deployed = plane.deploy(query="SELECT 1 INTO b")
    assert (deployed["version"], deployed["unchanged"]) == (2, False)

    assert plane.state() == "CheckpointStopping"
    assert plane.call("heartbeat", {"state": "running"})["orders"] == [{"kind": "stop", "mode": "checkpoint"}]
    plane.end()
    assert (plane.runner.launched[-1].query, plane.runner.launched[-1].generation) == ("SELECT 1 INTO b", 2)


@pytest.mark.parametrize("query", ["SELECT   1\n", "SELECT 1 -- again", "-- new words\n\nSELECT\n1"])
def test_another_comment_makes_no_version_and_restarts_nothing(plane: Plane, query: str) -> None:
    before = plane.run()

    answer = plane.http.put(BY_NAME, json={"query": query})

    plane.settle()
    assert (answer.status_code, answer.json()["unchanged"], answer.json()["version"]) == (200, True, 1)
    assert (answer.json()["query"], answer.json()["digest"]) == ("SELECT 1", before["digest"])
    assert (plane.state(), len(plane.runner.launched)) == ("Running", 1)


@pytest.mark.parametrize(
    "change",
    [
        {"udfs": ["def f(): ..."]},
        {"settings": {"memory": "3g"}},
        {"checkpoint_interval_micros": 5_000_000},
        {"query": "SELECT 1 INTO b -- a comment"},
    ],
)
def test_changed_setting_creates_a_new_version(plane: Plane, change: dict[str, Any]) -> None:
    plane.run()

    assert plane.deploy(**change)["version"] == 2


WHOLE = {
    "parallelism": 3,
    "checkpoint_interval_micros": 5_000_000,
    "settings": {"memory": "3g"},
    "udfs": [{"definition": "def f(): ...", "language": "python"}],
}


def test_setting_missing_in_a_deployment_is_unchanged(plane: Plane) -> None:
    plane.deploy(**WHOLE)
    plane.http.patch("/api/v1/pipelines/orders", json={"parallelism": 4})

    again = plane.deploy()
    other = plane.deploy(query="SELECT 1 INTO b")

    rescaled = {**WHOLE, "parallelism": 4}
    assert (again["unchanged"], {name: again[name] for name in WHOLE}) == (True, rescaled)
    assert (other["version"], {name: other[name] for name in WHOLE}) == (2, rescaled)


@pytest.mark.parametrize("micros", [1_000_001, 4_350_007, 86_399_999_999])
def test_an_interval_is_shown_to_the_microsecond(plane: Plane, micros: int) -> None:
    assert plane.deploy(checkpoint_interval_micros=micros)["checkpoint_interval_micros"] == micros


def test_setting_missing_in_a_new_pipeline_has_its_default(plane: Plane) -> None:
    found = plane.deploy()

    assert {name: found[name] for name in WHOLE} == {
        "parallelism": 1,
        "checkpoint_interval_micros": None,
        "settings": {},
        "udfs": [],
    }


def test_empty_setting_in_a_deployment_is_applied(plane: Plane) -> None:
    plane.deploy(**WHOLE)

    found = plane.deploy(settings={}, udfs=[], checkpoint_interval_micros=None)

    assert (found["version"], found["settings"], found["udfs"], found["checkpoint_interval_micros"]) == (
        2,
        {},
        [],
        None,
    )


def test_a_pipeline_says_who_has_stopped_it_and_when(plane: Plane) -> None:
    running = plane.run()
    assert (running["stopped_by"], running["stopped_at"]) == (None, None)

    plane.http.patch(
        "/api/v1/pipelines/orders", json={"stop": "checkpoint"}, headers={"User-Agent": "arroyo/1 (ann@laptop)"}
    )
    plane.let_pass(60)
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "force"}, headers={"User-Agent": "somebody else"})

    stopped = plane.get("/pipelines/orders")
    assert (stopped["stopped_by"], stopped["stopped_at"]) == (
        "arroyo/1 (ann@laptop) at testclient",
        int(T0.timestamp() * 1_000_000),
    )
    assert plane.deploy()["stopped_by"] is None


def test_another_plan_is_refused_while_there_is_state(plane: Plane) -> None:
    plane.run()
    plane.call("heartbeat", {"state": "running", "reports": [report(1, 1)]})

    refused = plane.http.put(BY_NAME, json={"query": "SELECT 2"})

    assert (refused.status_code, refused.json()["code"]) == (409, "pipeline.incompatible")
    assert plane.get("/pipelines/orders")["version"] == 1
    assert plane.deploy(query="SELECT 2", force=True)["version"] == 2
    plane.end()
    assert plane.runner.launched[-1].force


def test_force_lets_a_query_begin_anew_that_was_refused_its_state(plane: Plane) -> None:
    plane.run()
    assert plane.deploy(force=True)["version"] == 1, "the state is its own"
    plane.end("failed", {"code": "state.other_query", "message": "the state is another's", "cause": "mistake"})
    assert plane.state() == "Failed"

    deployed = plane.deploy(force=True)

    assert (deployed["version"], deployed["unchanged"]) == (2, False)
    assert (plane.runner.launched[-1].query, plane.runner.launched[-1].force) == ("SELECT 1", True)


def test_another_plan_is_taken_while_there_is_no_state(plane: Plane) -> None:
    plane.run()
    plane.end("failed", {"code": "option.bad_value", "message": "no such file"})

    plane.deploy(query="SELECT 2")

    assert plane.runner.launched[-1].query == "SELECT 2"


def test_a_key_belongs_to_one_name(plane: Plane) -> None:
    plane.deploy(idempotency_key="k")

    refused = plane.http.put(
        "/api/v1/pipelines/by-name/other", json={"query": "SELECT 1"}, headers={"Idempotency-Key": "k"}
    )

    assert (refused.status_code, refused.json()["code"]) == (409, "pipeline.key_reused")
    assert plane.http.get("/api/v1/pipelines/other").status_code == 404


def test_bad_sql_is_refused_with_every_complaint_and_its_place(plane: Plane) -> None:
    refused = plane.http.put(BY_NAME, json={"query": "bad"})

    assert refused.status_code == 400
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["code"] == "sql.refused"
    assert [(error["code"], error["span"]["start"]) for error in refused.json()["errors"]] == [
        ("sql.unknown_column", {"line": 1, "column": 8}),
        ("sql.unknown_table", {"line": 2, "column": 1}),
    ]
    assert plane.http.get("/api/v1/pipelines/orders").status_code == 404


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": ""},
        {"query": "SELECT 1", "parallelism": 0},
        {"query": "SELECT 1", "parallelizm": 2},
        {"query": "SELECT 1", "stop": "now"},
        {"query": "SELECT 1", "checkpoint_interval_micros": 1},
    ],
)
def test_a_malformed_deployment_is_refused(plane: Plane, body: dict[str, object]) -> None:
    refused = plane.http.put(BY_NAME, json=body)

    assert (refused.status_code, refused.json()["code"]) == (422, "request.invalid")
    assert refused.json()["errors"]


@pytest.mark.parametrize("name", ["a%00b", "a%0Ab", "..%5Cb", "x" * 300])
def test_a_name_has_no_control_characters_and_no_slashes(plane: Plane, name: str) -> None:
    assert plane.http.put(f"/api/v1/pipelines/by-name/{name}", json={"query": "SELECT 1"}).status_code == 422


def test_a_name_that_could_be_the_id_of_another_pipeline_is_refused(plane: Plane) -> None:
    gone = plane.deploy()["id"]

    refused = plane.http.put(f"/api/v1/pipelines/by-name/{gone}", json={"query": "SELECT 1"})

    assert (refused.status_code, refused.json()["code"]) == (422, "request.invalid")
    assert plane.deploy("pl_orders")["name"] == "pl_orders"


def test_a_query_may_have_a_mebibyte(plane: Plane) -> None:
    refused = plane.http.put(BY_NAME, json={"query": "x" * (1024 * 1024 + 1)})

    assert (refused.status_code, refused.json()["code"]) == (413, "request.too_large")


def test_a_query_with_state_on_a_cluster_needs_a_place_for_it(plane: Plane) -> None:
    cluster = {"master": "spark://cluster:7077"}
    stateful, stateless = {"query": "SELECT 1 GROUP", "stop": "immediate"}, {"query": "SELECT 1", "stop": "immediate"}

    refused = plane.http.put(BY_NAME, json={**stateful, "settings": cluster})
    assert (refused.status_code, refused.json()["code"]) == (400, "setting.no_state_url")
    assert "state_url" in refused.json()["hint"]
    assert "shared_disk" in refused.json()["hint"]
    assert plane.get("/pipelines")["data"] == []

    for name, body, settings in (
        ("a", stateless, cluster),
        ("b", stateful, {**cluster, "state_url": "s3://bucket/jobs"}),
        ("c", stateful, {**cluster, "shared_disk": "on"}),
    ):
        accepted = plane.http.put(f"/api/v1/pipelines/by-name/{name}", json={**body, "settings": settings})
        assert accepted.status_code == 201, accepted.json()


def test_a_file_that_executors_are_to_get_has_to_be_there(plane: Plane) -> None:
    settings = {"master": "spark://cluster:7077", "executor_archive": "/nowhere/python.tar.gz"}

    refused = plane.http.put(BY_NAME, json={"query": "SELECT 1", "settings": settings})

    assert (refused.status_code, refused.json()["code"]) == (400, "setting.invalid")
    assert "executor_archive /nowhere/python.tar.gz" in refused.json()["detail"]


@pytest.mark.parametrize("settings", [{"spark.jars": "x"}, {"max_epoch_rows": "0"}, {"max_epoch_rows": "all"}])
def test_a_setting_that_no_run_would_heed_is_refused(plane: Plane, settings: dict[str, str]) -> None:
    refused = plane.http.put(BY_NAME, json={"query": "SELECT 1", "settings": settings})

    assert (refused.status_code, refused.json()["code"]) == (400, "setting.invalid")


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"memory": "lots"}, "512m or 4g, and is 'lots'"),
        ({"memory": "4 g"}, "512m or 4g"),
        ({"memory": "64m"}, "at least 480m"),
        ({"memory": "2"}, "at least 480m"),
        ({"master": "here"}, "such as local[4] or spark://host:7077, and is 'here'"),
        ({"master": "local[0]"}, "such as local[4]"),
        ({"master": "yarn"}, "pipelines do not run on the master 'yarn'"),
        ({"master": "k8s://https://cluster:6443", "shared_disk": "on"}, "pipelines do not run on the master 'k8s:"),
        ({"master": "mesos://cluster:5050"}, "pipelines do not run on the master"),
        ({"quick": "maybe"}, "quick must be true or false, and is 'maybe'"),
        ({"max_epoch_rows": "-5"}, "greater than zero, and is '-5'"),
        ({"fuse": "maybe"}, "fuse must be on or off, and is 'maybe'"),
        ({"linger": "soon"}, "at most 10 seconds, such as '250 ms', and is 'soon'"),
        ({"linger": "11 seconds"}, "at most 10 seconds"),
        ({"linger": "-1 ms"}, "at most 10 seconds"),
        ({"memory": "lots", "quick": "maybe"}, "lots'; quick must be"),
    ],
)
def test_a_setting_that_is_not_what_it_has_to_be_is_refused_with_what_it_may_be(
    plane: Plane, setting: dict[str, str], says: str
) -> None:
    refused = plane.http.put(BY_NAME, json={"query": "SELECT 1", "settings": setting})

    assert (refused.status_code, refused.json()["code"]) == (400, "setting.invalid")
    assert says in refused.json()["detail"]
    assert plane.get("/pipelines")["data"] == []


@pytest.mark.parametrize(
    "settings",
    [
        {"memory": "1g", "quick": "True", "max_epoch_rows": "7"},
        {"fuse": "on"},
        {"memory": "600M", "master": "local[*]"},
        {"memory": "1073741824", "master": "spark://a:7077,b:7077", "shared_disk": "on"},
        {"master": "local[4, 2]"},
        {"linger": "0 seconds"},
        {"linger": "1.5s"},
        {"master": "local-cluster[2,1,1024]"},
    ],
)
def test_settings_that_can_be_are_taken(plane: Plane, settings: dict[str, str]) -> None:
    assert plane.http.put(BY_NAME, json={"query": "SELECT 1", "settings": settings}).status_code == 201


def test_a_stop_is_an_order_that_the_driver_takes_from_its_next_call(plane: Plane) -> None:
    plane.run()

    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})
    plane.settle()

    assert plane.state() == "CheckpointStopping"
    assert plane.runner.poked == [1]
    plane.end()
    assert plane.state() == "Stopped"
    pipeline = plane.get("/pipelines/orders")
    assert (pipeline["action"], pipeline["action_text"], pipeline["stop"]) == ("none", "Start", "checkpoint")


def test_a_stop_now_is_a_stricter_order(plane: Plane) -> None:
    plane.run()

    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "immediate"})
    plane.settle()

    assert plane.call("heartbeat", {"state": "running"})["orders"] == [{"kind": "stop", "mode": "immediate"}]


def test_a_stop_by_force_kills(plane: Plane) -> None:
    plane.run()

    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "force"})
    plane.settle()

    assert (plane.runner.killed, plane.state()) == ([1], "Stopped")


def test_the_same_parallelism_is_no_rescale(plane: Plane) -> None:
    plane.run(parallelism=2)

    plane.http.patch("/api/v1/pipelines/orders", json={"parallelism": 2})
    plane.settle()

    assert plane.state() == "Running"


def test_a_rescale_drains_lays_out_and_starts_wider(plane: Plane) -> None:
    plane.run()

    plane.http.patch("/api/v1/pipelines/orders", json={"parallelism": 3})
    plane.settle()
    assert plane.state() == "Rescaling"
    plane.end()

    assert (plane.runner.launched[-1].parallelism, plane.runner.launched[-1].generation) == (3, 2)
    plane.come_up()
    assert plane.job()["tasks"] == 3


def test_a_restart_drains_and_starts_again(plane: Plane) -> None:
    plane.run()

    plane.http.post("/api/v1/pipelines/orders/restart", json={"force": False})
    plane.settle()
    assert plane.state() == "CheckpointStopping"
    plane.end()

    assert plane.runner.launched[-1].generation == 2


def test_only_a_resting_pipeline_can_be_deleted(plane: Plane) -> None:
    pipeline = plane.run()
    assert plane.http.delete("/api/v1/pipelines/orders").status_code == 409

    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "force"})
    plane.settle()

    assert plane.http.delete("/api/v1/pipelines/orders").status_code == 204
    assert plane.http.get(f"/api/v1/pipelines/{pipeline['id']}").json()["code"] == "pipeline.not_found"
    assert plane.deploy()["id"] != pipeline["id"]


def test_pipelines_are_listed_page_by_page(plane: Plane) -> None:
    for name in "abc":
        plane.deploy(name)

    first = plane.get("/pipelines?limit=2")
    second = plane.get(f"/pipelines?limit=2&starting_after={first['data'][-1]['id']}")

    assert [len(first["data"]), first["has_more"]] == [2, True]
    assert [len(second["data"]), second["has_more"]] == [1, False]
    assert {pipeline["name"] for pipeline in first["data"] + second["data"]} == {"a", "b", "c"}


def test_a_query_can_be_validated_without_being_deployed(plane: Plane) -> None:
    good = plane.http.post("/api/v1/pipelines/validate_query", json={"query": "SELECT 1"})
    bad = plane.http.post("/api/v1/pipelines/validate_query", json={"query": "bad"})

    assert good.json() == {"graph": {"nodes": [], "edges": []}, "errors": []}
    assert [error["code"] for error in bad.json()["errors"]] == ["sql.unknown_column", "sql.unknown_table"]
    assert bad.status_code == 200
