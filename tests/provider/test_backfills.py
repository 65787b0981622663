"""Tasks that read a range of history, once for each data interval."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_arroyo.errors import EmptyIntervalError, NoDataIntervalError, RangeDoneError
from airflow_provider_arroyo.operators.stream_backfill import StreamBackfillOperator
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane

from .tasks import Run

DAY, NEXT_DAY = datetime(2026, 1, 31, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
NAME = "orders_20260131T000000Z_20260201T000000Z"
EDGES = {"history_from": "2026-01-31T00:00:00Z", "history_to": "2026-02-01T00:00:00Z"}


def backfill(**options: Any) -> StreamBackfillOperator:
    return StreamBackfillOperator(task_id="backfill", pipeline="orders", sql="SELECT 1", **options)


def sent(plane: FakeControlPlane) -> list[tuple[str, dict[str, str]]]:
    return [(request.path.rpartition("/")[2], request.body["settings"]) for request in plane.matching_requests("PUT")]


def test_the_range_is_the_data_interval_in_a_pipeline_of_its_own(plane: FakeControlPlane, airflow_run: Run) -> None:
    airflow_run.data_interval_start, airflow_run.data_interval_end = DAY, NEXT_DAY
    plane.new_pipelines_become("Running", "Finished")

    result = airflow_run.execute(backfill(settings={"memory": "4g"}))

    assert (result["name"], result["state"]) == (NAME, "Finished")
    assert sent(plane) == [(NAME, {"memory": "4g", **EDGES})]


def test_a_task_that_is_cleared_asks_for_the_same_pipeline_again(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.new_pipelines_become("Finished")

    for _ in range(2):
        assert airflow_run.execute(backfill(start=DAY, end=NEXT_DAY.isoformat()))["name"] == NAME

    assert all(request == (NAME, EDGES) for request in sent(plane))
    assert len(plane.pipelines) == 1


def test_a_range_that_goes_on_is_the_pipeline_itself(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.new_pipelines_become("Running")
    task = backfill(start="2026-01-31", then_continue=True, start_from={"a": "earliest", "b": "latest"})

    assert airflow_run.execute(task)["state"] == "Running"

    wanted = {"history_from": EDGES["history_from"], "then_continue": "on", "start_from": "a=earliest; b=latest"}
    assert sent(plane) == [("orders", wanted)]


def test_windows_that_are_cut_are_accepted_by_a_setting(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.new_pipelines_become("Finished")

    airflow_run.execute(backfill(start=DAY, end=NEXT_DAY, partial_windows=True))

    assert sent(plane) == [(NAME, {**EDGES, "partial_windows": "on"})]


def test_a_run_without_a_data_interval_must_be_told_the_range(plane: FakeControlPlane, airflow_run: Run) -> None:
    with pytest.raises(NoDataIntervalError, match="no range to read"):
        airflow_run.execute(backfill())
    assert sent(plane) == []


@pytest.mark.parametrize("hour", [0, 7])
@pytest.mark.parametrize("schedule", ["@daily", "0 0 * * *"])
def test_an_empty_interval_is_read_from_the_run_before(
    schedule: str, hour: int, plane: FakeControlPlane, airflow_run: Run
) -> None:
    airflow_run.data_interval_start = airflow_run.data_interval_end = NEXT_DAY.replace(hour=hour)
    plane.new_pipelines_become("Finished")
    with DAG("d", schedule=schedule, start_date=DAY):
        task = backfill()

    assert airflow_run.execute(task)["name"] == NAME


@pytest.mark.parametrize(
    "options",
    [
        {"length": timedelta(days=1)},
        {"length": 86_400},
        {"length": "1 day", "start": DAY},
        {"length": "86400", "end": NEXT_DAY},
    ],
)
def test_a_length_takes_the_place_of_an_end(plane: FakeControlPlane, airflow_run: Run, options: dict[str, Any]) -> None:
    airflow_run.data_interval_start = airflow_run.data_interval_end = NEXT_DAY
    plane.new_pipelines_become("Finished")

    assert airflow_run.execute(backfill(**options))["name"] == NAME
    assert sent(plane) == [(NAME, EDGES)]


def test_a_length_before_what_comes_begins_that_long_ago(plane: FakeControlPlane, airflow_run: Run) -> None:
    airflow_run.data_interval_start = airflow_run.data_interval_end = NEXT_DAY
    plane.new_pipelines_become("Running")

    airflow_run.execute(backfill(length="1 day", then_continue=True))

    assert sent(plane) == [("orders", {"history_from": EDGES["history_from"], "then_continue": "on"})]


def test_a_length_without_any_end_wants_one(plane: FakeControlPlane, airflow_run: Run) -> None:
    with pytest.raises(NoDataIntervalError, match=r"end=\.\.\."):
        airflow_run.execute(backfill(length="1 day"))
    with pytest.raises(ValueError, match="two of start, end and length"):
        backfill(start=DAY, end=NEXT_DAY, length="1 day")
    with pytest.raises(EmptyIntervalError, match="the range is empty"):
        airflow_run.execute(backfill(start=DAY, length=0))


def test_an_empty_interval_without_a_period_names_timetables(plane: FakeControlPlane, airflow_run: Run) -> None:
    airflow_run.data_interval_start = airflow_run.data_interval_end = DAY
    with DAG("d", schedule="@once", start_date=DAY):
        task = backfill()

    with pytest.raises(EmptyIntervalError, match="CronDataIntervalTimetable"):
        airflow_run.execute(task)
    assert sent(plane) == []


def test_a_range_that_goes_on_has_no_end() -> None:
    with pytest.raises(ValueError, match="has no end"):
        backfill(then_continue=True, end=NEXT_DAY)


def test_the_script_writes_under_a_prefix(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.new_pipelines_become("Finished")

    airflow_run.execute(backfill(start=DAY, end=NEXT_DAY, into="january's"))

    (request,) = plane.matching_requests("PUT")
    assert request.body["query"] == "SELECT 1\n;\nSET sink_prefix = 'january''s';\n"


def test_a_range_that_is_done_is_not_read_by_another_script(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.new_pipelines_become("Finished")
    airflow_run.execute(backfill(start=DAY, end=NEXT_DAY))
    [done] = plane.pipelines.values()
    done.body["query"] = "SELECT 2"
    done.plan = plan_of("SAME", "RESTART")

    with pytest.raises(RangeDoneError, match="by another script") as raised:
        airflow_run.execute(backfill(start=DAY, end=NEXT_DAY))

    assert raised.value.code == "backfill.range_done"
    assert len(sent(plane)) == 1


def test_a_script_that_says_the_same_has_nothing_to_do(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.new_pipelines_become("Finished")
    airflow_run.execute(backfill(start=DAY, end=NEXT_DAY))
    [done] = plane.pipelines.values()
    done.body["query"] = "SELECT 1 -- as before"
    done.plan = plan_of("SAME", "STATE_KEPT")

    assert airflow_run.execute(backfill(start=DAY, end=NEXT_DAY))["state"] == "Finished"


def test_a_range_that_is_done_is_not_read_from_elsewhere(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.new_pipelines_become("Finished")
    airflow_run.execute(backfill(start=DAY, end=NEXT_DAY, start_from={"a": "earliest"}))

    with pytest.raises(RangeDoneError, match="other settings"):
        airflow_run.execute(backfill(start=DAY, end=NEXT_DAY, start_from={"a": "latest"}))


def test_a_range_that_has_failed_is_mended_by_another_script(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add(NAME, body={"query": "SELECT 2"}).become("Failed", "Failed", "Finished")

    assert airflow_run.execute(backfill(start=DAY, end=NEXT_DAY, wait_for="none"))["name"] == NAME
    assert len(sent(plane)) == 1


@pytest.mark.parametrize(("into", "prefix"), [(None, "2"), ("days", "days-2")])
def test_a_revision_is_another_pipeline_that_writes_elsewhere(
    plane: FakeControlPlane, airflow_run: Run, into: str | None, prefix: str
) -> None:
    plane.new_pipelines_become("Finished")
    airflow_run.execute(backfill(start=DAY, end=NEXT_DAY, into=into, revision=""))

    for _ in range(2):
        again = airflow_run.execute(backfill(start=DAY, end=NEXT_DAY, into=into, revision=2))
        assert again["name"] == f"{NAME}_2"

    assert len(plane.pipelines) == 2
    assert plane.matching_requests("PUT")[-1].body["query"] == f"SELECT 1\n;\nSET sink_prefix = '{prefix}';\n"


def test_a_range_that_goes_on_has_no_revision() -> None:
    with pytest.raises(ValueError, match="has no revision"):
        backfill(then_continue=True, revision=2)


def plan_of(*changes: str) -> dict[str, Any]:
    verdicts = [{"subject": "sink", "name": "counts", "change": change} for change in changes]
    return {"is_refused": False, "loses_nothing": True, "text": "a plan", "id": "p", "plan": {"verdicts": verdicts}}
