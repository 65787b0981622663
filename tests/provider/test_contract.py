"""What the provider takes for granted about the control plane holds. Only a test may know both."""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import engine.api.answers as engine_answers
import engine.api.moves.arrivals as arrivals
import engine.api.moves.departures as departures
import engine.api.savepoints.savepoint_schedules as savepoint_rules
import engine.api.upgrades.hand_overs as hand_overs
import engine.api.upgrades.rehearsal_answers as rehearsal_answers
import engine.api.upgrades.reprocessing as reprocessing
import engine.jobs.decisions.states as engine_states
from airflow_provider_arroyo import (
    approval,
    consumers,
    copies,
    moves,
    rehearsals,
    requests,
    responses,
    retention,
    savepoints,
    watermarks,
)
from airflow_provider_arroyo.conditions import UntilWatermark
from airflow_provider_arroyo.requests import ApiCall, Json, PipelineSpec
from airflow_provider_arroyo.responses import JobState
from engine.api.partitions import partitions

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
KINDS = (
    responses.Ping,
    responses.Pipeline,
    responses.Job,
    responses.Checkpoint,
    savepoints.Savepoint,
    savepoints.SavepointTask,
    retention.SavepointFate,
    retention.PruneAnswer,
    watermarks.Watermark,
    approval.UpgradePlan,
    approval.RolledBackPipeline,
    copies.ForkedPipeline,
    copies.ReprocessedPipeline,
    copies.HandOver,
    rehearsals.Rehearsal,
    rehearsals.RehearsalFailure,
    responses.PipelineEvent,
    consumers.PartitionConsumer,
    consumers.PartitionDelivery,
    consumers.Deliveries,
    moves.Departure,
    moves.Arrival,
    moves.Welcome,
)
COMES: dict[str, Json] = {"passport": {}, "place": "s3://a/b", "origin": "http://here", "secrets": {}}
CALLS: list[ApiCall[Any]] = [
    requests.ping(),
    requests.deploy(
        "clicks",
        PipelineSpec("SELECT 1", 2, {"a": "b"}, ("def f(): ...",), timedelta(seconds=5), {"KAFKA": "x"}),
        key="k",
        force=True,
    ),
    requests.deploy(
        "clicks", PipelineSpec("SELECT 1"), key="k", upgrade=requests.UpgradeWish(False, ("a",), ("b",), "3f0c")
    ),
    approval.plan_upgrade("clicks", "SELECT 1", ("def f(): ...",), requests.UpgradeWish(True, ("a",), ("b",))),
    requests.list_pipelines(),
    requests.list_pipelines("pl_1"),
    requests.get_pipeline("clicks"),
    requests.stop_pipeline("clicks", "checkpoint"),
    requests.delete_pipeline("clicks", with_savepoints=True),
    requests.rescale_pipeline("clicks", 2),
    requests.restart_pipeline("clicks", key="k"),
    approval.roll_back_pipeline("clicks", 2, key="k"),
    savepoints.restore_savepoint("clicks", "sp", allow_replay=True, with_version=True, key="k"),
    copies.fork_savepoint(
        "sp",
        "clicks-2",
        PipelineSpec("SELECT 1", None, {"a": "b"}, ("def f(): ...",), None, {"KAFKA": "x"}),
        requests.UpgradeWish(True, ("a",), ("b",), "3f0c"),
        key="k",
    ),
    copies.reprocess("clicks", {"into": "again", "since": "2026-01-01", "partial_windows": True}, key="k"),
    copies.hand_over("clicks-again"),
    copies.get_hand_over("clicks-again"),
    rehearsals.rehearse(
        "clicks",
        {
            "query": "SELECT 1",
            "keep_state": ["a"],
            "reset": ["b"],
            "hold_back": [],
            "examples": 3,
            "udfs": [],
            "savepoint_id": "sp_1",
            "limit_micros": 5,
        },
        key="k",
    ),
    rehearsals.get_rehearsal("clicks", "reh_1"),
    requests.list_jobs("clicks"),
    requests.list_checkpoints("clicks", "job"),
    requests.list_events("clicks", since=NOON, severity="warn"),
    savepoints.take_savepoint("clicks", label="x", key="k"),
    savepoints.get_savepoint("clicks", "sp"),
    savepoints.drill_savepoint("clicks", "sp"),
    retention.set_retention(
        "clicks", retention.RetentionRules(1, 2, 3, timedelta(days=4), timedelta(days=5), "Asia/Tokyo")
    ),
    retention.prune_savepoints("clicks", retention.RetentionRules(1), dry_run=True),
    retention.prune_savepoints("clicks"),
    consumers.put_consumer(
        "hours", consumers.ConsumerSpec("clicks", "1 day", "t", "output", "UTC", "1 hour", "2026", "2027")
    ),
    consumers.next_deliveries("hours", 50, timedelta(seconds=30)),
    consumers.acknowledge(consumers.PartitionConsumer("part_1", "hours", "pl_1", "clicks", 3, 1), 2),
    moves.list_departures("clicks"),
    moves.begin_departure("clicks", "http://there", "s3://a/b", dry_run=True),
    moves.go_on("clicks", "export"),
    moves.go_on("clicks", "release"),
    moves.go_on("clicks", "over"),
    moves.stay("clicks"),
    moves.would_welcome(COMES),
    moves.arrive(COMES),
    moves.get_arrival("pl_1"),
    moves.start_arrived("pl_1", "k"),
    moves.send_back("pl_1"),
    watermarks.check_gate(UntilWatermark("clicks", NOON, "counts", "output", "a_dag", "a_run"), timedelta(seconds=30)),
]


