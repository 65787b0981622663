from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from engine.errors import PipelineBusyError, PipelineIncompatibleError
from engine.jobs.decisions.intend import (
    ask_restart,
    ask_restore,
    ask_stop,
    has_foreign_state,
    is_settled,
    means_the_same,
    next_version,
    other_interval,
)
from engine.jobs.decisions.spec import PlannedQuery, Restore, Spec, StopRequest, Version
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import Failure
from tests.jobs.builders import T0, status, wanted

BY = StopRequest("ann", T0)
PLAN_A, PLAN_B = PlannedQuery("plan-a", "{}", "a"), PlannedQuery("plan-b", "{}", "b")
CURRENT = Version("pl_aaaaaaaaaaaaaaaa", 4, Spec("SELECT 1"), "plan-a", "{}", T0, meaning="a")


def test_a_start_of_a_failed_job_is_a_request_to_start_again() -> None:
    pipeline = ask_stop(wanted(stop="checkpoint"), status(State.FAILED), "none", BY)

    assert (pipeline.stop, pipeline.restarts_asked) == ("none", 1)


def test_a_start_of_a_failed_job_asked_twice_is_one_request() -> None:
    failed = status(State.FAILED)

    assert ask_stop(ask_stop(wanted(), failed, "none", BY), failed, "none", BY).restarts_asked == 1


@pytest.mark.parametrize("state", [State.STOPPED, State.RUNNING, State.FINISHED])
def test_a_start_of_another_job_only_says_so(state: State) -> None:
    assert ask_stop(wanted(stop="checkpoint"), status(state), "none", BY) == wanted()


def test_the_first_to_request_a_stop_is_recorded_until_the_next_start() -> None:
    running = status(State.RUNNING)
    stopped = ask_stop(wanted(), running, "checkpoint", BY)
    killed = ask_stop(stopped, running, "force", StopRequest("bob", T0))

    assert (killed.stop, killed.stop_request) == ("force", BY)
    assert ask_stop(killed, running, "none", BY).stop_request is None
    assert ask_restart(killed, running, force=False).stop_request is None


@pytest.mark.parametrize(
    ("current", "spec", "meaning", "same"),
    [
        (CURRENT, Spec("SELECT 1 -- one"), "a", True),
        (CURRENT, Spec("SELECT 1"), "b", False),
        (CURRENT, Spec("SELECT 1", settings={"memory": "1g"}), "a", False),
        (CURRENT, Spec("SELECT 1", checkpoint_interval=timedelta(seconds=5)), "a", False),
        (replace(CURRENT, meaning=None), Spec("SELECT 1"), "a", True),
        (replace(CURRENT, meaning=None), Spec("SELECT 1 -- one"), "a", False),
    ],
)
def test_the_meaning_decides_what_is_a_new_version(current: Version, spec: Spec, meaning: str, same: bool) -> None:
    assert means_the_same(current, spec, PlannedQuery("plan-a", "{}", meaning)) is same


@pytest.mark.parametrize("state", [State.CHECKPOINT_STOPPING, State.STOPPING, State.RESCALING, State.STOPPED])
def test_a_job_that_is_to_run_and_still_leaves_is_not_settled(state: State) -> None:
    assert not is_settled(wanted(), status(state))
    assert is_settled(wanted(), status(State.RUNNING))


def test_a_finished_job_is_not_started_again() -> None:
    with pytest.raises(PipelineBusyError):
        ask_restart(wanted(), status(State.FINISHED), force=False)


def test_a_restart_starts_a_stopped_job() -> None:
    pipeline = ask_restart(wanted(stop="checkpoint"), status(State.STOPPED), force=False)

    assert (pipeline.stop, pipeline.restarts_asked) == ("none", 1)


def test_only_one_restore_runs_at_a_time() -> None:
    once = ask_restore(wanted(), Restore("sp_aaaaaaaaaaaaaaaa", 2))

    assert once.parallelism == 2
    with pytest.raises(PipelineBusyError):
        ask_restore(once, Restore("sp_bbbbbbbbbbbbbbbb", 2))


def test_a_version_with_the_same_plan_goes_on() -> None:
    version = next_version(CURRENT, Spec("SELECT  1"), PLAN_A, T0, force=False, has_state=True)

    assert (version.number, version.force) == (5, False)


def test_a_version_with_another_plan_is_refused_when_there_is_state() -> None:
    with pytest.raises(PipelineIncompatibleError):
        next_version(CURRENT, Spec("SELECT 2"), PLAN_B, T0, force=False, has_state=True)


def test_a_version_with_another_plan_may_give_the_state_up() -> None:
    version = next_version(CURRENT, Spec("SELECT 2"), PLAN_B, T0, force=True, has_state=True)

    assert version.force


def test_objects_that_other_packages_read_are_another_state_where_it_is_known() -> None:
    other, current = replace(PLAN_A, objects="other"), replace(CURRENT, objects="own")

    with pytest.raises(PipelineIncompatibleError):
        next_version(current, Spec("SELECT 1"), other, T0, force=False, has_state=True)
    assert next_version(CURRENT, Spec("SELECT 1"), other, T0, force=False, has_state=True).objects == "other"
    assert next_version(current, Spec("SELECT 1"), replace(PLAN_A, objects="own"), T0, force=False, has_state=True)


def test_without_state_any_plan_will_do() -> None:
    version = next_version(CURRENT, Spec("SELECT 2"), PLAN_B, T0, force=False, has_state=False)

    assert version.force


def test_a_state_is_foreign_when_the_query_is_planned_differently_or_was_refused_it() -> None:
    refused = Failure("state.other_query", "another's")
    failed = status(State.FAILED)

    assert has_foreign_state(CURRENT, PLAN_B, status(State.STOPPED))
    assert has_foreign_state(CURRENT, PLAN_A, replace(failed, failure=refused))
    assert not has_foreign_state(CURRENT, PLAN_A, replace(failed, failure=Failure("data.broken", "no")))
    assert not has_foreign_state(CURRENT, PLAN_A, replace(status(State.RUNNING), failure=refused))


def test_version_after_an_unstarted_forced_one_discards_the_state_instead() -> None:
    forced = replace(CURRENT, force=True)

    assert next_version(forced, Spec("SELECT  1"), PLAN_A, T0, force=False, has_state=True).force
    assert other_interval(forced, timedelta(seconds=5), T0).force
    assert not other_interval(CURRENT, timedelta(seconds=5), T0).force


def test_the_digest_does_not_see_the_order_of_settings() -> None:
    first = Spec("SELECT 1", settings={"a": "1", "b": "2"})
    second = Spec("SELECT 1", settings={"b": "2", "a": "1"})

    assert first.digest == second.digest
    assert first.digest != Spec("SELECT 1").digest
