"""Tasks that rehearse a script before it is deployed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_arroyo.airflow_versions import AirflowFailException
from airflow_provider_arroyo.errors import ArroyoError, RehearsalError, RowsDifferError
from airflow_provider_arroyo.operators.rehearse import RehearseOperator, table
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane, FakePipeline, problem, rehearsal_looks

from .tasks import Run

both = pytest.mark.parametrize("deferrable", [False, True], ids=["on the worker", "deferred"])


@pytest.fixture
def clicks(plane: FakeControlPlane) -> FakePipeline:
    return plane.add("clicks")


def failed(code: str) -> list[dict[str, Any]]:
    return [{"state": "running"}, {"state": "failed", "failure": {"code": code, "message": "no luck", "hint": "so"}}]


def rehearsing(**options: Any) -> RehearseOperator:
    return RehearseOperator(task_id="rehearse", pipeline="clicks", sql="SELECT 2", **options)


@both
def test_the_report_is_the_result_of_the_task(clicks: FakePipeline, airflow_run: Run, deferrable: bool) -> None:
    result = airflow_run.execute(rehearsing(deferrable=deferrable))

    assert (result["rehearsal_id"], result["differs"], result["plan"]) == ("reh_1", False, "3f0c")
    assert result["sinks"][0]["sink"] == "counts"
    assert airflow_run.pushed["rehearsal"] == result


@both
def test_differing_rows_fail_the_task_once_and_are_returned_nevertheless(
    clicks: FakePipeline, airflow_run: Run, deferrable: bool
) -> None:
    clicks.next_rehearsals.append(rehearsal_looks(only_old=2, only_new=3))

    with pytest.raises(RowsDifferError, match="2 only in the old one, 3 only in the new one") as raised:
        airflow_run.execute(rehearsing(deferrable=deferrable))

    assert raised.value.code == "rehearsal.rows_differ"
    assert isinstance(raised.value, AirflowFailException)
    assert airflow_run.pushed["rehearsal"]["differs"]


def test_each_mapped_task_resumes_with_its_own_rehearsal(clicks: FakePipeline, airflow_run: Run) -> None:
    airflow_run.map_index = 1

    assert airflow_run.execute(rehearsing(deferrable=True))["rehearsal_id"] == "reh_1"


def test_a_later_task_may_decide_on_differing_rows(clicks: FakePipeline, airflow_run: Run) -> None:
    clicks.next_rehearsals.append(rehearsal_looks(only_new=1))

    assert airflow_run.execute(rehearsing(on_difference="report"))["differs"]


@both
def test_a_rehearsal_runs_once_however_often_the_task_is_retried(
    plane: FakeControlPlane, clicks: FakePipeline, airflow_run: Run, deferrable: bool
) -> None:
    plane.fail("POST", "rehearsals", "lost answer")
    results = [airflow_run.execute(rehearsing(deferrable=deferrable)) for _ in range(2)]

    assert results[0] == results[1]
    assert len(clicks.rehearsals) == 1

    airflow_run.clear()
    assert airflow_run.execute(rehearsing(deferrable=deferrable))["rehearsal_id"] == "reh_2"


@both
def test_the_next_try_repeats_a_lost_rehearsal(clicks: FakePipeline, airflow_run: Run, deferrable: bool) -> None:
    clicks.next_rehearsals.append(failed("rehearsal.lost"))

    with pytest.raises(RehearsalError, match="reh_1: no luck") as raised:
        airflow_run.execute(rehearsing(deferrable=deferrable))
    assert raised.value.code == "rehearsal.lost"
    assert not isinstance(raised.value, AirflowFailException)

    assert airflow_run.execute(rehearsing(deferrable=deferrable))["rehearsal_id"] == "reh_2"


@pytest.mark.parametrize("code", ["rehearsal.stopped", "rehearsal.too_long"])
def test_no_try_is_spent_on_what_would_end_the_same_way(clicks: FakePipeline, airflow_run: Run, code: str) -> None:
    clicks.next_rehearsals.append(failed(code))

    with pytest.raises(AirflowFailException) as raised:
        airflow_run.execute(rehearsing())
    assert isinstance(raised.value, ArroyoError)
    assert raised.value.code == code


@pytest.mark.parametrize(
    ("code", "is_final"),
    [
        ("rehearsal.busy", False),
        ("rehearsal.no_room", False),
        ("rehearsal.no_memory", False),
        ("state.rehearsal", True),
    ],
)
def test_a_refused_rehearsal_has_its_code_and_is_retried_if_that_helps(
    plane: FakeControlPlane, clicks: FakePipeline, airflow_run: Run, code: str, is_final: bool
) -> None:
    plane.refusals["POST", "rehearsals"] = problem(409, code, "not now")

    with pytest.raises(ArroyoError) as raised:
        airflow_run.execute(rehearsing())
    assert raised.value.code == code
    assert isinstance(raised.value, AirflowFailException) == is_final


def test_without_a_pipeline_there_is_nothing_to_compare_with(plane: FakeControlPlane, airflow_run: Run) -> None:
    assert airflow_run.execute(rehearsing())["differs"] is None
    assert plane.matching_requests("POST") == []


def test_all_that_is_said_is_sent(plane: FakeControlPlane, clicks: FakePipeline, airflow_run: Run) -> None:
    airflow_run.execute(
        rehearsing(
            udfs=["def f():\n    ..."],
            keep_state=["a"],
            reset=["b"],
            hold_back=["c"],
            savepoint="sp_1",
            examples=3,
            limit=timedelta(minutes=5),
        )
    )

    (request,) = plane.matching_requests("POST")
    assert request.body == {
        "query": "SELECT 2",
        "udfs": ["def f():\n    ..."],
        "keep_state": ["a"],
        "reset": ["b"],
        "hold_back": ["c"],
        "savepoint_id": "sp_1",
        "examples": 3,
        "limit_micros": 300_000_000,
    }


def test_a_word_that_is_none_of_the_ways_is_refused_when_the_dag_is_read() -> None:
    with pytest.raises(ValueError, match="fail or report"):
        rehearsing(on_difference="ignore")


def test_the_table_has_a_line_for_each_sink() -> None:
    sinks = [
        {"sink": "counts", "differs": True, "rows_old": 98500, "rows_new": 98500, "only_old": 1, "only_new": 1},
        {"sink": "new", "differs": False, "rows_old": None, "rows_new": 3, "only_old": 0, "only_new": 0},
    ]
    assert table({"sinks": sinks}).splitlines() == [
        "SINK    ROWS OLD  ROWS NEW  ONLY OLD  ONLY NEW",
        "counts  98500     98500     1         1         differs",
        "new     -         3         0         0         same",
    ]
