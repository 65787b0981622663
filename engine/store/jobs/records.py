"""The store, as the controller uses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, Select, Table, and_, bindparam, not_, or_, select

from engine.errors import StaleWriteError
from engine.jobs.actors import JobRecord
from engine.jobs.decisions.spec import Pipeline, Version
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import JobEvent, Run, Status
from engine.jobs.disk import DataDirectory
from engine.store.columns import RowValues
from engine.store.database import Database
from engine.store.jobs import events, job_figures, jobs, runs
from engine.store.jobs.jobs import JOBS
from engine.store.jobs.runs import RUNS
from engine.store.pipelines import lineages, pipeline_secrets, pipelines, previews, versions
from engine.store.pipelines.pipelines import PIPELINES
from engine.store.savepoints import waiting_for_rest

_AT_ONCE = 500
"""Largest number of ids in one statement, which SQLite limits."""
_RESTING = [state.value for state in State if state.is_terminal]


@dataclass(frozen=True, slots=True)
class StoredRecords:
    """Pipelines, jobs and runs in a database."""

    database: Database
    directory: DataDirectory

    def active(self) -> Sequence[JobRecord]:
        """Return the jobs that are not stopped, and the stopped ones whose desired state has changed."""
        with self.database.reading() as connection:
            return _records(connection, _ACTIVE)

    def version(self, pipeline_id: str, number: int) -> Version:
        """Return a version of a pipeline, with `force` only until a run of it was up."""
        with self.database.reading() as connection:
            predecessors = versions.predecessors(connection, pipeline_id, number)
            return replace(read_version(connection, pipeline_id, number), predecessors=predecessors)

    def secrets(self, pipeline_id: str) -> Mapping[str, str]:
        """Return the secrets of a pipeline, by their names."""
        with self.database.reading() as connection:
            return pipeline_secrets.read(connection, self.database.vault, pipeline_id)

    def save(self, before: JobRecord, after: JobRecord, event: JobEvent | None) -> bool:
        """Write the differences, in one transaction, or nothing if another write came first."""
        try:
            with self.database.writing() as connection:
                self._save(connection, before, after)
                if event is not None:
                    events.add(connection, event)
        except StaleWriteError:
            return False
        return True

    def note_commit(self, job_id: str, lineage: str, epoch: int) -> None:
        """Record that an epoch of that lineage is committed, if no report has named it or a later one."""
        with self.database.writing() as connection:
            jobs.raise_epoch(connection, job_id, lineage, epoch)

    def set_process(self, run: Run, pid: int, born: str) -> None:
        """Record the process of a run."""
        with self.database.writing() as connection:
            runs.set_process(connection, run, pid, born)

    def _save(self, connection: Connection, before: JobRecord, after: JobRecord) -> None:
        if not _is_current(connection, before):
            raise StaleWriteError("what is desired of the job has changed in between")
        if after.pipeline != before.pipeline:
            pipelines.update(connection, after.pipeline)
        if after.status != before.status and not jobs.update(connection, before.status, after.status):
            raise StaleWriteError("the job has changed in between")
        if after.status.restarts > before.status.restarts and after.status.failure is not None:
            job_figures.count_restart(connection, after.status.job_id, after.status.failure.cause)
        if before.status.progress.epoch is not None and after.status.progress.epoch is None:
            lineages.begin(connection, before, after.status.since, self.directory)
        _save_run(connection, before.run, after.run)


def read_record(connection: Connection, id_or_name: str) -> JobRecord:
    """Return the record of the pipeline with that id, or else of that name."""
    records = [
        _record(*_parts(row, PIPELINES, JOBS, RUNS)) for row in connection.execute(_NAMED, {"asked": id_or_name})
    ]
    for record in sorted(records, key=lambda record: record.pipeline.id != id_or_name):
        return record
    raise pipelines.not_found(id_or_name)


def read_version(connection: Connection, pipeline_id: str, number: int) -> Version:
    """Return a version of a pipeline, with `force` and `upgrade` only until a run of it was up."""
    version = versions.get(connection, pipeline_id, number)
    if not version.force and version.upgrade is None:
        return version
    is_up = runs.was_up(connection, pipeline_id, number)
    return replace(version, force=version.force and not is_up, upgrade=None if is_up else version.upgrade)


def read_each(connection: Connection, pipeline_ids: Sequence[str]) -> Sequence[JobRecord]:
    """Return the records of these pipelines, as far as they exist."""
    some = [pipeline_ids[first : first + _AT_ONCE] for first in range(0, len(pipeline_ids), _AT_ONCE)]
    return [record for ids in some for record in _records(connection, _RECORDS.where(PIPELINES.c.id.in_(ids)))]


def read_named(connection: Connection, asked: Sequence[str]) -> Mapping[str, JobRecord]:
    """Return the records of pipelines by the requested names: an id, or else a name. Missing ones are left out."""
    some = [asked[first : first + _AT_ONCE] for first in range(0, len(asked), _AT_ONCE)]
    named = [_RECORDS.where(or_(PIPELINES.c.id.in_(part), PIPELINES.c.name.in_(part))) for part in some]
    records = [record for query in named for record in _records(connection, query)]
    by_name = {record.pipeline.name: record for record in records}
    found = by_name | {record.pipeline.id: record for record in records}
    return {name: found[name] for name in asked if name in found}


def read_page(
    connection: Connection, after: Pipeline | None, limit: int | None, *, with_previews: bool = True
) -> Sequence[JobRecord]:
    """Return the records of pipelines from the oldest on, or those after a given one; all of them without a limit."""
    wanted = _RECORDS if with_previews else _RECORDS.where(PIPELINES.c.id.not_in(previews.all_of_them()))
    return _records(connection, pipelines.from_oldest(wanted, after).limit(limit))


def read_call(connection: Connection, job_id: str, generation: int) -> tuple[Run, Status] | None:
    """Return a run and its job, which may have a newer run; None if the run never existed."""
    row = connection.execute(_CALL, {"job": job_id, "number": generation}).one_or_none()
    if row is None:
        return None
    job, run = _parts(row, JOBS, RUNS)
    return runs.from_row(run), jobs.from_row(job)


_RECORDS = select(PIPELINES, JOBS, RUNS).select_from(
    PIPELINES.join(JOBS, JOBS.c.id == PIPELINES.c.job_id).outerjoin(
        RUNS, and_(RUNS.c.job_id == JOBS.c.id, RUNS.c.generation == JOBS.c.generation, RUNS.c.ended_at.is_(None))
    )
)
# Made once: making a statement of so many columns takes longer than executing it.
_ACTIVE = _RECORDS.where(
    or_(
        JOBS.c.state.not_in(_RESTING),
        and_(JOBS.c.state == State.STOPPED.value, PIPELINES.c.stop == "none"),
        PIPELINES.c.restarts_asked > JOBS.c.restarts_done,
        PIPELINES.c.version != JOBS.c.version,
        PIPELINES.c.restore_savepoint.is_not(None),
    ),
    # the savepoint of its last epoch, or of the state before another version, comes before anything else
    not_(and_(JOBS.c.state.in_(_RESTING), waiting_for_rest())),
)
_NAMED = _RECORDS.where(or_(PIPELINES.c.id == bindparam("asked"), PIPELINES.c.name == bindparam("asked")))
_CALL = (
    select(JOBS, RUNS)
    .select_from(RUNS.join(JOBS, JOBS.c.id == RUNS.c.job_id))
    .where(RUNS.c.job_id == bindparam("job"), RUNS.c.generation == bindparam("number"))
)


def _records(connection: Connection, query: Select[Any], values: Mapping[str, str] | None = None) -> list[JobRecord]:
    """Return the records in one statement, whatever their number."""
    return [_record(*_parts(row, PIPELINES, JOBS, RUNS)) for row in connection.execute(query, values)]


def _record(pipeline: RowValues, job: RowValues, run: RowValues) -> JobRecord:
    is_open = run["job_id"] is not None
    return JobRecord(pipelines.from_row(pipeline), jobs.from_row(job), runs.from_row(run) if is_open else None)


def _parts(row: Row[Any], *tables: Table) -> list[RowValues]:
    """Return the columns of each table in a joined row, whose names may be the same."""
    values = iter(row)
    return [dict(zip(table.c.keys(), values, strict=False)) for table in tables]


def _is_current(connection: Connection, record: JobRecord) -> bool:
    """Whether the state that was decided on is still desired: a launch must not overtake a stop."""
    query = select(PIPELINES.c.revision).where(PIPELINES.c.id == record.pipeline.id)
    return connection.execute(query).scalar_one_or_none() == record.pipeline.revision


def _save_run(connection: Connection, before: Run | None, after: Run | None) -> None:
    """Store a run; a new generation closes the previous one."""
    if after is None:
        return
    if before is None or before.generation != after.generation:
        runs.add(connection, after)
        if before is not None:
            runs.end(connection, before.job_id, before.generation, after.launched_at)
    elif after.ended_at is not None:
        runs.end(connection, after.job_id, after.generation, after.ended_at)
