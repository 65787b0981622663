"""Endpoints for drivers: hello, heartbeats with committed epochs, goodbye. Responses contain commands."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Sequence
from typing import Annotated, Literal, get_args

from fastapi import APIRouter, Path, Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import Connection

from engine.api.http.authentication import bearer
from engine.api.http.bodies import Body
from engine.api.http.problems import ContextDep
from engine.checkpoints.lineage import parents_of
from engine.control.context import Context, adopt
from engine.control.traces.requested_starts import epoch_span, start_span
from engine.errors import AuthError
from engine.jobs.controller import hash_key
from engine.jobs.decisions.partitions import LateBatch
from engine.jobs.decisions.states import State, StopMode
from engine.jobs.decisions.status import Failure, Goodbye, Progress, Run, Status, advanced, orders, read_cause
from engine.jobs.processes.left_by_drivers import forget_goodbye, is_spoken, left_goodbye
from engine.jobs.processes.process_usage import ProcessRole, ProcessUsage, SharedWith
from engine.store.jobs import checkpoints, job_figures, jobs, runs
from engine.store.jobs.checkpoints import History
from engine.store.jobs.records import read_call
from engine.store.partitions import late_batches
from engine.store.pipelines import lineages, pipelines
from engine.values.epoch_report import EpochReport

LOG = logging.getLogger(__name__)
ROUTER = APIRouter(prefix="/runs/{job}/{generation}", tags=["runs"], include_in_schema=False)


Generation = Annotated[int, Path(ge=0, le=2**31)]


class Message(Body):
    """A message of a driver. Unknown keys are ignored: a driver may be newer than its control plane."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Hello(Message):
    """First message."""

    nonce: str = Field(repr=False)
    pid: int
    wire: int = Field(default=1, description="The version of what it says; those from before versions do not say it.")


class Late(Message):
    """Late rows of an epoch."""

    lineage: str
    epoch: int
    sinks: dict[str, tuple[tuple[int, int], ...]] = Field(
        description="For each sink, the minutes since 1970, from one up to another."
    )


class Heartbeat(Message):
    """Periodic message with the epochs that were committed since the last response."""

    state: Literal["starting", "running", "stopping"]
    reports: tuple[EpochReport, ...] = ()
    late: tuple[Late, ...] = Field(default=(), description="What came late in epochs that are committed.")
    signs: int | None = Field(default=None, description="Grows whenever the work shows that it makes progress.")
    step: str | None = Field(default=None, max_length=100, description="What the start is at.")
    wire: int = Field(default=1, description="The version of what it says, as in the hello.")
    usage: dict[str, ProcessUsage] | None = Field(
        default=None, description="What the run uses of the machine, by the role of its processes, when it has looked."
    )
    shared_java: SharedWith | None = Field(
        default=None, description="The Java that it shares, when it has looked; null where it has its own."
    )


class Fault(Message):
    """Reason of a driver's failure."""

    code: str
    message: str
    hint: str | None = None
    cause: str | None = None

    def to_failure(self) -> Failure:
        """Return the failure in the form of the store."""
        return Failure(self.code, self.message, self.hint, read_cause(self.cause))


class Farewell(Message):
    """Last message."""

    outcome: Literal["finished", "stopped", "failed"]
    error: Fault | None = None
    reports: tuple[EpochReport, ...] = ()
    late: tuple[Late, ...] = ()


class Answer(BaseModel):
    """Command to a driver. A superseded one ends at once."""

    orders: list[dict[str, str]] = []
    superseded: bool = False


@ROUTER.post("/hello")
def hello(job: str, generation: Generation, body: Hello, request: Request, context: ContextDep) -> Answer:
    """Register a driver; it may continue if it is the newest of its job."""
    _note_call(context, request, job, generation)
    with context.database.writing() as connection:
        run, status = _authenticated(connection, request, job, generation)
        runs.set_hello(connection, run, context.clock(), body.wire)
    return _answer(context, run, status)


