"""Waiting for watermarks and checkpoints, on a worker and in the triggerer."""

from __future__ import annotations

from collections import deque
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.sdk.bases.operator import TriggerFailureReason

from airflow_provider_arroyo.airflow_versions import AirflowFailException, AirflowSensorTimeout, AirflowSkipException
from airflow_provider_arroyo.errors import DeadlineError, JobEndedError, NoDataIntervalError, RefusedError
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.responses import to_micros
from airflow_provider_arroyo.sensors.checkpoint import CheckpointSensor
from airflow_provider_arroyo.sensors.freshness import FreshnessSensor
from airflow_provider_arroyo.sensors.job_state import StreamingJobSensor
from airflow_provider_arroyo.sensors.lag import LagSensor
from airflow_provider_arroyo.sensors.watermark import WatermarkSensor
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane, FakePipeline

from .tasks import Run, put_to_sleep

FIVE = datetime(2026, 1, 31, 5, tzinfo=UTC)
FOUR = FIVE - timedelta(hours=1)
both = pytest.mark.parametrize("deferrable", [False, True], ids=["on the worker", "deferred"])


def watermark(**changes: Any) -> WatermarkSensor:
    arguments: dict[str, Any] = {"task_id": "gate", "pipeline": "clicks", "past": "2026-01-31T05:00:00Z", **changes}
    return WatermarkSensor(**arguments)


def checkpoint(**changes: Any) -> CheckpointSensor:
    arguments: dict[str, Any] = {"task_id": "gate", "pipeline": "clicks", **changes}
    return CheckpointSensor(**arguments)


def job(**changes: Any) -> StreamingJobSensor:
    arguments: dict[str, Any] = {"task_id": "gate", "pipeline": "clicks", **changes}
    return StreamingJobSensor(**arguments)


def freshness(**changes: Any) -> FreshnessSensor:
    arguments: dict[str, Any] = {"task_id": "gate", "pipeline": "clicks", **changes}
    return FreshnessSensor(**arguments)


def lag(**changes: Any) -> LagSensor:
    arguments: dict[str, Any] = {"task_id": "gate", "pipeline": "clicks", **changes}
    return LagSensor(**arguments)


def committed(epoch: int, at: datetime) -> dict[str, Any]:
    return {"epoch": epoch, "finish_time": to_micros(at), "watermark": to_micros(at)}


