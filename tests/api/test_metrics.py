"""What Prometheus reads: every declared metric, with the values that a control plane has, and no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import event

from engine.api.app import build_app
from engine.api.http.authentication import Rules
from engine.api.metrics.declared import METRICS
from engine.errors import DriverDiedError, SourceUnavailableError
from engine.values.instants import FAR_FUTURE, to_micros
from tests.api.conftest import T0, Plane, report

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(plane: Plane) -> Series:
    answer = plane.http.get("/metrics")
    assert answer.is_success, answer.text
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def value(series: Series, name: str, **labels: str) -> float | None:
    return series.get((name, frozenset(labels.items())))


def of(series: Series, name: str) -> dict[frozenset[tuple[str, str]], float]:
    return {labels: value for (series_name, labels), value in series.items() if series_name == name}


def full_report(epoch: int) -> dict[str, Any]:
    return report(epoch, epoch) | {
        "late_rows": 3,
        "state_bytes": 1000,
        "state_rows": {"windows": 88, "sessions": 3},
        "state_requests": {"changelog": 2, "list": 1},
        "state_changes": 4,
        "duration": 2_000_000,
        "phases": {"find": 500_000, "compute": 1_250_000},
        "tables": {
            "clicks": {"rows_in": 10, "rows_waiting": 70, "late_rows": 1, "dropped_rows": 2, "dead_letters": 2},
            "counts": {"rows_out": 5, "busy": 0.25},
        },
        "operators": {"tumble-1f": {"rows_in": 9, "rows_out": 5, "busy": 0.75}, "hop-1f": {"rows_out": 6}},
    }


def send(plane: Plane, *reports: Mapping[str, Any]) -> None:
    plane.call("heartbeat", {"state": "running", "reports": list(reports)})


def test_rows_epochs_and_phases_are_counted_over_all_epochs(plane: Plane) -> None:
    plane.run()
    send(plane, full_report(0), full_report(1))
    send(plane, full_report(1), full_report(2))  # the answer to the call before was lost

    series = scrape(plane)

    assert value(series, "arroyo_rows_in_total", pipeline="orders", table="clicks") == 30
    assert value(series, "arroyo_rows_out_total", pipeline="orders", table="counts") == 15
    assert of(series, "arroyo_late_rows_total") == {
        frozenset({("pipeline", "orders"), ("table", "clicks")}): 3,
        frozenset({("pipeline", "orders")}): 6,
    }
    assert value(series, "arroyo_dropped_rows_total", pipeline="orders", table="clicks") == 2
    assert value(series, "arroyo_dead_letters_total", pipeline="orders", table="clicks") == 2
    assert value(series, "arroyo_epochs_total", pipeline="orders") == 3
    assert value(series, "arroyo_epoch_seconds_total", pipeline="orders") == 6
    assert value(series, "arroyo_epoch_phase_seconds_total", pipeline="orders", phase="compute") == 3.75
    assert value(series, "arroyo_state_bytes", pipeline="orders") == 1000
    assert value(series, "arroyo_state_rows", pipeline="orders", operator="windows") == 88
    assert value(series, "arroyo_state_rows", pipeline="orders", operator="sessions") == 3
    assert value(series, "arroyo_state_requests_total", pipeline="orders", kind="changelog") == 6
    assert value(series, "arroyo_state_changes_total", pipeline="orders") == 12
    assert value(series, "arroyo_busy_ratio", pipeline="orders", part="counts") == 0.25
    assert value(series, "arroyo_busy_ratio", pipeline="orders", part="tumble-1f") == 0.75
    rows = [(operator, way) for operator, way in (("tumble-1f", "in"), ("tumble-1f", "out"), ("hop-1f", "out"))]
    shown = [
        value(series, "arroyo_operator_epoch_rows", pipeline="orders", operator=operator, direction=way)
        for operator, way in rows
    ]
    assert shown == [9, 5, 6]
    assert len(of(series, "arroyo_busy_ratio")) == 2, "what is not known is left out"
    assert value(series, "arroyo_source_waiting_rows", pipeline="orders", table="clicks") == 70
    assert value(series, "arroyo_job_state", pipeline="orders", state="Running") == 1


def test_lags_are_measured_by_the_clock_when_they_are_asked_for(plane: Plane) -> None:
    plane.run()
    behind = to_micros(T0 - timedelta(seconds=30))
    sinks = {"counts": {"complete_until": behind}, "visits": {"unknown": "sessions"}}
    marks = {"clicks": to_micros(T0), "idle": None}
    send(plane, full_report(0) | {"watermark": to_micros(T0), "source_watermarks": marks, "sinks": sinks})
    plane.now = T0 + timedelta(seconds=100)

    series = scrape(plane)

    orders = ("pipeline", "orders")
    assert of(series, "arroyo_watermark_lag_seconds") == {frozenset({orders}): 100}
    assert of(series, "arroyo_source_lag_seconds") == {frozenset({orders, ("table", "clicks")}): 100}
    assert of(series, "arroyo_complete_until_lag_seconds") == {frozenset({orders, ("table", "counts")}): 130}
    assert of(series, "arroyo_sink_lag_seconds") == {frozenset({orders, ("table", "counts")}): 30}


def test_unknown_values_have_no_metric(plane: Plane) -> None:
    plane.run()
    before = scrape(plane)
    send(plane, report(0, 0) | {"sinks": {}, "source_watermarks": {}, "watermark": None})  # of an earlier version

    series = scrape(plane)

    assert not any(of(before, name) for name in ("arroyo_state_bytes", "arroyo_epochs_total", "arroyo_rows_in_total"))
    missing = ("watermark_lag_seconds", "dropped_rows_total", "run_memory_bytes", "sink_lag_seconds")
    assert not any(of(series, f"arroyo_{name}") for name in missing)
    assert of(series, "arroyo_rows_in_total") == {frozenset({("pipeline", "orders")}): 10}, "of no table that is known"


def test_a_job_whose_input_has_ended_lags_behind_nothing(plane: Plane) -> None:
    plane.run()
    end = to_micros(FAR_FUTURE)
    done = {"watermark": end, "source_watermarks": {"clicks": end}, "sinks": {"counts": {"complete_until": end}}}
    send(plane, full_report(0) | done)
    plane.end("finished")

    series = scrape(plane)

    assert value(series, "arroyo_job_state", pipeline="orders", state="Finished") == 1
    assert not [name for name, _ in series if name.endswith("lag_seconds")]
    assert value(series, "arroyo_rows_in_total", pipeline="orders", table="clicks") == 10


@pytest.mark.parametrize("outcome", ["stopped", "failed"])
def test_a_job_at_rest_exports_its_totals_and_no_live_figure(plane: Plane, outcome: str) -> None:
    plane.run()
    send(plane, full_report(0) | {"source_watermarks": {"clicks": to_micros(T0)}})
    live = (
        *("watermark_lag_seconds", "source_lag_seconds", "complete_until_lag_seconds", "sink_lag_seconds"),
        *("state_bytes", "state_rows", "source_waiting_rows", "busy_ratio", "operator_epoch_rows"),
    )
    assert all(of(scrape(plane), f"arroyo_{name}") for name in live)

    if outcome == "stopped":
        plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})
        plane.settle()
        plane.end()
    else:
        plane.end("failed", {"code": "sql.overflow", "message": "too large", "cause": "mistake"})
    series = scrape(plane)

    assert value(series, "arroyo_job_state", pipeline="orders", state=outcome.capitalize()) == 1
    assert not [name for name in live if of(series, f"arroyo_{name}")]
    assert value(series, "arroyo_epochs_total", pipeline="orders") == 1
    assert of(series, "arroyo_epoch_committed_timestamp_seconds")


@pytest.mark.parametrize("asked", ["a forced version", "a restore"])
def test_a_state_that_is_to_be_given_up_lags_behind_nothing(plane: Plane, asked: str) -> None:
    plane.run()
    savepoint = plane.http.post("/api/v1/pipelines/orders/savepoints").json()
    send(plane, full_report(1))
    assert of(scrape(plane), "arroyo_watermark_lag_seconds")

    if asked == "a restore":
        body = {"savepoint_id": savepoint["id"], "allow_replay": True}
        assert plane.http.post("/api/v1/pipelines/orders/restore", json=body).is_success
    else:
        plane.deploy(query="SELECT 2", force=True)
    series = scrape(plane)

    assert not [name for name, _ in series if name.endswith("lag_seconds")]
    assert value(series, "arroyo_epochs_total", pipeline="orders") == 1, "what it has done, it has done"


def test_restarts_are_counted_by_cause_and_failures_in_a_row_fall_back(plane: Plane) -> None:
    plane.run()
    for code, cause in ((SourceUnavailableError.code, "outage"), (DriverDiedError.code, "unknown")):
        plane.end("failed", {"code": code, "message": "no", "cause": cause})
        plane.let_pass(5)
        plane.come_up()

    series = scrape(plane)

    assert value(series, "arroyo_job_restarts_total", pipeline="orders", cause="outage") == 1
    assert value(series, "arroyo_job_restarts_total", pipeline="orders", cause="unknown") == 1
    assert value(series, "arroyo_job_failures_in_a_row", pipeline="orders", cause="unknown") == 1
    for _ in range(13):
        plane.let_pass(10)
        plane.call("heartbeat", {"state": "running"})
    assert value(scrape(plane), "arroyo_job_failures_in_a_row", pipeline="orders", cause="unknown") == 0


def test_a_run_that_has_ended_uses_nothing(plane: Plane) -> None:
    plane.run()
    used = {"java": {"cpu_seconds": 12.5, "memory_bytes": 1000}}
    plane.call("heartbeat", {"state": "running", "usage": used})

    series = scrape(plane)

    assert of(series, "arroyo_run_cpu_seconds_total") == {
        frozenset({("pipeline", "orders"), ("process", "java")}): 12.5
    }
    assert value(series, "arroyo_run_memory_bytes", pipeline="orders", process="java") == 1000
    assert value(series, "arroyo_drivers") == 1
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "immediate"})
    plane.settle()
    plane.end("stopped")
    after = scrape(plane)
    assert plane.state() == "Stopped"
    assert not of(after, "arroyo_run_memory_bytes")
    assert value(after, "arroyo_drivers") == 0


def test_a_deleted_pipeline_has_no_series(plane: Plane) -> None:
    pipeline = plane.run()
    send(plane, full_report(0))
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "force"})
    plane.end(None)
    assert plane.http.delete(f"/api/v1/pipelines/{pipeline['id']}").is_success

    assert not [labels for _, labels in scrape(plane) if ("pipeline", "orders") in labels]
    with plane.context.database.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM job_totals").scalar_one() == 0


def test_a_scrape_asks_as_often_for_many_pipelines_as_for_one(plane: Plane) -> None:
    statements: list[str] = []

    def note(connection: object, cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    def count() -> int:
        statements.clear()
        scrape(plane)
        return len([text for text in statements if text.lstrip().upper().startswith("SELECT")])

    event.listen(plane.context.database.engine, "before_cursor_execute", note)
    plane.run("first")
    send(plane, full_report(0))
    with_one = count()
    for name in ("second", "third", "fourth"):
        plane.run(name)
        send(plane, full_report(0))

    assert with_one == count() == 2, "one for jobs, and one for pushes"
    assert len(of(scrape(plane), "arroyo_epochs_total")) == 4


def test_requests_are_counted_by_route_and_never_by_what_somebody_asks_for(plane: Plane) -> None:
    plane.run()
    for path in ("/api/v1/pipelines/orders", "/api/v1/pipelines/none", "/nowhere", "/nowhere/else"):
        plane.http.get(path)
    plane.http.request("BREW", "/coffee")

    series = scrape(plane)

    route = "/api/v1/pipelines/{pipeline}"
    assert value(series, "arroyo_http_requests_total", method="GET", route=route, status="404") == 1
    assert value(series, "arroyo_http_requests_total", method="other", route="other", status="404") == 3
    assert value(series, "arroyo_http_request_seconds_count", method="GET", route=route) == 3, "one of the fixture's"
    heartbeat = "/api/v1/runs/{job}/{generation}/heartbeat"
    assert value(series, "arroyo_http_requests_total", method="POST", route=heartbeat, status="200") == 1


def test_the_control_plane_tells_of_itself(plane: Plane) -> None:
    series = scrape(plane)

    assert value(series, "arroyo_build_info", version="1.2.3") == 1
    assert (value(series, "arroyo_database_bytes", file="main") or 0) > 1000
    free, size = value(series, "arroyo_data_disk_free_bytes"), value(series, "arroyo_data_disk_size_bytes")
    assert free is not None
    assert size is not None
    assert 0 < free <= size
    assert (value(series, "process_resident_memory_bytes") or 0) > 1_000_000


def test_every_declared_metric_is_served_with_its_labels_and_no_other(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARROYO_NET_ALLOW", "203.0.113.9")
    plane.run()
    push = {"url": "http://203.0.113.9", "asset": "hours"}
    body = {"pipeline": "orders", "every": "1 hour", "push": push}
    assert plane.http.put("/api/v1/partitions/hours", json=body).is_success
    send(plane, full_report(0))
    plane.call("heartbeat", {"state": "running", "usage": {"driver": {"cpu_seconds": 1, "memory_bytes": 1}}})
    scrape(plane)

    series = scrape(plane)

    declared = {name: metric for metric in METRICS for name in metric.series}
    assert {name for name, _ in series} == set(declared)
    for name, labels in series:
        extra = {"le"} if name.endswith("_bucket") else set()
        assert {label for label, _ in labels} - extra <= set(declared[name].labels)
    for name, metric in declared.items():
        used = {label for labels in of(series, name) for label, _ in labels} - {"le"}
        assert used == set(metric.labels), name


def test_kinds_and_meanings_are_those_declared(plane: Plane) -> None:
    plane.run()
    send(plane, full_report(0))
    families = {family.name: family for family in text_string_to_metric_families(plane.http.get("/metrics").text)}

    for metric in METRICS:
        family = families.get(metric.name.removesuffix("_total"))
        if family is not None and metric.name.startswith("arroyo_"):
            assert (family.type, family.documentation) == (metric.kind, metric.meaning)


def test_names_follow_the_conventions() -> None:
    names = [metric.name for metric in METRICS]

    assert len(names) == len(set(names))
    for metric in METRICS:
        assert metric.name.startswith(("arroyo_", "process_"))
        assert metric.name.endswith("_total") == (metric.kind == "counter")
        assert metric.meaning.endswith(".")


def test_openmetrics_is_answered_where_it_is_asked_for(plane: Plane) -> None:
    plane.run()
    send(plane, full_report(0))

    answer = plane.http.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})

    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert {"arroyo_rows_in", "arroyo_job_state"} <= {family.name for family in parse_openmetrics(answer.text)}


@pytest.mark.parametrize("token", ["", "Bearer wrong"])
def test_metrics_need_a_token_unless_told_otherwise(plane: Plane, token: str) -> None:
    refused = plane.http.get("/metrics", headers={"Authorization": token})
    rules = Rules(frozenset(), None, 1024)
    open_app = build_app(plane.context, replace(rules, open_metrics=True))

    assert (refused.status_code, refused.json()["code"]) == (401, "auth.denied")
    with TestClient(open_app) as anybody:
        assert anybody.get("/metrics").is_success
        assert anybody.get("/api/v1/pipelines").status_code == 401


def test_a_named_token_will_do(plane: Plane) -> None:
    made = plane.http.post("/api/v1/tokens", json={"name": "prometheus"}).json()

    assert plane.http.get("/metrics", headers={"Authorization": f"Bearer {made['token']}"}).is_success
