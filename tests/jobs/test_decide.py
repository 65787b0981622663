from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import product

import pytest

from engine.errors import Cause, LedgerLostError, MissingPackageError
from engine.jobs.decisions.decide import (
    DIED,
    SILENT,
    STUCK,
    UNASKED,
    Policy,
    backoff,
    decide,
    died,
    endless,
    hanging,
    slow_start,
)
from engine.jobs.decisions.intend import intend
from engine.jobs.decisions.observe import (
    AbandonRescale,
    AcceptMaintenance,
    Action,
    Drain,
    EndMaintenance,
    Finish,
    ForgetFailures,
    GiveUp,
    Kill,
    Launch,
    Maintenance,
    MarkRunning,
    MarkStopped,
    Observation,
    Recover,
    Repartition,
    RestoreSavepoint,
    Wait,
)
from engine.jobs.decisions.spec import Pipeline, Restore
from engine.jobs.decisions.states import State, may_follow
from engine.jobs.decisions.status import Failure, Status, failure_of
from tests.jobs.builders import FATAL, FLEETING, OUTAGE, T0, alive, gone, nothing, orphaned, status, wanted

KILLED = Failure("run.died", "restore ended with exit code -9")
BACK = Restore("sp_aaaaaaaaaaaaaaaa", 1)
SOON = T0 + timedelta(milliseconds=500)
S = State
OFTEN = [T0 - timedelta(minutes=minutes) for minutes in range(59, 39, -1)]
"""Twenty failures, all of the last hour."""
HOURLY = [T0 - timedelta(hours=hours) for hours in range(30, 0, -1)]


def _again(failure: Failure, *earlier: datetime, failures: int = 1) -> Recover:
    """Another try after a failure of unknown cause, and after those that still count."""
    return Recover(failure, failures, T0 + backoff(failures, Policy()), failure_times=(*earlier, T0))


Case = tuple[str, Pipeline, Status, Observation, Action]

