"""Jobs: their state and progress."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from sqlalchemy import BigInteger, Column, Connection, Integer, Table, Text, and_, bindparam, insert, select
from sqlalchemy import update as update_rows

from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import Failure, Progress, Status, read_cause
from engine.store.columns import Instant, Instants, RowValues, SinkFigures, Watermarks
from engine.store.database import METADATA

JOBS = Table(
    "jobs",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("pipeline_id", Text, nullable=False, index=True),
    Column("state", Text, nullable=False, index=True),
    Column("since", Instant, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("version", Integer),
    Column("parallelism", Integer),
    Column("restarts_done", Integer, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("retry_at", Instant),
    Column("running_since", Instant),
    Column("started_at", Instant),
    Column("finished_at", Instant),
    Column("failure_code", Text),
    Column("failure_message", Text),
    Column("failure_hint", Text),
    Column("epoch", BigInteger),
    Column("watermark", Instant),
    Column("sources", Watermarks, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("lineage", Text),
    Column("failure_cause", Text),
    Column("outages", Integer, nullable=False),
    Column("restarts", Integer, nullable=False),
    Column("restart_code", Text),
    Column("sinks", SinkFigures),
    Column("failure_times", Instants),
)


_PROGRESS = ("epoch", "watermark", "sources", "lineage", "sinks")
_ADVANCE = (
    update_rows(JOBS).where(JOBS.c.id == bindparam("of_job")).values({name: bindparam(name) for name in _PROGRESS})
)


def add(connection: Connection, status: Status) -> None:
    """Store a new job."""
    connection.execute(insert(JOBS).values({"id": status.job_id, **_row(status), **_progress(status.progress)}))


def get(connection: Connection, job_id: str) -> Status:
    """Return an existing job."""
    return from_row(connection.execute(select(JOBS).where(JOBS.c.id == job_id)).mappings().one())


def stages(connection: Connection, pipeline_ids: Collection[str]) -> Mapping[str, tuple[str, int]]:
    """Return the state of each existing job of these pipelines and the number of its newest run."""
    ids, found = sorted(pipeline_ids), dict[str, tuple[str, int]]()
    for first in range(0, len(ids), 500):  # there is a limit to what one statement names
        some = JOBS.c.pipeline_id.in_(ids[first : first + 500])
        rows = connection.execute(select(JOBS.c.pipeline_id, JOBS.c.state, JOBS.c.generation).where(some))
        found |= {row.pipeline_id: (row.state, row.generation) for row in rows}
    return found


def update(connection: Connection, before: Status, after: Status) -> bool:
    """Write a changed status; return False if it was changed since it was read. Progress is written only if it differs,
    since drivers advance it without a new revision."""
    values = _row(replace(after, revision=before.revision + 1))
    if after.progress != before.progress:
        values = {**values, **_progress(after.progress)}
    same = and_(JOBS.c.id == before.job_id, JOBS.c.revision == before.revision)
    return connection.execute(update_rows(JOBS).where(same).values(values)).rowcount == 1


def advance(connection: Connection, job_id: str, progress: Progress) -> None:
    """Write the progress of a job."""
    connection.execute(_ADVANCE, {"of_job": job_id, **_progress(progress)})


def raise_epoch(connection: Connection, job_id: str, lineage: str, epoch: int) -> None:
    """Record that a job has reached an epoch of its lineage, unless it is further; its watermarks stay."""
    is_behind = and_(JOBS.c.id == job_id, JOBS.c.lineage == lineage, JOBS.c.epoch < epoch)
    connection.execute(update_rows(JOBS).where(is_behind).values(epoch=epoch))


def from_row(row: RowValues) -> Status:
    """Return the status of a row of the table."""
    return Status(
        job_id=row["id"],
        pipeline_id=row["pipeline_id"],
        state=State(row["state"]),
        since=row["since"],
        created_at=row["created_at"],
        generation=row["generation"],
        version=row["version"],
        parallelism=row["parallelism"],
        restarts_done=row["restarts_done"],
        failures=row["failures"],
        retry_at=row["retry_at"],
        running_since=row["running_since"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        outages=row["outages"],
        failure_times=row["failure_times"],
        restarts=row["restarts"],
        restart_code=row["restart_code"],
        failure=read_failure(row),
        progress=Progress(row["epoch"], row["watermark"], row["sources"], row["lineage"], row["sinks"]),
        revision=row["revision"],
    )


def read_failure(row: RowValues) -> Failure | None:
    """Return the failure in a row that may have one."""
    if row["failure_code"] is None:
        return None
    cause = read_cause(row["failure_cause"])
    return Failure(row["failure_code"], row["failure_message"], row["failure_hint"], cause)


def _progress(progress: Progress) -> Mapping[str, object]:
    return {
        "epoch": progress.epoch,
        "watermark": progress.watermark,
        "sources": progress.sources,
        "lineage": progress.lineage,
        "sinks": progress.sinks,
    }


def _row(status: Status) -> Mapping[str, object]:
    return {
        "pipeline_id": status.pipeline_id,
        "state": status.state.value,
        "since": status.since,
        "created_at": status.created_at,
        "generation": status.generation,
        "version": status.version,
        "parallelism": status.parallelism,
        "restarts_done": status.restarts_done,
        "failures": status.failures,
        "retry_at": status.retry_at,
        "running_since": status.running_since,
        "started_at": status.started_at,
        "finished_at": status.finished_at,
        "failure_code": status.failure and status.failure.code,
        "failure_message": status.failure and status.failure.message,
        "failure_hint": status.failure and status.failure.hint,
        "failure_cause": status.failure and status.failure.declared_cause,
        "outages": status.outages,
        "failure_times": status.failure_times,
        "restarts": status.restarts,
        "restart_code": status.restart_code,
        "revision": status.revision,
    }