def test_both_spell_the_same_states() -> None:
    assert {state.value for state in JobState} == {state.value for state in engine_states.State}


@pytest.mark.parametrize("state", list(JobState))
def test_both_mean_the_same_by_an_end(state: JobState) -> None:
    assert state.is_terminal == engine_states.State(state.value).is_terminal


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_field_that_is_read_is_sent(kind: type) -> None:
    homes = (
        *(engine_answers, savepoint_rules, reprocessing, hand_overs),
        *(partitions, departures, arrivals, rehearsal_answers),
    )
    home = next(home for home in homes if hasattr(home, kind.__name__))
    sent = getattr(home, kind.__name__).model_fields

    assert {field.name for field in fields(kind)} <= set(sent)


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    """The control plane's own description of itself."""
    from fastapi import FastAPI

    from engine.api.app import ROUTERS
    from engine.jobs.address import API_PREFIX

    app = FastAPI()
    for router in ROUTERS:
        app.include_router(router, prefix=API_PREFIX)
    openapi: dict[str, Any] = app.openapi()
    return openapi


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.method} {call.path}")
def test_every_request_is_one_that_the_control_plane_describes(call: ApiCall[Any], described: dict[str, Any]) -> None:
    fitting = [path for path in described["paths"] if _fits(path, f"/api/v1{call.path}")]
    methods = [described["paths"][path] for path in fitting]
    [operation] = [of_path[call.method.lower()] for of_path in methods if call.method.lower() in of_path]
    parameters = {parameter["name"] for parameter in operation.get("parameters", [])}

    assert set(call.query) <= parameters
    assert call.key is None or "Idempotency-Key" in parameters
    body = operation.get("requestBody", {"required": False})
    assert call.body is not None or not body.get("required")
    assert call.body is None or "content" in body
    if call.body is not None:
        assert set(call.body) <= _fields_of(
            operation["requestBody"]["content"]["application/json"]["schema"], described
        )


def test_no_request_is_held_longer_than_the_control_plane_allows() -> None:
    from airflow_provider_arroyo.hooks.arroyo import HOLD
    from airflow_provider_arroyo.operators.base import SHORT_HOLD

    assert max(HOLD, SHORT_HOLD) <= timedelta(seconds=55)


def _fits(template: str, path: str) -> bool:
    parts, segments = template.split("/"), path.split("/")
    same = all(part == segment or part.startswith("{") for part, segment in zip(parts, segments, strict=False))
    return len(parts) == len(segments) and same


def _fields_of(schema: dict[str, Any], described: dict[str, Any]) -> set[str]:
    reference = schema.get("$ref") or next(
        alternative["$ref"] for alternative in schema["anyOf"] if "$ref" in alternative
    )
    return set(described["components"]["schemas"][reference.rpartition("/")[2]]["properties"])
