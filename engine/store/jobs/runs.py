"""Runs: one row per driver process."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Column, ColumnElement, Connection, Integer, Table, Text, and_, func, insert, or_, select
from sqlalchemy import update as update_rows

from engine.jobs.decisions.status import Goodbye, Run
from engine.store.columns import Instant, RowValues
from engine.store.database import METADATA
from engine.store.jobs.checkpoints import CHECKPOINTS
from engine.store.jobs.jobs import read_failure
from engine.values.start_positions import StartStep

RUNS = Table(
    "runs",
    METADATA,
    Column("job_id", Text, primary_key=True),
    Column("generation", Integer, primary_key=True),
    Column("pipeline_id", Text, nullable=False),
    Column("key_hash", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("parallelism", Integer, nullable=False),
    Column("launched_at", Instant, nullable=False),
    Column("pid", Integer),
    Column("born", Text),
    Column("hello_at", Instant),
    Column("running_at", Instant),
    Column("ended_at", Instant),
    Column("outcome", Text),
    Column("failure_code", Text),
    Column("failure_message", Text),
    Column("failure_hint", Text),
    Column("failure_cause", Text),
    Column("step", Text),
    Column("wire", Integer),
)


def add(connection: Connection, run: Run) -> None:
    """Store a run that is about to be started."""
    connection.execute(
        insert(RUNS).values(
            job_id=run.job_id,
            generation=run.generation,
            pipeline_id=run.pipeline_id,
            key_hash=run.key_hash,
            version=run.version,
            parallelism=run.parallelism,
            launched_at=run.launched_at,
        )
    )


def find(connection: Connection, job_id: str, generation: int) -> Run | None:
    """Return the run with that number, if there was one."""
    row = connection.execute(select(RUNS).where(_same(job_id, generation))).mappings().one_or_none()
    return None if row is None else from_row(row)


def find_after(connection: Connection, job_id: str, generation: int) -> Run | None:
    """Return the run of a job that came after one, if there was one."""
    later = select(RUNS).where(RUNS.c.job_id == job_id, RUNS.c.generation > generation).order_by(RUNS.c.generation)
    row = connection.execute(later.limit(1)).mappings().one_or_none()
    return None if row is None else from_row(row)


def of_epoch(connection: Connection, job_id: str, epoch: int | None, at: datetime) -> int:
    """Return the number of the run that has made what was the newest epoch of a job at an instant. If the epoch is no
    longer stored, or a later run has made it again, return the run that was the newest then."""
    was_there = and_(RUNS.c.job_id == job_id, RUNS.c.launched_at <= at)
    is_maker = and_(RUNS.c.job_id == CHECKPOINTS.c.job_id, RUNS.c.generation == CHECKPOINTS.c.generation)
    made = select(RUNS.c.generation).join(CHECKPOINTS, is_maker).where(was_there, CHECKPOINTS.c.epoch == epoch)
    if epoch is not None and (number := connection.execute(made).scalar_one_or_none()) is not None:
        return int(number)
    newest = select(func.max(RUNS.c.generation)).where(was_there)
    return connection.execute(newest).scalar_one_or_none() or 0


def set_process(connection: Connection, run: Run, pid: int, born: str) -> None:
    """Record the process of a run."""
    connection.execute(update_rows(RUNS).where(_same(run.job_id, run.generation)).values(pid=pid, born=born))


def set_hello(connection: Connection, run: Run, at: datetime, wire: int) -> None:
    """Record that the driver has registered, and its protocol version."""
    connection.execute(update_rows(RUNS).where(_same(run.job_id, run.generation)).values(hello_at=at, wire=wire))


def set_wire(connection: Connection, run: Run, wire: int) -> None:
    """Record the protocol version of a driver that has registered with a previous control plane."""
    connection.execute(update_rows(RUNS).where(_same(run.job_id, run.generation)).values(wire=wire))


def set_step(connection: Connection, run: Run, step: str | None) -> None:
    """Record the step that the start of a run has reached."""
    connection.execute(update_rows(RUNS).where(_same(run.job_id, run.generation)).values(step=step))


def set_running(connection: Connection, run: Run, at: datetime) -> None:
    """Record that the driver runs its query."""
    connection.execute(update_rows(RUNS).where(_same(run.job_id, run.generation)).values(running_at=at))


def set_goodbye(connection: Connection, run: Run, goodbye: Goodbye) -> None:
    """Record the driver's exit message."""
    failure = goodbye.failure
    connection.execute(
        update_rows(RUNS)
        .where(_same(run.job_id, run.generation))
        .values(
            outcome=goodbye.outcome,
            failure_code=failure and failure.code,
            failure_message=failure and failure.message,
            failure_hint=failure and failure.hint,
            failure_cause=failure and failure.declared_cause,
        )
    )


def end(connection: Connection, job_id: str, generation: int, at: datetime) -> None:
    """Record that the process has certainly ended."""
    connection.execute(update_rows(RUNS).where(_same(job_id, generation)).values(ended_at=at))


def was_up(connection: Connection, pipeline_id: str, version: int) -> bool:
    """Whether any run of that version has got so far as to run its query: from then on the state is its own."""
    has_begun = or_(RUNS.c.running_at.is_not(None), RUNS.c.step == StartStep.FIRST_EPOCH.value)
    same = and_(RUNS.c.pipeline_id == pipeline_id, RUNS.c.version == version, has_begun)
    return connection.execute(select(RUNS.c.generation).where(same).limit(1)).first() is not None


def starts(connection: Connection, job_id: str, limit: int) -> Sequence[timedelta]:
    """Return how long the newest runs of a job took to start, without those that never started."""
    was_up = and_(RUNS.c.job_id == job_id, RUNS.c.running_at.is_not(None))
    query = select(RUNS.c.running_at, RUNS.c.launched_at).where(was_up).order_by(RUNS.c.generation.desc()).limit(limit)
    return [row.running_at - row.launched_at for row in connection.execute(query)]


def upgrade_starts(connection: Connection, job_id: str, versions: Sequence[int], limit: int) -> Sequence[timedelta]:
    """Return how long the newest first runs of these versions took to start."""
    firsts = select(func.min(RUNS.c.generation)).where(RUNS.c.job_id == job_id, RUNS.c.version.in_(versions))
    was_up = and_(
        RUNS.c.job_id == job_id,
        RUNS.c.generation.in_(firsts.group_by(RUNS.c.version)),
        RUNS.c.running_at.is_not(None),
    )
    query = select(RUNS.c.running_at, RUNS.c.launched_at).where(was_up).order_by(RUNS.c.generation.desc()).limit(limit)
    return [row.running_at - row.launched_at for row in connection.execute(query)]


def from_row(row: RowValues) -> Run:
    """Return the run of a row of the table."""
    return Run(
        job_id=row["job_id"],
        pipeline_id=row["pipeline_id"],
        generation=row["generation"],
        key_hash=row["key_hash"],
        version=row["version"],
        parallelism=row["parallelism"],
        launched_at=row["launched_at"],
        pid=row["pid"],
        born=row["born"],
        hello_at=row["hello_at"],
        running_at=row["running_at"],
        step=row["step"],
        wire=row["wire"],
        ended_at=row["ended_at"],
        goodbye=None if row["outcome"] is None else Goodbye(row["outcome"], read_failure(row)),
    )


def _same(job_id: str, generation: int) -> ColumnElement[bool]:
    return and_(RUNS.c.job_id == job_id, RUNS.c.generation == generation)