@ROUTER.post("/heartbeat")
def heartbeat(job: str, generation: Generation, body: Heartbeat, request: Request, context: ContextDep) -> Answer:
    """Record that a driver is alive. Without news this only reads."""
    is_stranger = context.last_reports.last(job, generation) is None
    run, status = _note_call(context, request, job, generation)
    if body.usage is not None:
        usage = {role: body.usage[role] for role in get_args(ProcessRole) if role in body.usage}
        context.last_reports.record_usage(job, generation, usage, context.clock(), body.shared_java)
    context.last_reports.record_signs(job, generation, body.signs, context.clock())
    is_new = body.reports or body.late or _is_first(run, body) or _has_stepped(run, body)
    if is_new or _is_to_be_adopted(run, is_stranger=is_stranger):
        run, status = _write_news(job, generation, body, request, context, is_stranger=is_stranger)
    return _answer(context, run, status)


def _note_call(context: Context, request: Request, job: str, generation: int) -> tuple[Run, Status]:
    """Return the run that calls, and its job. Its liveness is recorded before anything is written: a full database is
    no fault of the run."""
    with context.database.reading() as connection:
        run, status = _authenticated(connection, request, job, generation)
    context.last_reports.record(job, generation, context.clock())
    return run, status


def _write_news(
    job: str, generation: int, body: Heartbeat, request: Request, context: Context, *, is_stranger: bool
) -> tuple[Run, Status]:
    """Write the news of a heartbeat; return the run that calls and its job, as they were before."""
    with context.database.writing() as connection:
        run, status = _authenticated(connection, request, job, generation)
        is_first = _is_first(run, body)
        if _has_stepped(run, body):
            runs.set_step(connection, run, body.step)
        if is_first and status.generation == generation:
            runs.set_running(connection, run, context.clock())
        committed = _advance(connection, run, status, body.reports, context)
        _note_late(connection, run, status, body.late)
        is_adopted = _is_to_be_adopted(run, is_stranger=is_stranger)
        if is_adopted:
            adopt(connection, run, body.wire, context.clock())
    _tell(context, run, committed, is_first=is_first)
    context.changes.notify(run.pipeline_id)
    if is_first or is_adopted:
        context.wake()
    return run, status


def _is_to_be_adopted(run: Run, *, is_stranger: bool) -> bool:
    """Whether an earlier control plane has registered the run, and its protocol version was not checked yet; or it has
    a version that this control plane, which it calls for the first time, does not support."""
    return run.wire is None or (is_stranger and not is_spoken(run.wire))


def _is_first(run: Run, body: Heartbeat) -> bool:
    return body.state == "running" and run.running_at is None


def _has_stepped(run: Run, body: Heartbeat) -> bool:
    return body.step is not None and body.step != run.step


@ROUTER.post("/goodbye")
def goodbye(job: str, generation: Generation, body: Farewell, request: Request, context: ContextDep) -> Answer:
    """Record the end of a driver."""
    _note_call(context, request, job, generation)
    context.last_reports.record_signs(job, generation, None, context.clock())
    with context.database.writing() as connection:
        run, status = _authenticated(connection, request, job, generation)
        committed = _take_leave(connection, run, status, body, context)
    _tell(context, run, committed)
    context.changed(run.pipeline_id)
    return _answer(context, run, status)


def hear_left_goodbye(context: Context, run: Run) -> bool:
    """Process the exit message that a driver has left because no control plane answered; return whether there was
    one."""
    lock = context.directory.driver_lock(run.pipeline_id)
    if (content := left_goodbye(lock, run.generation)) is None:
        return False
    try:
        body = Farewell.model_validate(content)
    except ValidationError as error:
        LOG.warning("the last word of run %s of %s says nothing: %s", run.generation, run.job_id, error)
        return False
    with context.database.writing() as connection:
        if (call := read_call(connection, run.job_id, run.generation)) is None:
            return False
        stored, status = call
        committed = _take_leave(connection, stored, status, body, context)
    forget_goodbye(lock, run.generation)
    _tell(context, stored, committed)
    context.changes.notify(run.pipeline_id)
    return True