CASES: list[Case] = [
    ("a new pipeline is started", wanted(), status(S.CREATED), nothing(), Launch()),
    ("a new pipeline that shall not run rests", wanted(stop="checkpoint"), status(S.CREATED), nothing(), MarkStopped()),
    ("a starting run has time", wanted(), status(S.SCHEDULING), alive(is_up=False), Wait()),
    ("a run that is up is running", wanted(), status(S.SCHEDULING), alive(), MarkRunning()),
    ("a start without a process is made again", wanted(), status(S.SCHEDULING), nothing(), Launch()),
    (
        "a start that was called off rests",
        wanted(stop="checkpoint"),
        status(S.SCHEDULING),
        nothing(),
        MarkStopped(),
    ),
    (
        "a start can be stopped",
        wanted(stop="checkpoint"),
        status(S.SCHEDULING),
        alive(is_up=False),
        Drain(S.CHECKPOINT_STOPPING),
    ),
    ("a start that dies is made again later", wanted(), status(S.SCHEDULING), gone(), _again(DIED)),
    ("a start with bad SQL fails at once", wanted(), status(S.SCHEDULING), gone("failed", FATAL), GiveUp(FATAL)),
    ("a short input may end before anybody looked", wanted(), status(S.SCHEDULING), gone("finished"), Finish()),
    (
        "a start that does not come on is ended",
        wanted(),
        status(S.SCHEDULING, since=T0 - timedelta(minutes=6)),
        alive(is_up=False, step="planning", stillness=timedelta(minutes=6)),
        Kill(S.RECOVERING, slow_start("planning")),
    ),
    (
        "a start that comes on has all the time it needs",
        wanted(),
        status(S.SCHEDULING, since=T0 - timedelta(hours=6)),
        alive(is_up=False, step="planning", stillness=timedelta(minutes=4)),
        Wait(),
    ),
    (
        "a first epoch may last for hours",
        wanted(),
        status(S.SCHEDULING, since=T0 - timedelta(hours=6)),
        alive(is_up=False, step="first epoch", stillness=timedelta(seconds=1)),
        Wait(),
    ),
    (
        "a first epoch in which nothing lives is ended",
        wanted(),
        status(S.SCHEDULING),
        alive(is_up=False, step="first epoch", stillness=timedelta(seconds=61)),
        Kill(S.RECOVERING, STUCK),
    ),
    (
        "a run that calls and shows no sign of life is ended",
        wanted(),
        status(S.RUNNING),
        alive(stillness=timedelta(seconds=61)),
        Kill(S.RECOVERING, STUCK),
    ),
    ("a run may be still for a while", wanted(), status(S.RUNNING), alive(stillness=timedelta(seconds=60)), Wait()),
    (
        "a stuck run that was ended is started again, and that is the reason",
        wanted(),
        status(S.RECOVERING, failure=STUCK),
        gone(),
        _again(STUCK),
    ),
    (
        "a run that was killed says by what",
        wanted(),
        status(S.RUNNING),
        replace(gone(), ending="was killed by signal 9 (SIGKILL)"),
        _again(died("was killed by signal 9 (SIGKILL)")),
    ),
    (
        "a parallelism that changed before the start needs a new layout",
        wanted(parallelism=2),
        status(S.SCHEDULING),
        nothing(),
        Repartition(2),
    ),
    ("a healthy run is let alone", wanted(), status(S.RUNNING), alive(), Wait()),
    ("a silent run is ended", wanted(), status(S.RUNNING), alive(31), Kill(S.RECOVERING, SILENT)),
    ("a run may be silent for a while", wanted(), status(S.RUNNING), alive(30), Wait()),
    ("a run whose input ends is finished", wanted(), status(S.RUNNING), gone("finished"), Finish()),
    ("a run that dies is started again", wanted(), status(S.RUNNING), gone(), _again(DIED)),
    (
        "a run that fails for now is started again",
        wanted(),
        status(S.RUNNING),
        gone("failed", FLEETING),
        _again(FLEETING),
    ),
    ("a run that fails for good fails", wanted(), status(S.RUNNING), gone("failed", FATAL), GiveUp(FATAL)),
    (
        "a run that stops unasked is started again",
        wanted(),
        status(S.RUNNING),
        gone("stopped"),
        _again(UNASKED),
    ),
    (
        "a run that dies when it was to stop has stopped",
        wanted(stop="checkpoint"),
        status(S.RUNNING),
        gone(),
        MarkStopped(),
    ),
    ("what a dead driver has left is ended", wanted(), status(S.RUNNING), orphaned(), Kill(S.RUNNING)),
    (
        "stop with a checkpoint lets the epoch end",
        wanted(stop="checkpoint"),
        status(S.RUNNING),
        alive(),
        Drain(S.CHECKPOINT_STOPPING),
    ),
    (
        "a graceful stop is one with a checkpoint",
        wanted(stop="graceful"),
        status(S.RUNNING),
        alive(),
        Drain(S.CHECKPOINT_STOPPING),
    ),
    (
        "a drain whose epochs take long goes on as long as its work is alive",
        wanted(stop="graceful"),
        status(S.CHECKPOINT_STOPPING, since=T0 - timedelta(minutes=29)),
        alive(stillness=timedelta(seconds=50)),
        Wait(),
    ),
    (
        "a drain without a sign of life is ended after the grace",
        wanted(stop="graceful"),
        status(S.CHECKPOINT_STOPPING, since=T0 - timedelta(minutes=3)),
        alive(stillness=timedelta(minutes=2, seconds=1)),
        Kill(S.STOPPING),
    ),
    (
        "a drain that has only just begun has its grace",
        wanted(stop="graceful"),
        status(S.CHECKPOINT_STOPPING, since=T0 - timedelta(minutes=1)),
        alive(stillness=timedelta(minutes=3)),
        Wait(),
    ),
    (
        "a drain that comes to no end is ended",
        wanted(stop="graceful"),
        status(S.CHECKPOINT_STOPPING, since=T0 - timedelta(minutes=31)),
        alive(stillness=timedelta(seconds=1)),
        Kill(S.STOPPING),
    ),
    (
        "a drain that somebody hurries has no more time than any other stop",
        wanted(stop="checkpoint"),
        status(S.CHECKPOINT_STOPPING, since=T0 - timedelta(minutes=3)),
        alive(stillness=timedelta(seconds=1)),
        Kill(S.STOPPING),
    ),
    ("stop now gives the epoch up", wanted(stop="immediate"), status(S.RUNNING), alive(), Drain(S.STOPPING)),
    ("stop by force kills", wanted(stop="force"), status(S.RUNNING), alive(), Kill(S.STOPPING)),
    ("another parallelism drains the run", wanted(parallelism=2), status(S.RUNNING), alive(), Drain(S.RESCALING)),
    (
        "another version drains the run",
        wanted(version=2),
        status(S.RUNNING),
        alive(),
        Drain(S.CHECKPOINT_STOPPING),
    ),
    (
        "a restart drains the run",
        wanted(restarts_asked=1),
        status(S.RUNNING),
        alive(),
        Drain(S.CHECKPOINT_STOPPING),
    ),
    (
        "a restart by force kills the run",
        wanted(restarts_asked=1, restart_now=True),
        status(S.RUNNING),
        alive(),
        Kill(S.STOPPING),
    ),
    ("going back drains the run", wanted(restore=BACK), status(S.RUNNING), alive(), Drain(S.CHECKPOINT_STOPPING)),
    ("a draining run has time", wanted(stop="checkpoint"), status(S.CHECKPOINT_STOPPING), alive(), Wait()),
    (
        "a drained run has stopped",
        wanted(stop="checkpoint"),
        status(S.CHECKPOINT_STOPPING),
        gone("stopped"),
        MarkStopped(),
    ),
    (
        "a run that dies while it drains has stopped: its last epoch is its checkpoint",
        wanted(stop="checkpoint"),
        status(S.CHECKPOINT_STOPPING),
        gone(),
        MarkStopped(),
    ),
    (
        "a run whose input ends while it drains is finished",
        wanted(stop="checkpoint"),
        status(S.CHECKPOINT_STOPPING),
        gone("finished"),
        Finish(),
    ),
    (
        "a run that fails for good while it drains has failed",
        wanted(stop="checkpoint"),
        status(S.CHECKPOINT_STOPPING),
        gone("failed", FATAL),
        GiveUp(FATAL),
    ),
    (
        "a run that does not drain in time is killed",
        wanted(stop="checkpoint"),
        status(S.CHECKPOINT_STOPPING, since=T0 - timedelta(minutes=3)),
        alive(),
        Kill(S.STOPPING),
    ),
    (
        "a run whose control plane was away has the time that it takes to hear that it is to stop",
        wanted(stop="checkpoint"),
        status(S.CHECKPOINT_STOPPING, since=T0 - timedelta(minutes=3)),
        alive(watch=timedelta(seconds=1)),
        Wait(),
    ),
    (
        "a draining run can be told to stop now",
        wanted(stop="immediate"),
        status(S.CHECKPOINT_STOPPING),
        alive(),
        Drain(S.STOPPING),
    ),
    ("a draining run can be killed", wanted(stop="force"), status(S.CHECKPOINT_STOPPING), alive(), Kill(S.STOPPING)),
    (
        "a drained run of an old version is followed by the new",
        wanted(version=2),
        status(S.CHECKPOINT_STOPPING),
        gone(),
        Launch(),
    ),
    (
        "a drained run that is to go back is restored",
        wanted(restore=BACK),
        status(S.CHECKPOINT_STOPPING),
        gone(),
        RestoreSavepoint(BACK),
    ),
    ("a stopping run has time", wanted(stop="immediate"), status(S.STOPPING), alive(), Wait()),
    ("a run that is gone has stopped", wanted(stop="immediate"), status(S.STOPPING), gone(), MarkStopped()),
    (
        "a run that does not stop in time is killed",
        wanted(stop="immediate"),
        status(S.STOPPING, since=T0 - timedelta(minutes=3)),
        alive(),
        Kill(S.STOPPING),
    ),
    ("a stop that was taken back starts again", wanted(), status(S.STOPPING), gone(), Launch()),
    ("a stopped job rests", wanted(stop="checkpoint"), status(S.STOPPED), nothing(), Wait()),
    ("a stopped job can be started", wanted(), status(S.STOPPED), nothing(), Launch()),
    ("a stopped job can be started wider", wanted(parallelism=2), status(S.STOPPED), nothing(), Repartition(2)),
    (
        "a stopped job can go back and rest",
        wanted(stop="checkpoint", restore=BACK),
        status(S.STOPPED),
        nothing(),
        RestoreSavepoint(BACK),
    ),
    ("a drained run is laid out anew", wanted(parallelism=2), status(S.RESCALING), gone("stopped"), Repartition(2)),
    ("a rescale waits for the run to end", wanted(parallelism=2), status(S.RESCALING), alive(), Wait()),
    (
        "a rescale can be stopped",
        wanted(parallelism=2, stop="checkpoint"),
        status(S.RESCALING),
        alive(),
        Drain(S.CHECKPOINT_STOPPING),
    ),
    ("a rescale that was taken back only restarts", wanted(), status(S.RESCALING), gone(), Launch()),
    (
        "a rescale that was cut short is begun again",
        wanted(parallelism=2),
        status(S.RESCALING),
        nothing(),
        Repartition(2),
    ),
    (
        "work on the state is waited for, whatever is wanted",
        wanted(parallelism=2, stop="force"),
        status(S.RESCALING),
        nothing(maintenance=Maintenance(Repartition(2), "running")),
        Wait(),
    ),
    (
        "work on the state that comes on has all the time it needs",
        wanted(parallelism=2),
        status(S.RESCALING, since=T0 - timedelta(hours=6)),
        nothing(maintenance=Maintenance(Repartition(2), "running", stillness=timedelta(minutes=4))),
        Wait(),
    ),
    (
        "a rescale that hangs is ended",
        wanted(parallelism=2),
        status(S.RESCALING),
        nothing(maintenance=Maintenance(Repartition(2), "running", stillness=timedelta(minutes=6))),
        EndMaintenance(hanging(Repartition(2))),
    ),
    (
        "a rescale of a small state that is busy has half an hour",
        wanted(parallelism=2),
        status(S.RESCALING),
        nothing(maintenance=Maintenance(Repartition(2), "running", age=timedelta(minutes=29))),
        Wait(),
    ),
    (
        "a rescale that goes round in circles, and so is busy for ever, is ended",
        wanted(parallelism=2),
        status(S.RESCALING),
        nothing(maintenance=Maintenance(Repartition(2), "running", age=timedelta(minutes=31))),
        EndMaintenance(endless(Repartition(2))),
    ),
    (
        "a restore of a large state has a second more for each of its MiB",
        wanted(restore=BACK),
        status(S.SCHEDULING),
        nothing(maintenance=Maintenance(RestoreSavepoint(BACK), "running", age=timedelta(hours=1), size=1900 * 2**20)),
        Wait(),
    ),
    (
        "a restore of a large state has an end, too",
        wanted(restore=BACK),
        status(S.SCHEDULING),
        nothing(maintenance=Maintenance(RestoreSavepoint(BACK), "running", age=timedelta(hours=1), size=1700 * 2**20)),
        EndMaintenance(endless(RestoreSavepoint(BACK))),
    ),
    (
        "a restore that hangs is ended, also where the job is to stop",
        wanted(restore=BACK, stop="force"),
        status(S.SCHEDULING),
        nothing(maintenance=Maintenance(RestoreSavepoint(BACK), "running", stillness=timedelta(minutes=6))),
        EndMaintenance(hanging(RestoreSavepoint(BACK))),
    ),
    (
        "a rescale that was ended since it hung is begun again",
        wanted(parallelism=2),
        status(S.RESCALING),
        nothing(maintenance=Maintenance(Repartition(2), "failed", hanging(Repartition(2)))),
        _again(hanging(Repartition(2))),
    ),
    (
        "a state that was laid out anew is accepted",
        wanted(parallelism=2),
        status(S.RESCALING),
        nothing(maintenance=Maintenance(Repartition(2), "done")),
        AcceptMaintenance(Repartition(2)),
    ),
    (
        "a rescale that fails leaves the job as it was",
        wanted(parallelism=2),
        status(S.RESCALING),
        nothing(maintenance=Maintenance(Repartition(2), "failed", FATAL)),
        AbandonRescale(FATAL),
    ),
    (
        "a rescale whose process is killed is begun again",
        wanted(parallelism=2),
        status(S.RESCALING),
        nothing(maintenance=Maintenance(Repartition(2), "failed", KILLED)),
        _again(KILLED),
    ),
    (
        "a rescale that fails again and again leaves the job as it was",
        wanted(parallelism=2),
        status(S.RESCALING, failures=3, failure_times=(T0, T0, T0)),
        nothing(maintenance=Maintenance(Repartition(2), "failed", KILLED)),
        AbandonRescale(KILLED),
    ),
    (
        "a restore whose process is killed is begun again",
        wanted(restore=BACK),
        status(S.SCHEDULING),
        nothing(maintenance=Maintenance(RestoreSavepoint(BACK), "failed", KILLED)),
        _again(KILLED),
    ),
    (
        "a restore that fails again and again fails the job",
        wanted(restore=BACK),
        status(S.SCHEDULING, failures=3, failure_times=(T0, T0, T0)),
        nothing(maintenance=Maintenance(RestoreSavepoint(BACK), "failed", KILLED)),
        GiveUp(KILLED),
    ),
    (
        "a restore that is to be begun again is, also where the job is to rest afterwards",
        wanted(stop="checkpoint", restore=BACK),
        status(S.RECOVERING, retry_at=T0),
        nothing(),
        RestoreSavepoint(BACK),
    ),
    (
        "a savepoint in place is accepted",
        wanted(restore=BACK),
        status(S.SCHEDULING),
        nothing(maintenance=Maintenance(RestoreSavepoint(BACK), "done")),
        AcceptMaintenance(RestoreSavepoint(BACK)),
    ),
    (
        "a savepoint that cannot be put in place fails the job",
        wanted(restore=BACK),
        status(S.SCHEDULING),
        nothing(maintenance=Maintenance(RestoreSavepoint(BACK), "failed", FATAL)),
        GiveUp(FATAL),
    ),
    ("a recovering job waits out its pause", wanted(), status(S.RECOVERING, retry_at=SOON), nothing(), Wait()),
    (
        "a pause that is longer than any can be is of a clock that was set back since, and over",
        wanted(),
        status(S.RECOVERING, retry_at=T0 + timedelta(days=1)),
        nothing(),
        Launch(),
    ),
    ("a recovering job is started after its pause", wanted(), status(S.RECOVERING, retry_at=T0), nothing(), Launch()),
    (
        "a recovering job that is asked to start does not wait",
        wanted(restarts_asked=1),
        status(S.RECOVERING, retry_at=SOON),
        nothing(),
        Launch(),
    ),
    (
        "a recovering job can be stopped",
        wanted(stop="checkpoint"),
        status(S.RECOVERING, retry_at=SOON),
        nothing(),
        MarkStopped(),
    ),
    (
        "a silent run that was ended is started again, and the silence is the reason",
        wanted(),
        status(S.RECOVERING, failure=SILENT),
        gone(),
        _again(SILENT),
    ),
    ("a run that outlives its end is ended again", wanted(), status(S.RECOVERING), alive(), Kill(S.RECOVERING)),
    (
        "after twenty failures in a row the job is given up",
        wanted(),
        status(S.RUNNING, failures=20),
        gone("failed", FLEETING),
        GiveUp(Failure("run.error", "the network was down (given up after 21 failures)")),
    ),
    (
        "a healthy while forgets the failures before it",
        wanted(),
        status(S.RUNNING, failures=20, running_since=T0 - timedelta(minutes=2)),
        gone("failed", FLEETING),
        _again(FLEETING),
    ),
    (
        "a job that fails once an hour is never given up",
        wanted(),
        status(S.RUNNING, failure_times=tuple(HOURLY), running_since=T0 - timedelta(minutes=59)),
        gone("failed", FLEETING),
        _again(FLEETING),
    ),
    (
        "a job that fails too often within the window is given up, however healthy it is in between",
        wanted(),
        status(S.RUNNING, failure_times=tuple(OFTEN), running_since=T0 - timedelta(minutes=2)),
        gone("failed", FLEETING),
        GiveUp(Failure("run.error", "the network was down (given up after 21 failures within 60 minutes)")),
    ),
    (
        "a failure that leaves the window gives its place to the next",
        wanted(),
        status(S.RUNNING, failure_times=(T0 - timedelta(hours=1), *OFTEN[1:]), running_since=T0 - timedelta(minutes=2)),
        gone("failed", FLEETING),
        _again(FLEETING, *OFTEN[1:]),
    ),
    (
        "what a driver says is a mistake is one, whatever the code",
        wanted(),
        status(S.RUNNING),
        gone("failed", failure_of(MissingPackageError("no boto3"))),
        GiveUp(failure_of(MissingPackageError("no boto3"))),
    ),
    (
        "a ledger that is lost stops the job",
        wanted(),
        status(S.RUNNING),
        gone("failed", failure_of(LedgerLostError("the ledger is gone"))),
        GiveUp(failure_of(LedgerLostError("the ledger is gone"))),
    ),
    (
        "a healthy run is forgiven what failed before it",
        wanted(),
        status(S.RUNNING, failures=3, running_since=T0 - timedelta(minutes=2)),
        alive(),
        ForgetFailures(),
    ),
    (
        "a run that is up for a short while is not forgiven yet",
        wanted(),
        status(S.RUNNING, failures=3, running_since=T0 - timedelta(seconds=119)),
        alive(),
        Wait(),
    ),
    ("a finished job stays finished", wanted(), status(S.FINISHED), nothing(), Wait()),
    ("a failed job stays failed", wanted(), status(S.FAILED), nothing(), Wait()),
    ("a failed job can be started again", wanted(restarts_asked=1), status(S.FAILED), nothing(), Launch()),
    ("a failed job is started by a new version", wanted(version=2), status(S.FAILED), nothing(), Launch()),
    ("a finished job can go back", wanted(restore=BACK), status(S.FINISHED), nothing(), RestoreSavepoint(BACK)),
]


