"""Where drivers call home: hello, heartbeats with what they have committed, goodbye. They leave with their orders."""

from __future__ import annotations

import hmac
from datetime import timedelta
from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from engine.api.authentication import bearer
from engine.api.context import Context, Given
from engine.errors import AuthError
from engine.jobs.controller import hash_key
from engine.jobs.instants import from_micros
from engine.jobs.orders import Order, orders
from engine.jobs.status import Committed, Failure, Goodbye, Progress, Run, Status
from engine.store import checkpoints, jobs, runs

ROUTER = APIRouter(prefix="/runs/{job}/{generation}", tags=["runs"], include_in_schema=False)


class Message(BaseModel):
    """Something a driver says. Unknown keys are let pass: a driver may be newer than its control plane."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Hello(Message):
    """The first word."""

    nonce: str = Field(repr=False)
    pid: int


class Report(Message):
    """A committed epoch; instants and durations in microseconds."""

    epoch: int
    rows_in: int
    rows_out: int
    rows_per_second: float
    duration: int
    watermark: int | None
    source_watermarks: dict[str, int | None] = {}
    late_rows: int = 0
    dropped_rows: int = 0
    rows_waiting: int | None = None
    state_changes: int = 0
    state_bytes: int = 0
    at: int

    def to_committed(self) -> Committed:
        """The epoch as the store keeps it."""
        return Committed(
            epoch=self.epoch,
            rows_in=self.rows_in,
            rows_out=self.rows_out,
            rows_per_second=self.rows_per_second,
            duration=timedelta(microseconds=self.duration),
            watermark=None if self.watermark is None else from_micros(self.watermark),
            sources={name: None if at is None else from_micros(at) for name, at in self.source_watermarks.items()},
            late_rows=self.late_rows,
            dropped_rows=self.dropped_rows,
            rows_waiting=self.rows_waiting,
            state_changes=self.state_changes,
            state_bytes=self.state_bytes,
            at=from_micros(self.at),
        )


class Heartbeat(Message):
    """Still here; these epochs were committed since the last answer."""

    state: Literal["starting", "running", "stopping"]
    reports: tuple[Report, ...] = ()


class Fault(Message):
    """Why a driver failed."""

    code: str
    message: str
    hint: str | None = None


class Farewell(Message):
    """The last word."""

    outcome: Literal["finished", "stopped", "failed"]
    error: Fault | None = None
    reports: tuple[Report, ...] = ()


class Answer(BaseModel):
    """What a driver is to do. A superseded one ends at once."""

    orders: list[dict[str, str]] = []
    superseded: bool = False


@ROUTER.post("/hello")
def hello(job: str, generation: int, body: Hello, request: Request, given: Given) -> Answer:
    """A driver is there; it may go on if it is the newest of its job."""
    with given.database.writing() as connection:
        run = _known(connection, request, job, generation)
        status = jobs.get(connection, job)
        runs.set_hello(connection, run, given.clock())
    return _answer(given, run, status)


@ROUTER.post("/heartbeat")
def heartbeat(job: str, generation: int, body: Heartbeat, request: Request, given: Given) -> Answer:
    """A driver is still there. Without news this only reads."""
    with given.database.reading() as connection:
        run = _known(connection, request, job, generation)
        status = jobs.get(connection, job)
    is_first = body.state == "running" and run.running_at is None
    if (is_first or body.reports) and status.generation == generation:
        with given.database.writing() as connection:
            if is_first:
                runs.set_running(connection, run, given.clock())
            _advance(connection, run, body.reports)
        given.changes.ring(run.pipeline_id)
    if is_first:
        given.wake()
    return _answer(given, run, status)


@ROUTER.post("/goodbye")
def goodbye(job: str, generation: int, body: Farewell, request: Request, given: Given) -> Answer:
    """A driver ends."""
    failure = None if body.error is None else Failure(body.error.code, body.error.message, body.error.hint)
    with given.database.writing() as connection:
        run = _known(connection, request, job, generation)
        status = jobs.get(connection, job)
        runs.set_goodbye(connection, run, Goodbye(body.outcome, failure))
        if status.generation == generation:
            _advance(connection, run, body.reports)
    given.changed(run.pipeline_id)
    return _answer(given, run, status)


def _known(connection: Connection, request: Request, job: str, generation: int) -> Run:
    """The run that calls, if it shows its secret."""
    run = runs.find(connection, job, generation)
    if run is None or not hmac.compare_digest(hash_key(bearer(request.headers)), run.key_hash):
        raise AuthError("this run is not known here", hint="only the control plane that started a driver hears it")
    return run


def _advance(connection: Connection, run: Run, reports: tuple[Report, ...]) -> None:
    """Write down what was committed. Reports that come twice, or late, move nothing back."""
    if not reports:
        return
    epochs = sorted((report.to_committed() for report in reports), key=lambda epoch: epoch.epoch)
    checkpoints.add(connection, run.job_id, run.generation, epochs)
    before, newest = jobs.get(connection, run.job_id).progress, epochs[-1]
    if before.epoch is None or newest.epoch >= before.epoch:
        watermark = newest.watermark or before.watermark
        jobs.advance(connection, run.job_id, Progress(newest.epoch, watermark, newest.sources))


def _answer(given: Context, run: Run, status: Status) -> Answer:
    given.heard.note(run.job_id, run.generation, given.clock())
    is_old = status.generation != run.generation or run.ended_at is not None
    found: tuple[Order, ...] = () if is_old else orders(status)
    return Answer(orders=[{"kind": "stop", "mode": order.mode} for order in found], superseded=is_old)
