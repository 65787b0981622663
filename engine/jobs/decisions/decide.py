"""Decide the next action of a job from its desired state, its status and an observation.

Pure, so a restarted control plane decides the same. A running job of parallelism 2, with 4 desired, round by round:

    state       observation                      action
    Running     the driver is alive              Drain(Rescaling)
    Rescaling   it has said goodbye, not gone    Wait
    Rescaling   its processes are gone           Repartition(4)
    Rescaling   maintenance is running           Wait
    Rescaling   maintenance is done              AcceptMaintenance
    Scheduling  nothing                          Launch
    Scheduling  the driver reports running       MarkRunning
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from engine.errors import (
    Cause,
    DriverDiedError,
    DriverSilentError,
    DriverStuckError,
    MaintenanceStuckError,
    SlowStartError,
    StoppedUnaskedError,
)
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
    MaintenanceTask,
    MarkRunning,
    MarkStopped,
    Observation,
    Process,
    Recover,
    Repartition,
    RestoreSavepoint,
    Wait,
)
from engine.jobs.decisions.spec import Pipeline
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import Failure, Goodbye, Status, failure_of
from engine.values.start_positions import StartStep

_LAST_WORDS = "its log shows its last words"
DIED = failure_of(DriverDiedError("the driver ended without saying why", hint=_LAST_WORDS))
SILENT = failure_of(DriverSilentError("the driver has not called for too long and was killed", hint=_LAST_WORDS))
STUCK = failure_of(
    DriverStuckError(
        "the driver reports, but its work has made no progress for too long, and it was killed",
        hint="its log shows where its threads were, and spark.log.stderr those of Java where it still answered",
    )
)
UNASKED = failure_of(StoppedUnaskedError("the driver stopped without being asked to"))


MAINTENANCE_TRIES = 3
"""Number of attempts of maintenance that fails for unknown reasons: the job does not run meanwhile."""


def slow_start(step: str | None) -> Failure:
    """Return the failure of a run whose start has stayed at a step."""
    place = f" at the step {step!r}" if step else ""
    return failure_of(
        SlowStartError(
            f"the driver's start has made no progress for too long{place} and it was killed", hint=_LAST_WORDS
        )
    )


def hanging(task: MaintenanceTask) -> Failure:
    """Return the failure of maintenance that makes no progress."""
    return _stuck(task, "has made no progress for too long")


def endless(task: MaintenanceTask) -> Failure:
    """Return the failure of maintenance that takes longer than a state of that size can take."""
    return _stuck(task, "has been busy for far longer than a state of this size takes")


def _stuck(task: MaintenanceTask, what: str) -> Failure:
    verb = "rescale" if isinstance(task, Repartition) else "restore"
    return failure_of(
        MaintenanceStuckError(
            f"the {verb} {what} and was ended",
            hint="nothing is lost: the state is the old one or the new one, whole; see whether its disk answers",
        )
    )


def died(ending: str | None) -> Failure:
    """Return the failure of a run whose process has ended without an exit message."""
    if ending is None:
        return DIED
    return failure_of(DriverDiedError(f"the driver {ending}, without saying why", hint=_LAST_WORDS))


@dataclass(frozen=True, slots=True)
class Policy:
    """Timeouts and restart limits."""

    allowed_restarts: int = 20
    restart_window: timedelta = timedelta(hours=1)
    initial_backoff: timedelta = timedelta(milliseconds=500)
    max_backoff: timedelta = timedelta(minutes=1)
    healthy: timedelta = timedelta(minutes=2)
    heartbeat_limit: timedelta = timedelta(seconds=30)
    stuck_limit: timedelta = timedelta(seconds=60)
    start_limit: timedelta = timedelta(minutes=5)
    stop_grace: timedelta = timedelta(minutes=2)
    drain_limit: timedelta = timedelta(minutes=30)

    def longest_maintenance(self, size: int) -> timedelta:
        """Return the longest time that maintenance of a state of `size` bytes may take, however busy it is: six times
        the limit without progress, plus a second for each MiB, which is what a very slow disk manages. Maintenance only
        reads and writes the state a few times, so work that takes longer is in a loop."""
        return 6 * self.start_limit + timedelta(seconds=size / 2**20)


def decide(desired: Pipeline, status: Status, observation: Observation, now: datetime, policy: Policy) -> Action:
    """Return the next step that brings the job closer to its desired state."""
    if observation.maintenance is not None:
        return _follow(observation.maintenance, status, now, policy)
    # What a dead driver has started may still write: nothing may follow while any of it lives.
    if observation.process is Process.ORPHANED:
        return Kill(status.state)
    match status.state:
        case State.CREATED | State.STOPPED:
            return _at_rest(desired, status)
        case State.FINISHED | State.FAILED if desired.restore is not None:
            return RestoreSavepoint(desired.restore)
        case State.FINISHED | State.FAILED:
            return _start(desired, status) if _is_asked_again(desired, status) else Wait()
        case State.SCHEDULING | State.RUNNING:
            return _while_up(desired, status, observation, now, policy)
        case State.CHECKPOINT_STOPPING | State.STOPPING | State.RESCALING:
            return _while_leaving(desired, status, observation, now, policy)
        case State.RECOVERING:
            return _while_recovering(desired, status, observation, now, policy)
        case never:
            assert_never(never)


def _follow(maintenance: Maintenance, status: Status, now: datetime, policy: Policy) -> Action:
    """Wait for the end of maintenance, during which nothing else happens. It leaves the old state or the new one,
    complete, so it can be repeated."""
    match maintenance.state:
        case "running":
            if maintenance.stillness > policy.start_limit:
                return EndMaintenance(hanging(maintenance.task))
            is_endless = maintenance.age > policy.longest_maintenance(maintenance.size)
            return EndMaintenance(endless(maintenance.task)) if is_endless else Wait()
        case "done":
            return AcceptMaintenance(maintenance.task)
        case "failed":
            failure = maintenance.failure or DIED
            if failure.cause is Cause.MISTAKE:
                return _abandon(maintenance, failure)
            again = _try_again(status, failure, now, policy)
            if isinstance(again, GiveUp) or (failure.cause is Cause.UNKNOWN and status.failures >= MAINTENANCE_TRIES):
                return _abandon(maintenance, failure)
            return again


def _abandon(maintenance: Maintenance, failure: Failure) -> Action:
    """Return the action after failed maintenance. A failed rescale leaves the job unchanged. After a failed restore the
    job must not continue: it would write what the owner wants undone."""
    return AbandonRescale(failure) if isinstance(maintenance.task, Repartition) else GiveUp(failure)


def _at_rest(desired: Pipeline, status: Status) -> Action:
    """Decide while nothing runs. A savepoint may be restored without a start."""
    if desired.stop == "none":
        return _start(desired, status)
    if desired.restore is not None:
        return RestoreSavepoint(desired.restore)
    return MarkStopped() if status.state is State.CREATED else Wait()


def _start(desired: Pipeline, status: Status) -> Action:
    """Return the maintenance that must come before the next run, or the start of the run itself."""
    if desired.restore is not None:
        return RestoreSavepoint(desired.restore)
    if status.parallelism is not None and status.parallelism != desired.parallelism:
        return Repartition(desired.parallelism)
    return Launch()


def _is_asked_again(desired: Pipeline, status: Status) -> bool:
    """Whether another start was requested since the newest one, directly or by a new version."""
    is_newer = desired.restarts_asked > status.restarts_done or desired.version != status.version
    return desired.stop == "none" and is_newer


def _while_up(desired: Pipeline, status: Status, observation: Observation, now: datetime, policy: Policy) -> Action:
    """Decide while a run is to be launched, is starting or is running."""
    match observation.process:
        case Process.NONE if status.state is State.SCHEDULING:
            return _after_run(desired, status)
        case Process.NONE | Process.GONE:
            return _after_unasked_end(desired, status, observation, now, policy)
        case _:
            pass
    if (leaving := _reason_to_leave(desired, status)) is not None:
        return leaving
    if (failure := _sickness(status, observation, policy)) is not None:
        return Kill(State.RECOVERING, failure)
    if status.state is State.SCHEDULING and observation.is_up:
        return MarkRunning()
    if (status.failures or status.outages) and _is_healthy(status, now, policy):
        return ForgetFailures()
    return Wait()


def _sickness(status: Status, observation: Observation, policy: Policy) -> Failure | None:
    """Return the fault of a live run. A start may take any time while it progresses; from its first epoch on it must
    show liveness, like a run that is up."""
    if status.state is State.RUNNING and observation.silence > policy.heartbeat_limit:
        return SILENT
    is_working = status.state is State.RUNNING or observation.is_up or observation.step == StartStep.FIRST_EPOCH
    if is_working and observation.stillness > policy.stuck_limit:
        return STUCK
    if not is_working and observation.stillness > policy.start_limit:
        return slow_start(observation.step)
    return None


def _reason_to_leave(desired: Pipeline, status: Status) -> Action | None:
    """Return why a healthy run must end: a stop, a restore, a new version, a restart, another parallelism."""
    match desired.stop:
        case "force":
            return Kill(State.STOPPING)
        case "immediate":
            return Drain(State.STOPPING)
        case "checkpoint" | "graceful":
            return Drain(State.CHECKPOINT_STOPPING)
        case "none":
            pass
    if desired.restore is not None or desired.version != status.version:
        return Drain(State.CHECKPOINT_STOPPING)
    if desired.restarts_asked > status.restarts_done:
        return Kill(State.STOPPING) if desired.restart_now else Drain(State.CHECKPOINT_STOPPING)
    if desired.parallelism != status.parallelism and status.state is State.RUNNING:
        return Drain(State.RESCALING)
    return None


def _while_leaving(
    desired: Pipeline, status: Status, observation: Observation, now: datetime, policy: Policy
) -> Action:
    """Decide while a run is ending. Its last committed epoch is its checkpoint, however it ends."""
    match observation.process:
        case Process.NONE:
            return _after_run(desired, status)
        case Process.GONE:
            match observation.goodbye:
                case Goodbye("finished"):
                    return Finish()
                case Goodbye("failed", Failure(cause=Cause.MISTAKE) as failure):
                    return GiveUp(failure)
            return _after_run(desired, status)
        case _:
            return _insist(desired, status, observation, now, policy)


def _after_run(desired: Pipeline, status: Status) -> Action:
    """Decide after the old run has ended: stop, or start the next one."""
    if desired.stop != "none" and desired.restore is None:
        return MarkStopped()
    return _start(desired, status)


def _insist(desired: Pipeline, status: Status, observation: Observation, now: datetime, policy: Policy) -> Action:
    """Decide while a run has not yet followed a request to end: wait, escalate, or kill."""
    late = _is_late(desired, status, observation, now, policy) or observation.silence > policy.heartbeat_limit
    if late or (desired.stop == "force" and status.state is not State.STOPPING):
        return Kill(State.STOPPING)
    if desired.stop == "immediate" and status.state is not State.STOPPING:
        return Drain(State.STOPPING)
    if desired.stop in ("checkpoint", "graceful") and status.state is State.RESCALING:
        return Drain(State.CHECKPOINT_STOPPING)
    return Wait()


def _is_late(desired: Pipeline, status: Status, observation: Observation, now: datetime, policy: Policy) -> bool:
    """Whether a run has had time enough to end. A drain takes some epochs of any length: the limit extends while its
    work shows liveness."""
    leaving = min(now - status.since, observation.watch)
    if desired.stop == "graceful" and status.state is State.CHECKPOINT_STOPPING:
        return leaving > policy.drain_limit or min(leaving, observation.stillness) > policy.stop_grace
    return leaving > policy.stop_grace


def _after_unasked_end(
    desired: Pipeline, status: Status, observation: Observation, now: datetime, policy: Policy
) -> Action:
    """Decide after a run has ended without a request."""
    match observation.goodbye:
        case Goodbye("finished"):
            return Finish()
        case Goodbye("failed", Failure() as failure):
            if failure.cause is Cause.MISTAKE:
                return GiveUp(failure)
        case Goodbye("stopped"):
            failure = UNASKED
        case _:
            was_killed = status.state is State.RECOVERING and status.failure is not None
            failure = status.failure if was_killed and status.failure else died(observation.ending)
    if desired.stop != "none":
        return MarkStopped()
    return _try_again(status, failure, now, policy)


def _try_again(status: Status, failure: Failure, now: datetime, policy: Policy) -> Action:
    """Restart after a pause. An outage is retried for as long as it lasts; a failure of unknown cause has a number of
    tries."""
    # A run that was healthy for a while clears the count: what failed a day ago says nothing of this failure.
    is_healthy = _is_healthy(status, now, policy)
    failures, outages = (0, 0) if is_healthy else (status.failures, status.outages)
    if failure.cause is Cause.OUTAGE:
        pause = backoff(outages + 1, policy) * _spread(status.job_id, outages + 1)
        return Recover(failure, failures, now + pause, outages + 1, _in_window(status, now, policy))
    failures += 1
    failure_times = _in_window(status, now, policy, now)
    if (reason := _used_up(failures, len(failure_times), policy)) is not None:
        message = f"{failure.message} (given up after {reason})"
        return GiveUp(Failure(failure.code, message, failure.hint, failure.declared_cause))
    return Recover(failure, failures, now + backoff(failures, policy), failure_times=failure_times)


def _used_up(in_a_row: int, in_window: int, policy: Policy) -> str | None:
    """Return how a job has used up its restarts, if it has. Two counts are needed, since either alone lets a failing
    job continue for ever: runs that are healthy for a while never fail often in a row, and runs that start slowly never
    fail often within a window."""
    if not 0 <= policy.allowed_restarts < max(in_a_row, in_window):
        return None
    if in_a_row > policy.allowed_restarts:
        return f"{in_a_row} failures"
    return f"{in_window} failures within {policy.restart_window / timedelta(minutes=1):g} minutes"


def _in_window(status: Status, now: datetime, policy: Policy, *more: datetime) -> tuple[datetime, ...]:
    """Return at least the failures that still count; without a limit they are not needed."""
    if policy.allowed_restarts < 0:
        return ()
    return tuple(at for at in (*status.failure_times, *more) if now - at < policy.restart_window)


def _is_healthy(status: Status, now: datetime, policy: Policy) -> bool:
    return status.running_since is not None and now - status.running_since >= policy.healthy


def _spread(job_id: str, outages: int) -> float:
    """Return the share of a pause that a job waits, from a half to the whole, so that not all jobs reconnect to a
    recovered broker at once. It is computed from the job and the count, so that a decision can be repeated."""
    digest = hashlib.sha256(f"{job_id} {outages}".encode()).digest()
    return 0.5 + digest[0] / 512


def backoff(failures: int, policy: Policy) -> timedelta:
    """Return the wait after `failures` in a row: doubled each time, up to a limit."""
    factor: int = 2 ** min(failures - 1, 30)  # without the limit, a job that may fail for ever overflows timedelta
    return min(policy.initial_backoff * factor, policy.max_backoff)


def _while_recovering(
    desired: Pipeline, status: Status, observation: Observation, now: datetime, policy: Policy
) -> Action:
    """Decide after a run has failed. The next one starts once the old one has certainly ended and the delay has
    passed."""
    match observation.process:
        case Process.GONE:
            return _after_unasked_end(desired, status, observation, now, policy)
        case Process.ALIVE:
            return Kill(State.RECOVERING)
        case _:
            pass
    if desired.stop != "none" and desired.restore is None:
        return MarkStopped()
    if _is_pausing(status, now, policy) and not _is_asked_again(desired, status):
        return Wait()
    return _start(desired, status)


def _is_pausing(status: Status, now: datetime, policy: Policy) -> bool:
    """Whether the next start is to wait. A pause longer than the maximum means that the clock was set back
    meanwhile."""
    return status.retry_at is not None and timedelta(0) < status.retry_at - now <= policy.max_backoff
