"""What to do next about a job: wish, status and observation go in, one action comes out. Touches nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from engine.jobs.actions import (
    AbandonRescale,
    AcceptChore,
    Action,
    Drain,
    Finish,
    GiveUp,
    Kill,
    Launch,
    MarkRunning,
    MarkStopped,
    Recover,
    Repartition,
    RestoreSavepoint,
    Wait,
)
from engine.jobs.observe import Chore, Observation, Process
from engine.jobs.spec import Pipeline
from engine.jobs.states import State
from engine.jobs.status import Failure, Goodbye, Status

DIED = Failure("run.died", "the driver ended without saying why", "its log has its last words")
SILENT = Failure("run.silent", "the driver was not heard of for too long and was ended")
SLOW_START = Failure("run.slow_start", "the driver was not running in time and was ended")
UNASKED = Failure("run.stopped", "the driver stopped without being asked to")


@dataclass(frozen=True, slots=True)
class Policy:
    """How patient to be."""

    allowed_restarts: int = 20
    initial_backoff: timedelta = timedelta(milliseconds=500)
    max_backoff: timedelta = timedelta(minutes=1)
    healthy: timedelta = timedelta(minutes=2)
    heartbeat_limit: timedelta = timedelta(seconds=30)
    start_limit: timedelta = timedelta(minutes=5)
    stop_grace: timedelta = timedelta(minutes=2)


def decide(wanted: Pipeline, status: Status, seen: Observation, now: datetime, policy: Policy) -> Action:
    """The one next step that brings the job closer to what is wanted."""
    if seen.chore is not None:
        return _tend(seen.chore)
    if seen.process is Process.ORPHANED:
        return Kill(status.state)
    match status.state:
        case State.CREATED | State.STOPPED:
            return _rest(wanted, status)
        case State.FINISHED | State.FAILED if wanted.restore is not None:
            return RestoreSavepoint(wanted.restore)
        case State.FINISHED | State.FAILED:
            return _start(wanted, status) if _is_asked_again(wanted, status) else Wait()
        case State.SCHEDULING | State.RUNNING:
            return _live(wanted, status, seen, now, policy)
        case State.CHECKPOINT_STOPPING | State.STOPPING | State.RESCALING:
            return _leave(wanted, status, seen, now, policy)
        case State.RECOVERING:
            return _recover(wanted, status, seen, now, policy)
        case never:
            assert_never(never)


def _tend(chore: Chore) -> Action:
    """Work on the state directory is under way: nothing else happens until it has ended."""
    match chore.state:
        case "running":
            return Wait()
        case "done":
            return AcceptChore(chore.kind, chore.target)
        case "failed" if chore.kind == "restore":
            return GiveUp(chore.failure or DIED)
        case "failed":
            return AbandonRescale(chore.failure or DIED)


def _rest(wanted: Pipeline, status: Status) -> Action:
    """Nothing runs. A savepoint may be put in place without starting."""
    if wanted.stop == "none":
        return _start(wanted, status)
    if wanted.restore is not None:
        return RestoreSavepoint(wanted.restore)
    return MarkStopped() if status.state is State.CREATED else Wait()


def _start(wanted: Pipeline, status: Status) -> Action:
    """What has to come before the next run, or the run itself."""
    if wanted.restore is not None:
        return RestoreSavepoint(wanted.restore)
    if status.parallelism is not None and status.parallelism != wanted.parallelism:
        return Repartition(wanted.parallelism)
    return Launch()


def _is_asked_again(wanted: Pipeline, status: Status) -> bool:
    """Whether somebody asked for another start since the newest one: by request or by a new version."""
    asked = wanted.restarts_asked > status.restarts_done or wanted.version != status.version
    return wanted.stop == "none" and asked


def _live(wanted: Pipeline, status: Status, seen: Observation, now: datetime, policy: Policy) -> Action:
    """A run is wanted, starting or under way."""
    match seen.process:
        case Process.NONE if status.state is State.SCHEDULING:
            return _after(wanted, status)
        case Process.NONE | Process.GONE:
            return _bury(wanted, status, seen.goodbye, now, policy)
        case _:
            pass
    if (leaving := _reason_to_leave(wanted, status)) is not None:
        return leaving
    if seen.silence > policy.heartbeat_limit and status.state is State.RUNNING:
        return Kill(State.RECOVERING, SILENT)
    if status.state is State.SCHEDULING:
        if seen.is_up:
            return MarkRunning()
        if now - status.since > policy.start_limit:
            return Kill(State.RECOVERING, SLOW_START)
    return Wait()


def _reason_to_leave(wanted: Pipeline, status: Status) -> Action | None:
    """Why a healthy run must end: a stop, a savepoint to go back to, a new version, a restart, another parallelism."""
    match wanted.stop:
        case "force":
            return Kill(State.STOPPING)
        case "immediate":
            return Drain(State.STOPPING)
        case "checkpoint" | "graceful":
            return Drain(State.CHECKPOINT_STOPPING)
        case "none":
            pass
    if wanted.restore is not None or wanted.version != status.version:
        return Drain(State.CHECKPOINT_STOPPING)
    if wanted.restarts_asked > status.restarts_done:
        return Kill(State.STOPPING) if wanted.restart_now else Drain(State.CHECKPOINT_STOPPING)
    if wanted.parallelism != status.parallelism and status.state is State.RUNNING:
        return Drain(State.RESCALING)
    return None


def _leave(wanted: Pipeline, status: Status, seen: Observation, now: datetime, policy: Policy) -> Action:
    """A run is on its way out. Its last committed epoch is its checkpoint, however it ends."""
    match seen.process:
        case Process.NONE:
            return _after(wanted, status)
        case Process.GONE:
            match seen.goodbye:
                case Goodbye("finished"):
                    return Finish()
                case Goodbye("failed", Failure() as failure) if failure.is_fatal:
                    return GiveUp(failure)
            return _after(wanted, status)
        case _:
            return _hasten(wanted, status, seen, now, policy)


def _after(wanted: Pipeline, status: Status) -> Action:
    """The old run has left: rest, or start the next one."""
    if wanted.stop != "none" and wanted.restore is None:
        return MarkStopped()
    return _start(wanted, status)


def _hasten(wanted: Pipeline, status: Status, seen: Observation, now: datetime, policy: Policy) -> Action:
    """The run has been asked to end and has not yet: wait, ask more firmly, or kill."""
    late = now - status.since > policy.stop_grace or seen.silence > policy.heartbeat_limit
    if late or (wanted.stop == "force" and status.state is not State.STOPPING):
        return Kill(State.STOPPING)
    if wanted.stop == "immediate" and status.state is not State.STOPPING:
        return Drain(State.STOPPING)
    if wanted.stop in ("checkpoint", "graceful") and status.state is State.RESCALING:
        return Drain(State.CHECKPOINT_STOPPING)
    return Wait()


def _bury(wanted: Pipeline, status: Status, goodbye: Goodbye | None, now: datetime, policy: Policy) -> Action:
    """A run has ended that was not asked to."""
    match goodbye:
        case Goodbye("finished"):
            return Finish()
        case Goodbye("failed", Failure() as failure):
            if failure.is_fatal:
                return GiveUp(failure)
        case Goodbye("stopped"):
            failure = UNASKED
        case _:
            failure = status.failure if status.state is State.RECOVERING and status.failure else DIED
    if wanted.stop != "none":
        return MarkStopped()
    healthy = status.running_since is not None and now - status.running_since >= policy.healthy
    failures = 1 if healthy else status.failures + 1
    if 0 <= policy.allowed_restarts < failures:
        return GiveUp(Failure(failure.code, f"{failure.message} (given up after {failures} failures)", failure.hint))
    return Recover(failure, failures, now + backoff(failures, policy))


def backoff(failures: int, policy: Policy) -> timedelta:
    """How long to wait after so many failures in a row: doubled each time, up to a limit."""
    doublings: int = 2 ** min(failures - 1, 30)
    return min(policy.initial_backoff * doublings, policy.max_backoff)


def _recover(wanted: Pipeline, status: Status, seen: Observation, now: datetime, policy: Policy) -> Action:
    """A run has failed. The next one starts when the old one is surely gone and the pause is over."""
    match seen.process:
        case Process.GONE:
            return _bury(wanted, status, seen.goodbye, now, policy)
        case Process.ALIVE:
            return Kill(State.RECOVERING)
        case _:
            pass
    if wanted.stop != "none" and wanted.restore is None:
        return MarkStopped()
    if status.retry_at is not None and now < status.retry_at and not _is_asked_again(wanted, status):
        return Wait()
    return _start(wanted, status)
