"""A retry policy decides by the kind of a failure; Airflow has such policies from 3.3 on."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from airflow.sdk import RetryAction

from airflow_provider_arroyo import errors
from airflow_provider_arroyo.airflow_versions import AirflowNotFoundException
from airflow_provider_arroyo.retries import ArroyoRetryPolicy

POLICY = ArroyoRetryPolicy(timedelta(seconds=10), timedelta(seconds=60))


@pytest.mark.parametrize(
    ("error", "action"),
    [
        (errors.UnreachableError("gone"), RetryAction.RETRY),
        (errors.UnavailableError("busy"), RetryAction.RETRY),
        (errors.DetachedError("told to end"), RetryAction.RETRY),
        (errors.JobEndedError("lost its broker", code="source.gone"), RetryAction.DEFAULT),
        (errors.DeadlineError("not in time"), RetryAction.DEFAULT),
        (errors.BadAnswerError("html"), RetryAction.FAIL),
        (AirflowNotFoundException("no connection"), RetryAction.FAIL),
        (ValueError("no time"), RetryAction.FAIL),
        (json.JSONDecodeError("cut off", "{", 1), RetryAction.DEFAULT),
        (OSError("somebody else's"), RetryAction.DEFAULT),
    ],
)
def test_an_error_that_a_retry_may_resolve_is_retried(error: Exception, action: RetryAction) -> None:
    assert POLICY.evaluate(error, 1, 3).action is action


def test_a_control_plane_that_stays_away_is_asked_less_and_less() -> None:
    delays = [POLICY.evaluate(errors.UnreachableError("gone"), number, 99).retry_delay for number in (1, 2, 3, 4, 90)]

    assert delays == [timedelta(seconds=seconds) for seconds in (10, 20, 40, 60, 60)]
    assert POLICY.evaluate(errors.DetachedError("told to end"), 5, 9).retry_delay == timedelta(0)


def test_a_policy_comes_back_from_json_as_it_was() -> None:
    again = ArroyoRetryPolicy.deserialize(POLICY.serialize())

    assert (again.first_delay, again.most_delay) == (POLICY.first_delay, POLICY.most_delay)
    with pytest.raises(ValueError, match="first_delay"):
        ArroyoRetryPolicy(timedelta(0))