def _take_leave(
    connection: Connection, run: Run, status: Status, body: Farewell, context: Context
) -> Sequence[EpochReport]:
    """Record how a run has ended, and its last reports; return the new epochs."""
    failure = None if body.error is None else body.error.to_failure()
    runs.set_goodbye(connection, run, Goodbye(body.outcome, failure))
    committed = _advance(connection, run, status, body.reports, context)
    _note_late(connection, run, status, body.late)
    return committed


def _authenticated(connection: Connection, request: Request, job: str, generation: int) -> tuple[Run, Status]:
    """Return the run that calls, if it shows its secret, and its job."""
    call = read_call(connection, job, generation)
    if call is None or not hmac.compare_digest(hash_key(bearer(request.headers)), call[0].key_hash):
        raise AuthError(
            "the run does not belong to this control plane", hint="a driver calls the control plane that started it"
        )
    return call


def _advance(
    connection: Connection, run: Run, status: Status, reports: tuple[EpochReport, ...], context: Context
) -> Sequence[EpochReport]:
    """Record the committed epochs; return the new ones. Reports that are repeated, or late, never move the progress
    back; those of a run that was replaced, or has ended, do not describe the current state."""
    if not reports or _is_replaced(run, status):
        return ()
    epochs = sorted(reports, key=lambda report: report.epoch)
    before, first, newest = status.progress, epochs[0], epochs[-1]
    if newest.lineage is not None and newest.lineage != before.lineage:
        parents = parents_of(context.directory.state(run.pipeline_id), newest.lineage)
        lineages.begun(connection, run, History(newest.lineage, first.epoch, parents), context.clock())
        if before.lineage is not None:
            checkpoints.forget(connection, run.job_id, since=first.epoch)
            before = Progress()
    checkpoints.add(connection, run.job_id, run.generation, epochs)
    new = [report for report in epochs if before.epoch is None or report.epoch > before.epoch]
    job_figures.count_epochs(connection, run.job_id, new)
    if before.epoch is None or newest.epoch >= before.epoch:
        jobs.advance(connection, run.job_id, advanced(before, newest))
    return new


def _note_late(connection: Connection, run: Run, status: Status, late: Sequence[Late]) -> None:
    """Store late rows, for the consumers of them."""
    if late and not _is_replaced(run, status):
        batches = [LateBatch(each.lineage, each.epoch, each.sinks) for each in late]
        late_batches.add(connection, run.pipeline_id, batches)


def _is_replaced(run: Run, status: Status) -> bool:
    """Whether the run reports about a state that no longer exists."""
    return status.generation != run.generation or run.ended_at is not None


def _tell(context: Context, run: Run, committed: Sequence[EpochReport], *, is_first: bool = False) -> None:
    """Emit traces of the start of a run that has come up, and of its epochs, if they are enabled."""
    if context.emit_span is None or not (is_first or committed):
        return
    with context.database.reading() as connection:
        name = pipelines.get(connection, run.pipeline_id).name
    if is_first:
        context.emit_span(start_span(name, run, context.clock(), context.requested_starts.take(run)))
    for report in committed:
        context.emit_span(epoch_span(name, run, report))


def _stop_of(context: Context, run: Run, status: Status) -> StopMode:
    """Return how the pipeline is to stop; looked up only if a run's commands depend on it."""
    if status.state is not State.CHECKPOINT_STOPPING:
        return "none"
    with context.database.reading() as connection:
        return pipelines.get(connection, run.pipeline_id).stop


def _answer(context: Context, run: Run, status: Status) -> Answer:
    is_old = _is_replaced(run, status)
    due = () if is_old else orders(status, _stop_of(context, run, status))
    return Answer(orders=[{"kind": "stop", "mode": order.mode} for order in due], superseded=is_old)
