from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from engine.jobs.decisions.intend import intend
from engine.jobs.decisions.observe import (
    AbandonRescale,
    AcceptMaintenance,
    Finish,
    ForgetFailures,
    GiveUp,
    Launch,
    MarkStopped,
    Recover,
    Repartition,
    RestoreSavepoint,
)
from engine.jobs.decisions.spec import Restore
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import Progress
from engine.values.instants import FAR_FUTURE
from tests.jobs.builders import FATAL, FLEETING, OUTAGE, T0, status, wanted

LATER = T0 + timedelta(minutes=1)


def test_a_launch_is_one_generation_more_of_what_is_wanted() -> None:
    pipeline = wanted(version=3, parallelism=4, restarts_asked=2)

    _, after = intend(Launch(), pipeline, status(State.STOPPED, generation=6), LATER)

    assert (after.state, after.generation, after.version, after.parallelism) == (State.SCHEDULING, 7, 3, 4)
    assert (after.restarts_done, after.since) == (2, LATER)


def test_a_launch_that_somebody_asked_for_forgets_the_failures() -> None:
    before = status(State.FAILED, failures=21, failure=FLEETING)

    _, after = intend(Launch(), wanted(restarts_asked=1), before, LATER)

    assert (after.failures, after.failure) == (0, None)


def test_another_version_has_all_its_tries() -> None:
    before = status(State.RECOVERING, failures=20, outages=3, failure_times=(T0,) * 20, failure=FLEETING)

    _, after = intend(Launch(), wanted(version=2), before, LATER)

    assert (after.failures, after.outages, after.failure_times, after.failure) == (0, 0, (), None)


def test_a_launch_after_a_failure_remembers_it() -> None:
    before = status(State.RECOVERING, failures=3, failure=FLEETING)

    _, after = intend(Launch(), wanted(), before, LATER)

    assert (after.failures, after.failure) == (3, FLEETING)


def test_a_finished_job_has_its_watermark_in_the_far_future() -> None:
    _, after = intend(Finish(), wanted(), status(State.RUNNING, progress=Progress(7, T0)), LATER)

    assert (after.progress.epoch, after.progress.watermark, after.finished_at) == (7, FAR_FUTURE, LATER)


def test_every_restart_is_counted_with_its_reason() -> None:
    before = status(State.RUNNING, restarts=4, restart_code="run.died")

    _, after = intend(Recover(OUTAGE, 0, LATER, 3), wanted(), before, LATER)

    assert (after.restarts, after.restart_code, after.outages, after.failure) == (5, OUTAGE.code, 3, OUTAGE)


def test_a_healthy_run_has_no_failures_in_a_row_and_all_its_restarts() -> None:
    before = status(State.RUNNING, failures=2, outages=3, restarts=5, restart_code="run.died")

    _, after = intend(ForgetFailures(), wanted(), before, LATER)

    assert (after.failures, after.outages, after.restarts, after.restart_code) == (0, 0, 5, "run.died")


def test_a_launch_in_an_outage_remembers_it() -> None:
    before = status(State.RECOVERING, outages=3, failure=OUTAGE)

    _, after = intend(Launch(), wanted(), before, LATER)

    assert (after.outages, after.failure) == (3, OUTAGE)


def test_a_stopped_job_has_a_clean_slate() -> None:
    _, after = intend(MarkStopped(), wanted(), status(State.RECOVERING, failures=5, retry_at=LATER), LATER)

    assert (after.state, after.failures, after.retry_at) == (State.STOPPED, 0, None)


def test_a_repartitioned_state_has_its_new_parallelism() -> None:
    _, after = intend(AcceptMaintenance(Repartition(2)), wanted(parallelism=2), status(State.RESCALING), LATER)

    assert (after.state, after.parallelism) == (State.SCHEDULING, 2)


def test_a_rescale_that_failed_is_no_longer_wanted() -> None:
    pipeline, after = intend(AbandonRescale(FATAL), wanted(parallelism=2), status(State.RESCALING), LATER)

    assert (pipeline.parallelism, after.parallelism, after.state) == (1, 1, State.SCHEDULING)


def test_a_restored_job_stands_where_its_savepoint_stood() -> None:
    savepoint = Restore("sp_aaaaaaaaaaaaaaaa", 3)
    pipeline = wanted(restore=savepoint, parallelism=3)
    before = status(State.SCHEDULING, progress=Progress(9, T0))

    pipeline, after = intend(AcceptMaintenance(RestoreSavepoint(savepoint)), pipeline, before, LATER)

    assert (pipeline.restore, after.parallelism, after.progress) == (None, 3, Progress())


def test_a_job_that_is_given_up_wants_no_savepoint_any_more() -> None:
    pipeline, after = intend(
        GiveUp(FATAL), wanted(restore=Restore("sp_aaaaaaaaaaaaaaaa", 1)), status(State.SCHEDULING), LATER
    )

    assert (pipeline.restore, after.state, after.failure) == (None, State.FAILED, FATAL)


def test_the_time_of_entry_is_that_of_the_first_step_into_a_state() -> None:
    before = replace(status(State.RECOVERING), since=T0)

    _, after = intend(Recover(FLEETING, 2, LATER), wanted(), before, LATER)

    assert (after.since, after.failures, after.retry_at) == (T0, 2, LATER)


def test_a_step_that_is_not_declared_is_a_bug() -> None:
    with pytest.raises(AssertionError, match="Finished is never followed by Stopped"):
        intend(MarkStopped(), wanted(), status(State.FINISHED), LATER)
