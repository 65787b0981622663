"""Dry run: make a change in a transaction that is rolled back, and describe its effects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import Query, Response
from fastapi.responses import JSONResponse
from sqlalchemy import Connection

from engine.api import answers
from engine.control.context import Context
from engine.jobs.authors import JobRecord
from engine.jobs.decisions.effects import Effects, Facts, effects_of
from engine.jobs.decisions.spec import Pipeline, ShownUpgrade
from engine.store import savepoints
from engine.store.jobs import checkpoints, runs
from engine.store.jobs.records import read_record
from engine.store.partitions import certificates
from engine.store.partitions.certificates import Certificate
from engine.store.pipelines import versions
from engine.store.pipelines.lineages import voided_by_request

DryRun = Annotated[bool, Query(description="Whether only to say what the request would do, after all its checks.")]
STARTS = 5
"""Number of recent starts from which the duration of the next one is estimated."""


def rehearse(
    context: Context,
    change: Callable[[Connection], tuple[JobRecord | None, Pipeline]],
    upgrade: ShownUpgrade | None = None,
    rollback: answers.Rollback | None = None,
    remarks: Sequence[str] = (),
) -> Response:
    """Make a change, say what it comes to, and undo it; refused as the change itself would be. `change` gives what was
    there before, and what is desired afterwards; `upgrade` is what becomes of the state, where that is known. `change`
    may add to the `remarks`."""
    with context.database.rehearsing() as connection:
        before, after = change(connection)
        effects = (
            Effects(starts=after.stop == "none")
            if before is None
            else effects_between(connection, context, before, after)
        )
    return answer_with(effects, upgrade, rollback, remarks)


def answer_with(
    effects: Effects,
    upgrade: ShownUpgrade | None = None,
    rollback: answers.Rollback | None = None,
    remarks: Sequence[str] = (),
) -> Response:
    """Effects as they are sent."""
    shown = answers.effects(effects, upgrade).model_copy(update={"rollback": rollback, "remarks": list(remarks)})
    return JSONResponse(shown.model_dump(mode="json"))


def facts_of(connection: Connection, context: Context, record: JobRecord, *, is_deleted: bool = False) -> Facts:
    """Return the known facts of a pipeline's past."""
    reports = checkpoints.latest(connection, record.status.job_id, 1)
    return Facts(
        savepoints=savepoints.states(connection, record.pipeline.id).count("completed"),
        starts=runs.starts(connection, record.status.job_id, STARTS),
        upgrades=runs.upgrade_starts(
            connection, record.status.job_id, upgraded(connection, record.pipeline.id), STARTS
        ),
        epoch=reports[0].duration if reports else None,
        restored=_restored(connection, record.pipeline),
        certificates=_certificates(connection, context, record, is_deleted=is_deleted),
    )


def effects_between(connection: Connection, context: Context, before: JobRecord, after: Pipeline) -> Effects:
    """Return the effects of the change from a pipeline's earlier record to its desired state."""
    current = versions.get(connection, after.id, before.pipeline.version)
    following = versions.get(connection, after.id, after.version)
    written = read_record(connection, after.id)
    return effects_of(before, after, current, following, facts_of(connection, context, written))


def _restored(connection: Connection, pipeline: Pipeline) -> int | None:
    if pipeline.restore is None:
        return None
    origin = pipeline.restore.of_pipeline or pipeline.id
    return savepoints.get(connection, origin, pipeline.restore.savepoint_id).epoch


def _certificates(connection: Connection, context: Context, record: JobRecord, *, is_deleted: bool) -> tuple[str, ...]:
    """The gate certificates that a change voids, each with the run of the DAG that holds it."""
    voided = (
        certificates.would_void(connection, record.pipeline.id, None)
        if is_deleted
        else voided_by_request(connection, record, context.directory)
    )
    return certificate_names(voided)


def certificate_names(voided: Sequence[Certificate]) -> tuple[str, ...]:
    """Return the names of certificates, each with the DAG run that holds it."""
    return tuple(f"{certificate.id} of {certificate.dag_id} {certificate.run_id}" for certificate in voided)


def upgraded(connection: Connection, pipeline_id: str) -> list[int]:
    """The versions that took over the state of the one before; a fork's first had nothing to save."""
    return [number for number in versions.upgraded(connection, pipeline_id) if number > 1]
