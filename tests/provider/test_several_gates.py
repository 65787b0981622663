"""One sensor that waits for several pipelines."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.sdk import DAG
from airflow.triggers.base import TaskSuccessEvent

from airflow_provider_arroyo.change_stream import concerns, may_end
from airflow_provider_arroyo.conditions import from_json
from airflow_provider_arroyo.errors import JobEndedError, RefusedError
from airflow_provider_arroyo.links import URL_KEY
from airflow_provider_arroyo.responses import to_micros
from airflow_provider_arroyo.sensors.watermark import WatermarkSensor
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane

from .tasks import Run, put_to_sleep
from .test_start_in_triggerer import Triggerer, triggerer

__all__ = ["triggerer"]

FIVE = datetime(2026, 1, 31, 5, tzinfo=UTC)
FOUR = FIVE - timedelta(hours=1)
both = pytest.mark.parametrize("deferrable", [False, True], ids=["on the worker", "deferred"])


def gate(*pipelines: str, **changes: Any) -> WatermarkSensor:
    arguments: dict[str, Any] = {"task_id": "gate", "pipeline": list(pipelines), "past": FIVE, **changes}
    return WatermarkSensor(**arguments)


@both
def test_the_gate_of_several_opens_when_all_have_passed(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    plane.add("clicks", watermarks=deque([FIVE]))
    plane.add("orders", watermarks=deque([FOUR, FOUR, FIVE]))

    result = airflow_run.execute(gate("clicks", "orders", deferrable=deferrable))

    assert {name: part["watermark"] for name, part in result["pipelines"].items()} == {
        "clicks": FIVE.isoformat(),
        "orders": FIVE.isoformat(),
    }
    assert airflow_run.pushed[URL_KEY] == f"{plane.url}/#/"


@both
def test_the_gate_of_any_opens_with_the_first_that_has_passed(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    plane.add("clicks", watermarks=deque([FOUR]))
    plane.add("orders", watermarks=deque([FOUR, FIVE]))

    result = airflow_run.execute(gate("clicks", "orders", need="any", deferrable=deferrable))

    assert set(result["pipelines"]) == {"orders"}


@both
def test_a_pipeline_that_has_passed_and_was_taken_back_is_waited_for_again(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    plane.add("clicks", watermarks=deque([FIVE, FOUR, FOUR, FIVE]), certifies=True)
    plane.add("orders", watermarks=deque([FOUR, FIVE]), certifies=True)

    result = airflow_run.execute(gate("clicks", "orders", deferrable=deferrable))

    assert {part["watermark"] for part in result["pipelines"].values()} == {FIVE.isoformat()}
    assert len(plane.matching_requests("GET", "/watermark$")) == 4 * 2 + 2


@pytest.mark.parametrize(("need", "asked"), [("all", 4 + 4), ("any", 4)])
def test_gate_that_closes_before_it_is_certified_does_not_count(
    plane: FakeControlPlane, airflow_run: Run, need: str, asked: int
) -> None:
    plane.add("clicks", watermarks=deque([FIVE, FOUR, FIVE]), certifies=True)
    plane.add("orders", watermarks=deque([FIVE]), certifies=True)

    result = airflow_run.execute(gate("clicks", "orders", need=need))

    assert {part["watermark"] for part in result["pipelines"].values()} == {FIVE.isoformat()}
    assert len(plane.matching_requests("GET", "/watermark$")) == asked


@both
def test_only_a_gate_that_opens_is_certified(plane: FakeControlPlane, airflow_run: Run, deferrable: bool) -> None:
    plane.add("clicks", watermarks=deque([FIVE]), certifies=True)
    plane.add("orders", watermarks=deque([FOUR, FOUR, FIVE]), certifies=True)

    result = airflow_run.execute(gate("clicks", "orders", deferrable=deferrable))

    asked = [request for request in plane.matching_requests("GET", "/watermark$") if "run_id" in request.query]
    assert [(request.query["dag_id"], request.query["run_id"]) for request in asked] == [("a_dag", "a_run")] * 2
    assert asked == plane.matching_requests("GET", "/watermark$")[-2:]
    assert all(part["certificate"]["id"] for part in result["pipelines"].values())


@both
def test_failed_pipeline_fails_a_gate_of_all_but_not_of_any(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    plane.add("clicks", failure=("data.bad", "line 3")).become("Failed")
    plane.add("orders", watermarks=deque([FOUR, FOUR, FIVE]))

    with pytest.raises(JobEndedError, match="line 3"):
        airflow_run.execute(gate("orders", "clicks", deferrable=deferrable))
    assert set(airflow_run.execute(gate("clicks", "orders", need="any", deferrable=deferrable))["pipelines"]) == {
        "orders"
    }


@both
@pytest.mark.parametrize("need", ["all", "any"])
def test_one_that_is_deleted_fails_the_gate_of_all_and_not_that_of_any(
    plane: FakeControlPlane, airflow_run: Run, monkeypatch: pytest.MonkeyPatch, need: str, deferrable: bool
) -> None:
    clicks = plane.add("clicks", watermarks=deque([FOUR]))
    plane.add("orders", watermarks=deque([FOUR, FOUR, FOUR, FOUR, FIVE]))
    airflow_run.at_pause = {2: lambda: plane.pipelines.pop(clicks.id)}
    put_to_sleep(monkeypatch, lambda length: airflow_run._note(timedelta(seconds=length)))
    task = gate("clicks", "orders", need=need, deferrable=deferrable)

    if need == "any":
        assert set(airflow_run.execute(task)["pipelines"]) == {"orders"}
    else:
        with pytest.raises(RefusedError, match=r"pipeline clicks .* was deleted"):
            airflow_run.execute(task)


@both
def test_the_gate_of_any_fails_when_all_have_ended(plane: FakeControlPlane, airflow_run: Run, deferrable: bool) -> None:
    plane.add("clicks", failure=("data.bad", "line 3")).become("Failed")
    plane.add("orders", stop="checkpoint").become("Stopped")

    with pytest.raises(JobEndedError, match="line 3"):
        airflow_run.execute(gate("clicks", "orders", need="any", deferrable=deferrable))


def test_an_entry_names_its_table_and_the_others_have_that_of_the_sensor(
    plane: FakeControlPlane, airflow_run: Run
) -> None:
    plane.add("clicks", watermarks=deque([FIVE]))
    plane.add("orders", watermarks=deque([FIVE]))

    result = airflow_run.execute(gate("clicks/late", "orders", "clicks", table="hours"))

    assert list(result["pipelines"]) == ["clicks/late", "orders/hours", "clicks/hours"]
    tables = [request.query["table"] for request in plane.matching_requests("GET", "/watermark$")]
    assert tables == ["late", "hours", "hours"] * 2


def test_single_pipeline_may_name_its_table(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks", watermarks=deque([FIVE]))

    result = airflow_run.execute(gate(pipeline="clicks/hours"))

    assert result["watermark"] == FIVE.isoformat()
    assert plane.matching_requests("GET", "/watermark$")[0].query["table"] == "hours"
    assert airflow_run.pushed[URL_KEY] == f"{plane.url}/#/pipelines/clicks"


def test_gate_of_several_needs_no_worker(plane: FakeControlPlane, airflow_run: Run, triggerer: Triggerer) -> None:
    plane.add("clicks", watermarks=deque([FIVE]))
    plane.add("orders_of_a_run", watermarks=deque([FIVE]))

    event = triggerer.run(gate("clicks", "orders_of_{{ run_id }}", deferrable=True))

    assert isinstance(event, TaskSuccessEvent)
    assert set(triggerer.pushed["return_value"]["pipelines"]) == {"clicks", "orders_of_a_run"}


def test_a_name_out_of_an_xcom_begins_on_a_worker() -> None:
    with DAG("a_dag", schedule=None):
        assert gate("clicks", "{{ ti.xcom_pull('deploy') }}", deferrable=True).start_from_trigger is False


@pytest.mark.parametrize("pipelines", [[], ["clicks", "clicks"], ["clicks/a", "clicks/a"], [3]])
def test_names_that_are_none_are_refused(plane: FakeControlPlane, airflow_run: Run, pipelines: list[Any]) -> None:
    with pytest.raises(ValueError, match="pipeline"):
        airflow_run.execute(gate(*pipelines))


def test_a_pipeline_that_does_not_exist_fails_the_gate_of_any_too(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks", watermarks=deque([FOUR]))

    with pytest.raises(RefusedError):
        airflow_run.execute(gate("clicks", "nothing", need="any"))


def test_gate_of_several_accepts_only_all_or_any() -> None:
    with pytest.raises(ValueError, match="need is all or any, not 'most'"):
        gate("clicks", need="most")


def test_a_change_of_each_of_its_pipelines_may_end_it_and_of_no_other_one() -> None:
    wait = from_json({"kind": "watermark", "pipeline": ["clicks", "id_7/hours"], "past": FIVE, "need": "all"})

    def change(pipeline: str, until: datetime, **more: Any) -> dict[str, Any]:
        sinks = {"hours": {"complete_until": to_micros(until), "output_until": None, "unknown": None}}
        job = {"state": "Running", "settled": True, "sinks": sinks, **more}
        return {"pipeline": pipeline, "pipeline_id": "id_7" if pipeline == "orders" else "id_9", "job": job}

    told = [change("clicks", FIVE), change("orders", FIVE), change("other", FIVE)]
    assert [concerns(wait, each) for each in told] == [True, True, False]
    assert may_end(wait, change("clicks", FIVE))
    assert not may_end(wait, change("orders", FOUR))
    assert may_end(wait, change("orders", FOUR, state="Failed"))
