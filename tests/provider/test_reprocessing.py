"""Tasks that have the input of a pipeline read again, and handed over."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from airflow_provider_arroyo.errors import JobEndedError, RefusedError
from airflow_provider_arroyo.operators.reprocess import ReprocessOperator
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane, problem

from .tasks import Run

both = pytest.mark.parametrize("deferrable", [False, True], ids=["on the worker", "deferred"])


def reprocessing(**options: Any) -> ReprocessOperator:
    return ReprocessOperator(task_id="again", pipeline="clicks", into="again", since="2026-01-01", **options)


@both
def test_the_new_pipeline_is_waited_for(plane: FakeControlPlane, airflow_run: Run, deferrable: bool) -> None:
    plane.add("clicks")

    result = airflow_run.execute(reprocessing(start_from="a=earliest", deferrable=deferrable))

    assert (result["name"], result["state"]) == ("clicks-again", "Running")
    (request,) = plane.matching_requests("POST", "reprocess")
    wish = {"into": "again", "since": "2026-01-01", "start_from": "a=earliest", "partial_windows": False}
    assert request.body == wish
    assert plane.matching_requests("POST", "hand-over") == []


@both
def test_a_hand_over_is_waited_for(plane: FakeControlPlane, airflow_run: Run, deferrable: bool) -> None:
    plane.add("clicks")

    result = airflow_run.execute(reprocessing(hand_over=True, deferrable=deferrable))

    assert (result["name"], result["handed_over_to"], result["version"]) == ("clicks-again", "clicks", 2)
    (request,) = plane.matching_requests("POST", "hand-over")
    assert request.query == {}


def test_other_values_are_accepted_with_the_hand_over(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks")

    airflow_run.execute(reprocessing(hand_over=True, accept_other_values=True))

    (request,) = plane.matching_requests("POST", "hand-over")
    assert request.query == {"accept_other_values": "true"}


@both
def test_abandoned_take_over_fails_the_task_with_the_reason(
    plane: FakeControlPlane, airflow_run: Run, deferrable: bool
) -> None:
    plane.add("clicks")
    steps = [("apart", None), ("waiting", None), ("given_up", "clicks has failed")]
    plane.hand_over_steps = deque(steps)

    with pytest.raises(JobEndedError, match="clicks-again does not take over from clicks: clicks has failed"):
        airflow_run.execute(reprocessing(hand_over=True, deferrable=deferrable))


def test_two_tries_make_one_pipeline_and_the_second_does_not_wait_for_a_copy_that_has_stopped(
    plane: FakeControlPlane, airflow_run: Run
) -> None:
    plane.add("clicks")
    first = airflow_run.execute(reprocessing(hand_over=True))
    copy = plane.pipelines[first["pipeline_id"]]
    copy.stop = "checkpoint"
    copy.become("Stopped")

    again = airflow_run.execute(reprocessing(hand_over=True))

    assert again["pipeline_id"] == first["pipeline_id"]
    assert len(plane.pipelines) == 2


def test_input_that_cannot_be_read_again_fails_the_task_by_name(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.add("clicks")
    plane.refusals["POST", "reprocess"] = problem(400, "state.backfill", "clicks never ends")

    with pytest.raises(RefusedError, match="clicks never ends"):
        airflow_run.execute(reprocessing())