@both
def test_the_gate_opens_when_the_watermark_has_passed(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    plane.add("clicks", watermarks=deque([None, FOUR, FIVE]))

    result = airflow_run.execute(watermark(deferrable=deferrable))

    assert result == {"state": "Running", "epoch": 7, "watermark": FIVE.isoformat()}
    assert len(airflow_run.pauses) >= 1
    assert {request.query["past"] for request in plane.matching_requests("GET", "/watermark$")} == {
        str(to_micros(FIVE))
    }


@both
def test_a_gate_names_its_sink_and_the_run_that_relies_on_it(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    pipeline = plane.add("clicks", watermarks=deque([FOUR, FIVE]), certifies=True)

    result = airflow_run.execute(watermark(deferrable=deferrable, table="counts"))

    asked = plane.matching_requests("GET", "/watermark$")
    names = ("table", "by", "dag_id", "run_id")
    assert [[request.query[name] for name in names] for request in asked] == [["counts", "input", "a_dag", "a_run"]] * 2
    assert result["certificate"] == {
        "id": "gate_1",
        "pipeline": pipeline.id,
        "version": 1,
        "lineage": "1f",
        "epoch": 7,
        "complete_until": FIVE.isoformat(),
        "offsets": {"events": {"0": 12}},
    }


@both
def test_a_gate_waits_for_the_end_of_the_data_interval_by_default(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    plane.add("clicks", watermarks=deque([FOUR, FIVE]))
    airflow_run.data_interval_end = FIVE

    airflow_run.execute(watermark(deferrable=deferrable, past=None))

    assert {request.query["past"] for request in plane.matching_requests("GET", "/watermark$")} == {
        str(to_micros(FIVE))
    }


@both
def test_a_run_without_a_data_interval_is_refused_by_name(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    with pytest.raises(NoDataIntervalError, match=r"run 'a_run' of DAG 'a_dag' has no data interval"):
        airflow_run.execute(watermark(deferrable=deferrable, past=None))
    assert plane.requests == []


@both
def test_a_gate_on_sessions_fails_unless_it_is_by_output_time(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    plane.add("clicks", watermarks=deque([FIVE]), has_sessions=True)

    with pytest.raises(RefusedError, match=r"completeness_unknown[^$]*by=output"):
        airflow_run.execute(watermark(deferrable=deferrable))
    airflow_run.execute(watermark(deferrable=deferrable, by="output"))


def test_a_gate_that_is_open_defers_nothing(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks", watermarks=deque([FIVE]))

    airflow_run.execute(watermark(deferrable=True))

    assert len(plane.requests) == 1


def test_a_worker_asks_without_being_held_and_a_trigger_holds_the_line(
    plane: FakeControlPlane, airflow_run: Run
) -> None:
    plane.add("clicks", watermarks=deque([FOUR, FIVE]))

    airflow_run.execute(watermark(deferrable=True))

    assert [request.query["timeout_seconds"] for request in plane.matching_requests("GET", "/watermark$")] == [
        "0",
        "30",
    ]


@both
def test_a_finished_job_has_passed_every_instant(plane: FakeControlPlane, airflow_run: Run, deferrable: bool) -> None:
    plane.add("clicks", watermarks=deque([FOUR]), states=deque(["Running", "Finished"]))

    assert airflow_run.execute(watermark(deferrable=deferrable))["state"] == "Finished"


@both
def test_a_failed_job_fails_the_gate_with_its_own_reason(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    failure = ("data.bad_json", "line 3 is no JSON")
    plane.add("clicks", watermarks=deque([FOUR]), states=deque(["Running", "Failed"]), failure=failure)

    with pytest.raises(JobEndedError, match="line 3 is no JSON") as raised:
        airflow_run.execute(watermark(deferrable=deferrable))
    assert raised.value.code == "data.bad_json"


@both
@pytest.mark.parametrize(("cause", "is_for_good"), [("mistake", True), ("unknown", False), (None, False)])
def test_a_tasks_retries_are_not_spent_on_a_mistake(
    plane: FakeControlPlane, airflow_run: Run, cause: str | None, is_for_good: bool, deferrable: bool
) -> None:
    failure = ("run.missing_package", "no boto3")
    plane.add("clicks", states=deque(["Running", "Failed"]), failure=failure, failure_cause=cause)

    with pytest.raises(JobEndedError) as raised:
        airflow_run.execute(watermark(deferrable=deferrable))
    assert isinstance(raised.value, AirflowFailException) is is_for_good


@both
def test_a_stopped_job_fails_the_gate(plane: FakeControlPlane, airflow_run: Run, deferrable: bool) -> None:
    plane.add("clicks", watermarks=deque([FOUR]), states=deque(["Running", "Stopped"]), stop="checkpoint")

    with pytest.raises(JobEndedError, match="pipeline clicks is Stopped: it was stopped"):
        airflow_run.execute(watermark(deferrable=deferrable))


@both
@pytest.mark.parametrize("before", ["Stopped", "Failed"])
def test_a_job_that_is_about_to_start_is_waited_for(
    plane: FakeControlPlane, airflow_run: Run, before: str, deferrable: bool
) -> None:
    states = deque([before, before, "Running"])
    plane.add("clicks", watermarks=deque([FOUR, FIVE]), states=states, is_about_to_start=True)

    assert airflow_run.execute(watermark(deferrable=deferrable))["state"] == "Running"


def test_a_gate_that_was_passed_before_the_job_failed_is_passed(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks", watermarks=deque([FIVE]), states=deque(["Failed"]))

    assert airflow_run.execute(watermark())["watermark"] == FIVE.isoformat()


@both
def test_a_job_that_recovers_is_waited_for(plane: FakeControlPlane, airflow_run: Run, deferrable: bool) -> None:
    states = deque(["Recovering", "Scheduling", "Running"])
    plane.add("clicks", watermarks=deque([FOUR, FOUR, FIVE]), states=states)

    assert airflow_run.execute(watermark(deferrable=deferrable))["state"] == "Running"


@both
def test_a_control_plane_that_restarts_does_not_fail_the_gate(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane.add("clicks", watermarks=deque([FOUR, FOUR, FOUR, FIVE]))
    _on_sleep(airflow_run, monkeypatch, {1: plane.go_away, 4: plane.come_back})

    assert airflow_run.execute(watermark(deferrable=deferrable))["watermark"] == FIVE.isoformat()


@both
def test_a_pipeline_that_does_not_exist_fails_the_gate(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    with pytest.raises(RefusedError, match=r"pipeline\.not_found"):
        airflow_run.execute(watermark(deferrable=deferrable))


@both
@pytest.mark.parametrize("is_recreated", [False, True], ids=["gone", "recreated"])
def test_a_gate_of_a_pipeline_that_is_deleted_meanwhile_fails_and_never_opens(
    plane: FakeControlPlane,
    airflow_run: Run,
    monkeypatch: pytest.MonkeyPatch,
    is_recreated: bool,
    deferrable: bool,
) -> None:
    first = plane.add("clicks", watermarks=deque([FOUR]))

    def delete() -> None:
        plane.pipelines.clear()
        if is_recreated:
            plane.add("clicks", watermarks=deque([FIVE]))

    _on_sleep(airflow_run, monkeypatch, {2: delete})

    with pytest.raises(RefusedError, match=rf"pipeline clicks \({first.id}\) was deleted while this task") as raised:
        airflow_run.execute(watermark(deferrable=deferrable))
    assert raised.value.code == "pipeline.deleted"
    assert ("has its name now" in str(raised.value)) is is_recreated


@both
@pytest.mark.parametrize("sensor", ["lag", "job", "checkpoint"])
def test_other_sensors_do_not_take_a_recreated_pipeline_for_the_awaited_one(
    plane: FakeControlPlane, airflow_run: Run, monkeypatch: pytest.MonkeyPatch, sensor: str, deferrable: bool
) -> None:
    plane.add("clicks", epoch=3).become("Scheduling")
    tasks: dict[str, Any] = {
        "lag": lambda: lag(at_most=timedelta(hours=1), deferrable=deferrable),
        "job": lambda: StreamingJobSensor(task_id="t", pipeline="clicks", state="running", deferrable=deferrable),
        "checkpoint": lambda: checkpoint(deferrable=deferrable),
    }

    def recreate() -> None:
        plane.pipelines.clear()
        plane.add("clicks", epoch=4).checkpoints = [committed(4, FIVE)]

    _on_sleep(airflow_run, monkeypatch, {2: recreate})

    with pytest.raises(RefusedError, match="was deleted while this task waited for it"):
        airflow_run.execute(tasks[sensor]())


@both
def test_a_gate_that_stays_closed_times_out(plane: FakeControlPlane, airflow_run: Run, deferrable: bool) -> None:
    plane.add("clicks", watermarks=deque([FOUR]))

    said = (
        r"waited .* for the output of pipeline clicks to be complete up to .*; pipeline clicks is Running and complete"
    )
    with pytest.raises(AirflowSensorTimeout, match=said) as told:
        airflow_run.execute(watermark(deferrable=deferrable, timeout=0))

    assert "complete up to 2026-01-31T04:00:00Z" in str(told.value)
    assert "held by source clicks, partition 3" in str(told.value)
    assert "rows of partition 3 have to come" in str(told.value)


def test_a_gate_that_airflow_ends_says_how_far_it_was(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks", watermarks=deque([FOUR]))
    gate = watermark(deferrable=True, timeout=60)
    ended = {"error": TriggerFailureReason.TRIGGER_TIMEOUT, "traceback": None}

    with pytest.raises(
        AirflowSensorTimeout, match=r"waited 0:01:00 for the output of pipeline clicks .* clicks is Running"
    ):
        gate.resume_execution("__fail__", ended, airflow_run.context(gate))


@both
def test_a_task_that_may_run_for_no_time_does_not_wait_in_the_triggerer_either(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    plane.add("clicks").become("Scheduling")
    task = StreamingSqlOperator(
        task_id="deploy", pipeline="clicks", sql="SELECT 1", deferrable=deferrable, execution_timeout=timedelta(0)
    )

    with pytest.raises(DeadlineError, match="waited until"):
        airflow_run.execute(task)


def test_a_soft_gate_that_times_out_is_skipped(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks", watermarks=deque([FOUR]))

    with pytest.raises(AirflowSkipException):
        airflow_run.execute(watermark(timeout=0, soft_fail=True))


@pytest.mark.parametrize(
    "past",
    [FIVE, datetime(2026, 1, 31, 5), "2026-01-31T06:00:00+01:00", "2026-01-31 05:00:00"],  # noqa: DTZ001
)
def test_an_instant_without_a_zone_is_in_utc(plane: FakeControlPlane, airflow_run: Run, past: Any) -> None:
    plane.add("clicks", watermarks=deque([FIVE]))

    airflow_run.execute(watermark(past=past))

    assert plane.matching_requests("GET", "/watermark$")[0].query["past"] == str(to_micros(FIVE))


def test_a_text_that_is_no_time_is_refused(plane: FakeControlPlane, airflow_run: Run) -> None:
    with pytest.raises(ValueError, match="past is a time like"):
        airflow_run.execute(watermark(past="tomorrow"))


@both
@pytest.mark.parametrize(
    ("condition", "epoch"),
    [
        ({}, 3),
        ({"epoch": "5"}, 5),
        ({"newer_than": FOUR}, 4),
        ({"new": 2}, 5),
        ({"epoch": 4, "newer_than": FIVE}, 6),
    ],
    ids=["first", "epoch", "newer", "new", "both"],
)
def test_the_first_checkpoint_that_satisfies_all_conditions_opens_the_gate(
    plane: FakeControlPlane,
    airflow_run: Run,
    monkeypatch: pytest.MonkeyPatch,
    condition: dict[str, Any],
    epoch: int,
    deferrable: bool,
) -> None:
    pipeline = plane.add("clicks", epoch=3)
    pipeline.checkpoints = [committed(3, FOUR), {"epoch": 9, "finish_time": None}]
    times = iter([committed(4, FOUR + timedelta(minutes=1)), committed(5, FIVE), committed(6, FIVE + timedelta(1))])
    _on_sleep(airflow_run, monkeypatch, {n: lambda: _commit(pipeline, next(times)) for n in (1, 2, 3)})

    assert airflow_run.execute(checkpoint(deferrable=deferrable, **condition))["epoch"] == epoch


def test_a_later_look_counts_from_where_the_first_look_began(plane: FakeControlPlane, airflow_run: Run) -> None:
    pipeline = plane.add("clicks", epoch=3)
    pipeline.checkpoints = [committed(3, FOUR)]
    assert not checkpoint(new=1).poke(airflow_run.context(checkpoint(new=1)))
    _commit(pipeline, committed(4, FIVE))
    pipeline.epoch = 4

    assert checkpoint(new=1).poke(airflow_run.context(checkpoint(new=1)))


@both
def test_a_job_that_has_ended_takes_no_more_checkpoints(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    pipeline = plane.add("clicks", epoch=3, states=deque(["Running", "Finished"]))
    pipeline.checkpoints = [committed(3, FOUR)]

    with pytest.raises(JobEndedError, match="its input has ended"):
        airflow_run.execute(checkpoint(epoch=9, deferrable=deferrable))


@both
@pytest.mark.parametrize(
    ("state", "states", "reached"),
    [
        ("running", ["Scheduling", "Running"], "Running"),
        ("running", ["Scheduling", "Finished"], "Finished"),
        ("finished", ["Running", "Finished"], "Finished"),
        ("stopped", ["Running", "Stopping", "Stopped"], "Stopped"),
        ("failed", ["Running", "Recovering", "Failed"], "Failed"),
    ],
)
def test_the_state_of_a_job_is_waited_for(
    plane: FakeControlPlane, airflow_run: Run, state: str, states: list[str], reached: str, deferrable: bool
) -> None:
    plane.add("clicks", states=deque(states), stop="checkpoint" if state == "stopped" else "none")

    assert airflow_run.execute(job(state=state, deferrable=deferrable))["state"] == reached


@both
@pytest.mark.parametrize(
    ("state", "end", "message"),
    [
        ("failed", "Finished", "its input has ended"),
        ("running", "Stopped", "stopped"),
        ("stopped", "Failed", "no disk"),
    ],
)
def test_a_job_that_rests_in_another_state_fails_the_sensor(
    plane: FakeControlPlane, airflow_run: Run, state: str, end: str, message: str, deferrable: bool
) -> None:
    plane.add("clicks", states=deque(["Scheduling", end]), stop="checkpoint", failure=("run.disk", "no disk"))

    with pytest.raises(JobEndedError, match=message):
        airflow_run.execute(job(state=state, deferrable=deferrable))


def test_a_state_that_there_is_not_is_refused(plane: FakeControlPlane, airflow_run: Run) -> None:
    with pytest.raises(ValueError, match="state is one of running, finished, stopped, failed, not 'Runing'"):
        airflow_run.execute(job(state="Runing"))
    assert plane.requests == []


@both
def test_output_is_fresh_when_it_is_no_older_than_asked(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    now = datetime.now(UTC)
    plane.add("clicks", watermarks=deque([now - timedelta(hours=2), now + timedelta(hours=1)]), certifies=True)

    result = airflow_run.execute(freshness(at_most=timedelta(hours=1), table="counts", deferrable=deferrable))

    asked = [request.query for request in plane.matching_requests("GET", "/watermark$")]
    assert ("certificate" in result, [query["table"] for query in asked]) == (False, ["counts", "counts"])
    assert [set(query) for query in asked] == [{"past", "timeout_seconds", "by", "table"}] * 2
    assert {query["timeout_seconds"] for query in asked} == {"0"}
    assert all(int(query["past"]) < to_micros(now) for query in asked)


@both
def test_a_lag_is_waited_for_until_it_is_steady(
    plane: FakeControlPlane, airflow_run: Run, monkeypatch: pytest.MonkeyPatch, deferrable: bool
) -> None:
    now = datetime.now(UTC)
    pipeline = plane.add("clicks")
    pipeline.checkpoints = [committed(3, now - timedelta(hours=9))]
    far_on = {**committed(4, now - timedelta(hours=8)), "watermark": to_micros(now + timedelta(hours=1))}
    _on_sleep(airflow_run, monkeypatch, {1: lambda: _commit(pipeline, far_on)})

    result = airflow_run.execute(
        lag(at_most=timedelta(hours=1), steady=timedelta(hours=7), poke_interval=1, deferrable=deferrable)
    )

    assert result["epoch"] == 4
    assert {request.query["limit"] for request in plane.matching_requests("GET", "/checkpoints$")} == {"1000"}


@both
def test_a_lag_of_a_job_that_has_failed_is_not_waited_for(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    plane.add("clicks", states=deque(["Running", "Failed"]), failure=("run.disk", "no disk"))

    with pytest.raises(JobEndedError, match="no disk"):
        airflow_run.execute(lag(at_least=timedelta(hours=1), deferrable=deferrable))


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ({}, "give either at_most or at_least"),
        ({"at_most": timedelta(1), "at_least": timedelta(1)}, "give either at_most or at_least"),
        ({"at_most": timedelta(1), "steady": timedelta(-1)}, "steady must not be negative"),
    ],
)
def test_bounds_that_say_nothing_are_refused(lengths: dict[str, timedelta], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lag(**lengths)


def _commit(pipeline: FakePipeline, checkpoint: dict[str, Any]) -> None:
    pipeline.checkpoints.append(checkpoint)


def _on_sleep(run: Run, monkeypatch: pytest.MonkeyPatch, happenings: dict[int, Any]) -> None:
    """The same happenings at the n-th pause, whether it is a worker's or a trigger's."""
    run.at_pause = happenings
    put_to_sleep(monkeypatch, lambda length: run._note(timedelta(seconds=length)))
