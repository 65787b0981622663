"""Pipelines: names, and the desired state of their jobs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Boolean, Column, Connection, Integer, Select, Table, Text, and_, delete, insert, or_, select
from sqlalchemy import update as update_rows
from sqlalchemy.exc import IntegrityError

from engine.errors import PipelineNotFoundError, StaleWriteError
from engine.jobs.decisions.spec import Pipeline, Restore, StopRequest
from engine.store.columns import Instant, RowValues
from engine.store.database import METADATA
from engine.store.pipelines import moves, reprocessings

PIPELINES = Table(
    "pipelines",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("job_id", Text, nullable=False, unique=True),
    Column("version", Integer, nullable=False),
    Column("parallelism", Integer, nullable=False),
    Column("stop", Text, nullable=False),
    Column("restarts_asked", Integer, nullable=False),
    Column("restart_now", Boolean, nullable=False),
    Column("restore_savepoint", Text),
    Column("restore_parallelism", Integer),
    Column("restore_replay", Boolean),
    Column("created_at", Instant, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("stopped_by", Text),
    Column("stopped_at", Instant),
    Column("asked_by", Text),
    Column("restore_save_as", Text),
    Column("restore_of_pipeline", Text),
    Column("tags", Text),
)


def add(connection: Connection, pipeline: Pipeline) -> bool:
    """Store a new pipeline; return False if the name is taken."""
    try:
        with connection.begin_nested():
            connection.execute(insert(PIPELINES).values(_row(pipeline)))
    except IntegrityError:
        return False
    return True


def find(connection: Connection, name: str) -> Pipeline | None:
    """Return the pipeline of that name."""
    row = connection.execute(select(PIPELINES).where(PIPELINES.c.name == name)).mappings().one_or_none()
    return None if row is None else from_row(row)


def names(connection: Connection) -> Mapping[str, str]:
    """Return the name of each pipeline, by its id."""
    rows = connection.execute(select(PIPELINES.c.id, PIPELINES.c.name))
    return {row.id: row.name for row in rows}


def get(connection: Connection, id_or_name: str) -> Pipeline:
    """Return the pipeline with that id, or else of that name."""
    same = or_(PIPELINES.c.id == id_or_name, PIPELINES.c.name == id_or_name)
    rows = connection.execute(select(PIPELINES).where(same)).mappings().all()
    for row in sorted(rows, key=lambda row: row["id"] != id_or_name):
        return from_row(row)
    raise not_found(id_or_name)


def not_found(id_or_name: str) -> PipelineNotFoundError:
    """Return the error for a pipeline that does not exist."""
    return PipelineNotFoundError(f"there is no pipeline {id_or_name!r}", hint="`arroyo list` shows the pipelines")


def from_oldest(query: Select[Any], after: Pipeline | None) -> Select[Any]:
    """Order the query from the oldest pipeline on, or continue it after a given one."""
    query = query.order_by(PIPELINES.c.created_at, PIPELINES.c.id)
    if after is None:
        return query
    later = PIPELINES.c.created_at > after.created_at
    same = and_(PIPELINES.c.created_at == after.created_at, PIPELINES.c.id > after.id)
    return query.where(or_(later, same))


def forking_from(connection: Connection, pipeline_id: str, savepoint_id: str | None = None) -> str | None:
    """Return the name of a pipeline that is about to start from a savepoint of that one, or from this savepoint of
    it."""
    of_it = PIPELINES.c.restore_of_pipeline == pipeline_id
    meant = of_it if savepoint_id is None else and_(of_it, PIPELINES.c.restore_savepoint == savepoint_id)
    return connection.execute(select(PIPELINES.c.name).where(meant).limit(1)).scalar_one_or_none()


def update(connection: Connection, pipeline: Pipeline, *, hands_over: bool = False) -> Pipeline:
    """Write a changed pipeline; raise if it was changed since it was read, while it moves to another control plane, and
    while it takes part in a hand-over other than `hands_over`."""
    moves.refuse_changes(connection, pipeline.id)
    if not hands_over:
        reprocessings.refuse_changes(connection, pipeline.id)
    newer = replace(pipeline, revision=pipeline.revision + 1)
    same = and_(PIPELINES.c.id == pipeline.id, PIPELINES.c.revision == pipeline.revision)
    if connection.execute(update_rows(PIPELINES).where(same).values(_row(newer))).rowcount != 1:
        raise StaleWriteError(f"pipeline {pipeline.name!r} has changed in between", hint="send the request again")
    return newer


def remove(connection: Connection, pipeline: Pipeline) -> None:
    """Delete a pipeline and everything that belongs to it."""
    connection.execute(delete(PIPELINES).where(PIPELINES.c.id == pipeline.id))


def from_row(row: RowValues) -> Pipeline:
    """Return the pipeline of a row of the table."""
    restore = None
    if row["restore_savepoint"] is not None:
        restore = Restore(
            row["restore_savepoint"],
            row["restore_parallelism"],
            row["restore_replay"],
            row["restore_save_as"],
            row["restore_of_pipeline"],
        )
    return Pipeline(
        id=row["id"],
        name=row["name"],
        job_id=row["job_id"],
        version=row["version"],
        parallelism=row["parallelism"],
        created_at=row["created_at"],
        stop=row["stop"],
        restarts_asked=row["restarts_asked"],
        restart_now=row["restart_now"],
        restore=restore,
        stop_request=None if row["stopped_by"] is None else StopRequest(row["stopped_by"], row["stopped_at"]),
        asked_by=row["asked_by"],
        revision=row["revision"],
        tags=json.loads(row["tags"] or "{}"),
    )


def _row(pipeline: Pipeline) -> Mapping[str, object]:
    restore = pipeline.restore
    return {
        "id": pipeline.id,
        "name": pipeline.name,
        "job_id": pipeline.job_id,
        "version": pipeline.version,
        "parallelism": pipeline.parallelism,
        "created_at": pipeline.created_at,
        "stop": pipeline.stop,
        "restarts_asked": pipeline.restarts_asked,
        "restart_now": pipeline.restart_now,
        "restore_savepoint": restore and restore.savepoint_id,
        "restore_parallelism": restore and restore.parallelism,
        "restore_replay": restore and restore.allow_replay,
        "restore_save_as": restore and restore.save_as,
        "restore_of_pipeline": restore and restore.of_pipeline,
        "revision": pipeline.revision,
        "stopped_by": pipeline.stop_request and pipeline.stop_request.by,
        "stopped_at": pipeline.stop_request and pipeline.stop_request.at,
        "asked_by": pipeline.asked_by,
        "tags": json.dumps(dict(pipeline.tags), sort_keys=True) if pipeline.tags else None,
    }
