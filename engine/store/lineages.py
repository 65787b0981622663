"""Where one history of a pipeline's state ends and another begins: what was reached is forgotten, and certificates that
stand on it are void. Both happen in the transaction that begins the new one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from engine.jobs.records import JobRecord
from engine.jobs.status import JobEvent, Run
from engine.store import certificates, checkpoints, events, savepoints, versions
from engine.store.certificates import Certificate

_NAMED = 20
"""As many certificates an event names; all of them are in the list of certificates."""


def is_state_given_up(connection: Connection, record: JobRecord) -> bool:
    """Whether somebody has asked for what gives up the state as it is: then nothing that it has reached is promised any
    more, although the run that has it may not have ended yet."""
    pipeline = record.pipeline
    if pipeline.restore is not None:
        return True
    return pipeline.version != record.status.version and versions.get(connection, pipeline.id, pipeline.version).force


def voided_by_request(connection: Connection, record: JobRecord) -> Sequence[Certificate]:
    """The certificates that go with what somebody has asked for and what is not done yet: a restore, or a version that
    gives up the state of another plan."""
    pipeline, restore = record.pipeline, record.pipeline.restore
    if restore is not None:
        epoch = savepoints.get(connection, pipeline.id, restore.savepoint_id).epoch
        return certificates.would_void(connection, pipeline.id, epoch)
    return certificates.would_void(connection, pipeline.id, None) if _gives_up_plan(connection, record) else ()


def begin(connection: Connection, before: JobRecord, at: datetime) -> None:
    """Forget the epochs of a job whose state is about to become another one, and void what that is known to void."""
    pipeline, generation = before.pipeline, before.status.generation
    checkpoints.forget(connection, pipeline.job_id)
    voided: Sequence[Certificate] = ()
    if pipeline.restore is not None:
        epoch = savepoints.get(connection, pipeline.id, pipeline.restore.savepoint_id).epoch
        voided = certificates.void(connection, pipeline.id, epoch, at)
    elif _gives_up_plan(connection, before):
        voided = certificates.void(connection, pipeline.id, None, at)
    _tell(connection, pipeline.job_id, generation, voided, at)


def begun(connection: Connection, run: Run, lineage: str | None, first_epoch: int, at: datetime) -> None:
    """A run has begun, or gone on with, a history at an epoch: void what stands on the same epochs of others."""
    voided = certificates.void_others(connection, run.pipeline_id, lineage, first_epoch, at)
    _tell(connection, run.job_id, run.generation, voided, at)


def _gives_up_plan(connection: Connection, record: JobRecord) -> bool:
    pipeline, version = record.pipeline, record.status.version
    if version is None or version == pipeline.version:
        return False
    wanted = versions.get(connection, pipeline.id, pipeline.version)
    return wanted.force and wanted.fingerprint != versions.get(connection, pipeline.id, version).fingerprint


def _tell(connection: Connection, job_id: str, generation: int, voided: Sequence[Certificate], at: datetime) -> None:
    if not voided:
        return
    names = [
        f"{certificate.dag_id} {certificate.run_id} (epoch {certificate.epoch}, past {certificate.past.isoformat()})"
        for certificate in voided[:_NAMED]
    ]
    more = f", and {len(voided) - _NAMED} more" if len(voided) > _NAMED else ""
    events.add(
        connection,
        JobEvent(
            job_id,
            at,
            "warn",
            f"{len(voided)} certificates of gates are void: {', '.join(names)}{more}",
            "gate.voided",
            "clear those runs once the pipeline has written their time again",
            generation,
        ),
    )
