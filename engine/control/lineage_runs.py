"""The run of a pipeline that has made the epoch of a certificate, by the id that OpenLineage was told."""

from __future__ import annotations

from sqlalchemy import Connection

from engine.jobs.records import JobRecord
from engine.openlineage.runs import ParentRun, run_id
from engine.store.jobs import runs
from engine.store.partitions.certificates import Certificate


def run_behind(
    connection: Connection, namespace: str, record: JobRecord, certificate: Certificate | None
) -> ParentRun | None:
    """The run that a certificate stands on; None where it is not kept any more."""
    if certificate is None:
        return None
    job_id = record.pipeline.job_id
    run = runs.find(connection, job_id, runs.of_epoch(connection, job_id, certificate.epoch, certificate.at))
    if run is None:
        return None
    return ParentRun(
        namespace=namespace,
        name=record.pipeline.name,
        run_id=run_id(job_id, run.generation, run.launched_at),
    )