@pytest.mark.parametrize(
    ("pipeline", "before", "observation", "action"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_decision(pipeline: Pipeline, before: Status, observation: Observation, action: Action) -> None:
    assert decide(pipeline, before, observation, T0, Policy()) == action


@pytest.mark.parametrize(
    ("pipeline", "before", "observation", "action"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_each_decision_is_a_legal_step(
    pipeline: Pipeline, before: Status, observation: Observation, action: Action
) -> None:
    _, after = intend(action, pipeline, before, T0)

    assert may_follow(before.state, after.state)


def test_every_state_is_decided_about() -> None:
    assert {case[2].state for case in CASES} == set(State)


def test_whatever_is_wanted_and_seen_the_step_is_legal() -> None:
    stops = ("none", "checkpoint", "graceful", "immediate", "force")
    sights = (nothing(), alive(), alive(1000), alive(is_up=False), orphaned(), gone(), gone("finished"))
    changes = ({}, {"version": 2}, {"parallelism": 2}, {"restore": BACK}, {"restarts_asked": 1})
    for state, stop, observation, change in product(State, stops, sights, changes):
        pipeline, before = wanted(stop=stop, **change), status(state)

        _, after = intend(decide(pipeline, before, observation, T0, Policy()), pipeline, before, T0)

        assert may_follow(before.state, after.state)


def test_failures_detected_by_the_control_plane_have_their_own_codes() -> None:
    failures = (DIED, SILENT, STUCK, slow_start("planning"), UNASKED)

    assert [failure.code for failure in failures] == [
        "run.died",
        "run.silent",
        "run.stuck",
        "run.slow_start",
        "run.stopped",
    ]
    assert {failure.cause for failure in failures} == {Cause.UNKNOWN}
    assert "'planning'" in slow_start("planning").message


def test_the_pause_doubles_up_to_a_limit() -> None:
    pauses = [backoff(failures, Policy()).total_seconds() for failures in (1, 2, 3, 7, 8, 1000)]

    assert pauses == [0.5, 1, 2, 32, 60, 60]


@pytest.mark.parametrize("before", [status(S.RUNNING, failures=20, outages=99), status(S.SCHEDULING, failures=20)])
def test_an_outage_is_waited_out_without_end_and_uses_up_no_restarts(before: Status) -> None:
    action = decide(wanted(), before, gone("failed", OUTAGE), T0, Policy())

    assert isinstance(action, Recover)
    assert (action.failure, action.failures, action.outages) == (OUTAGE, 20, before.outages + 1)


def test_the_pauses_of_an_outage_are_spread_over_jobs_and_never_the_longest_twice() -> None:
    def pause(job: str, outages: int) -> float:
        before = status(S.RUNNING, job_id=job, outages=outages)
        action = decide(wanted(), before, gone("failed", OUTAGE), T0, Policy())
        assert isinstance(action, Recover)
        return (action.retry_at - T0).total_seconds()

    long = {pause(f"job_{number}", 50) for number in range(20)}

    assert len(long) > 10
    assert all(30 <= length <= 60 for length in long)
    assert pause("job_1", 50) == pause("job_1", 50)
    assert 0.25 <= pause("job_1", 0) <= 0.5


def test_an_outage_that_ends_leaves_the_failures_their_number() -> None:
    before = status(S.RUNNING, failures=3, outages=7)

    action = decide(wanted(), before, gone("failed", FLEETING), T0, Policy())

    assert isinstance(action, Recover)
    assert (action.failures, action.outages) == (4, 0)


def test_without_a_limit_a_job_is_never_given_up() -> None:
    action = decide(wanted(), status(S.RUNNING, failures=500), gone(), T0, Policy(allowed_restarts=-1))

    assert isinstance(action, Recover)
    assert action.failure_times == ()


def test_an_outage_takes_nothing_of_the_windows_budget_and_forgets_what_left_it() -> None:
    before = status(S.RUNNING, failure_times=(T0 - timedelta(hours=2), *OFTEN))

    action = decide(wanted(), before, gone("failed", OUTAGE), T0, Policy())

    assert isinstance(action, Recover)
    assert action.failure_times == tuple(OFTEN)
