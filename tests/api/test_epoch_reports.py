"""One epoch's figures on their way: what a driver sends, what the database holds, what the API answers."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engine.api.answers import Checkpoint
from engine.values.epoch_report import (
    FIGURES,
    SENT,
    EpochReport,
    HeldBy,
    OperatorFigures,
    SinkProgress,
    TableFigures,
    to_wire,
)
from tests.api.conftest import Plane

REPORT = EpochReport(
    epoch=7,
    rows_in=100,
    rows_out=40,
    rows_per_second=12.5,
    duration=timedelta(seconds=8, microseconds=3),
    watermark=datetime(2026, 1, 1, 0, 1, tzinfo=UTC),
    source_watermarks={"clicks": datetime(2026, 1, 1, 0, 2, tzinfo=UTC), "idle": None},
    late_rows=1,
    dropped_rows=2,
    state_changes=3,
    state_bytes=4,
    at=datetime(2026, 1, 1, 0, 3, tzinfo=UTC),
    rows_waiting=5,
    lineage="1f",
    sinks={
        "counts": SinkProgress(
            datetime(2026, 1, 1, tzinfo=UTC),
            datetime(2026, 1, 1, 0, 1, tzinfo=UTC),
            by_clock=("clicks",),
            held_by=HeldBy("oldest_rows", "a row", "clicks", "p", datetime(2026, 1, 1, 0, 1, tzinfo=UTC)),
        ),
        "visits": SinkProgress(unknown="sessions"),
    },
    tables={
        "clicks": TableFigures(rows_in=100, rows_waiting=5, late_rows=1, dropped_rows=2, dead_letters=2),
        "counts": TableFigures(rows_out=40, busy=0.25),
    },
    phases={"find": timedelta(microseconds=7), "compute": timedelta(seconds=1)},
    state_rows={"windows": 88},
    state_requests={"changelog": 2},
    operators={"tumble-1f": OperatorFigures(rows_in=90, busy=0.5)},
)
NO_FIGURES = dict.fromkeys(field.name for field in fields(TableFigures))
TABLES = {
    "clicks": NO_FIGURES | {"rows_in": 100, "rows_waiting": 5, "late_rows": 1, "dropped_rows": 2, "dead_letters": 2},
    "counts": NO_FIGURES | {"rows_out": 40, "busy": 0.25},
}
OPERATORS = {"tumble-1f": {"rows_in": 90, "rows_out": None, "busy": 0.5}}
PHASES = {"find": 7, "compute": 1_000_000}
SINKS = {
    "counts": {
        "complete_until": 1_767_225_600_000_000,
        "output_until": 1_767_225_660_000_000,
        "unknown": None,
        "by_clock": ["clicks"],
        "held_by": {
            "reason": "oldest_rows",
            "remedy": "a row",
            "source": "clicks",
            "partition": "p",
            "watermark": 1_767_225_660_000_000,
            "since": None,
        },
    },
    "visits": {"complete_until": None, "output_until": None, "unknown": "sessions", "by_clock": [], "held_by": None},
}
WIRE: dict[str, Any] = {
    "epoch": 7,
    "rows_in": 100,
    "rows_out": 40,
    "rows_per_second": 12.5,
    "duration": 8_000_003,
    "watermark": 1_767_225_660_000_000,
    "source_watermarks": {"clicks": 1_767_225_720_000_000, "idle": None},
    "late_rows": 1,
    "dropped_rows": 2,
    "rows_waiting": 5,
    "state_changes": 3,
    "state_bytes": 4,
    "at": 1_767_225_780_000_000,
    "lineage": "1f",
    "sinks": SINKS,
    "tables": TABLES,
    "phases": PHASES,
    "state_rows": {"windows": 88},
    "state_requests": {"changelog": 2},
    "operators": OPERATORS,
}
ROW = {
    "epoch": 7,
    "generation": 1,
    "rows_in": 100,
    "rows_out": 40,
    "rows_per_second": 12.5,
    "duration": 8_000_003,
    "watermark": 1_767_225_660_000_000,
    "sources": '{"clicks": 1767225720000000, "idle": null}',
    "late_rows": 1,
    "dropped_rows": 2,
    "state_changes": 3,
    "state_bytes": 4,
    "at": 1_767_225_780_000_000,
    "rows_waiting": 5,
    "lineage": "1f",
    "sinks": json.dumps(SINKS, separators=(",", ":")),
    "tables": '{"clicks":{"rows_in":100,"rows_waiting":5,"late_rows":1,"dropped_rows":2,"dead_letters":2},'
    '"counts":{"rows_out":40,"busy":0.25}}',
    "phases": json.dumps(PHASES, separators=(",", ":")),
    "state_rows": '{"windows":88}',
    "state_requests": '{"changelog":2}',
    "operators": '{"tumble-1f":{"rows_in":90,"busy":0.5}}',
}
ANSWER = {
    "epoch": 7,
    "backend": "spark",
    "checkpoint_type": "scheduled",
    "start_time": 1_767_225_771_999_997,
    "finish_time": 1_767_225_780_000_000,
    "events": [],
    "rows_in": 100,
    "rows_out": 40,
    "since_previous_micros": None,
    "rows_per_second": None,
    "late_rows": 1,
    "dropped_rows": 2,
    "rows_waiting": 5,
    "state_changes": 3,
    "state_bytes": 4,
    "watermark": 1_767_225_660_000_000,
    "lineage": "1f",
    "sinks": SINKS,
    "tables": TABLES,
    "phases": PHASES,
    "state_rows": {"windows": 88},
    "state_requests": {"changelog": 2},
    "operators": OPERATORS,
}


def send(plane: Plane, *reports: dict[str, Any]) -> None:
    plane.run()
    plane.call("heartbeat", {"state": "running", "reports": list(reports)})


def row(plane: Plane) -> dict[str, Any]:
    with plane.context.database.reading() as connection:
        [only] = connection.exec_driver_sql("SELECT * FROM checkpoints").mappings()
        return {name: value for name, value in only.items() if name != "job_id"}


def answer(plane: Plane) -> dict[str, Any]:
    checkpoints: list[dict[str, Any]] = plane.get(f"/pipelines/orders/jobs/{plane.job()['id']}/checkpoints")["data"]
    return checkpoints[0]


def test_every_figure_is_sent_kept_and_answered() -> None:
    stays = {"is_last", "late", "dropped_in_epoch"}  # known to the driver alone, or sent beside the reports
    figures = {field.name for field in fields(EpochReport)} - stays

    assert {declared.name for declared in FIGURES} == figures | stays
    assert set(to_wire(REPORT)) == figures
    assert {declared.column for declared in SENT} == set(ROW) - {"generation"}
    assert {declared.name: declared.shown_as for declared in SENT if declared.shown_as != (declared.name,)} == {
        "duration": ("start_time", "finish_time"),
        "at": ("start_time", "finish_time"),
        "source_watermarks": (),  # asked for with the watermark
    }
    beside = {"backend", "checkpoint_type", "events", "since_previous_micros"}
    assert {name for declared in SENT for name in declared.shown_as} == set(Checkpoint.model_fields) - beside


def test_every_figure_is_described() -> None:
    assert [declared.name for declared in FIGURES if not declared.figure.meaning.endswith(".")] == []


@pytest.mark.parametrize(
    "wrong",
    [{"at": "2026-01-01T00:00:00Z"}, {"at": 1.5}, {"watermark": 10**20}, {"duration": None}, {"rows_in": "many"}],
)
def test_invalid_epoch_report_is_refused(plane: Plane, wrong: dict[str, Any]) -> None:
    plane.run()
    run = plane.runner.launched[-1]

    refused = plane.http.post(
        f"/api/v1/runs/{run.job_id}/{run.generation}/heartbeat",
        json={"state": "running", "reports": [WIRE | wrong]},
        headers={"Authorization": f"Bearer {run.key}"},
    )

    assert refused.json()["code"] == "request.invalid"


def test_a_driver_sends_instants_and_lengths_as_microseconds() -> None:
    assert json.loads(json.dumps(to_wire(REPORT))) == WIRE


def test_a_report_is_kept_as_a_row(plane: Plane) -> None:
    send(plane, WIRE)

    assert row(plane) == ROW


def test_a_report_is_answered_as_a_checkpoint(plane: Plane) -> None:
    send(plane, WIRE)

    assert answer(plane) == ANSWER
    assert plane.get("/pipelines/orders/watermark")["sources"] == WIRE["source_watermarks"]


def test_a_driver_of_before_or_after_is_understood(plane: Plane) -> None:
    needed = ("epoch", "rows_in", "rows_out", "rows_per_second", "duration", "watermark", "at")
    send(plane, {**{name: WIRE[name] for name in needed}, "of_tomorrow": 1})

    nothing = {"late_rows": 0, "dropped_rows": 0, "state_changes": 0, "state_bytes": 0, "rows_waiting": None}
    nothing |= {"lineage": None}
    empty = ("sinks", "tables", "phases", "state_rows", "state_requests", "operators")
    assert answer(plane) == ANSWER | nothing | {name: {} for name in empty}
    assert row(plane) == ROW | nothing | dict.fromkeys(("sources", *empty), "{}")
