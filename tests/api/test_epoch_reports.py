"""One epoch's figures on their way: what a driver sends, what the database holds, what the API answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from engine.driver.home import to_json
from engine.jobs.status import Committed
from tests.api.conftest import Plane

REPORT = Committed(
    epoch=7,
    rows_in=100,
    rows_out=40,
    rows_per_second=12.5,
    duration=timedelta(seconds=8, microseconds=3),
    watermark=datetime(2026, 1, 1, 0, 1, tzinfo=UTC),
    sources={"clicks": datetime(2026, 1, 1, 0, 2, tzinfo=UTC), "idle": None},
    late_rows=1,
    dropped_rows=2,
    state_changes=3,
    state_bytes=4,
    at=datetime(2026, 1, 1, 0, 3, tzinfo=UTC),
    rows_waiting=5,
)
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
    "rows_per_second": 12.5,
    "late_rows": 1,
    "dropped_rows": 2,
    "rows_waiting": 5,
    "state_changes": 3,
    "state_bytes": 4,
    "watermark": 1_767_225_660_000_000,
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


def test_a_driver_sends_instants_and_lengths_as_microseconds() -> None:
    assert to_json(REPORT) == WIRE


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
    assert answer(plane) == ANSWER | nothing
    assert row(plane) == ROW | nothing | {"sources": "{}"}
