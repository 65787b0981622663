"""Limit concurrent previews. Each preview has its own driver, and production pipelines take precedence.

new                          counted until its job has stopped
stopped                      not counted; its rows can be read for a while
stopped, started again       counted from then on, and refused if the limit is reached
"""

from __future__ import annotations

from sqlalchemy import Connection

from engine.control.context import Context
from engine.errors import PreviewsBusyError
from engine.jobs import disk
from engine.jobs.actors import JobRecord
from engine.jobs.decisions.intend import is_settled
from engine.jobs.decisions.spec import Pipeline
from engine.jobs.decisions.status import Status
from engine.openlineage.runs import ParentRun, run_id
from engine.store.jobs import runs
from engine.store.jobs.records import read_each
from engine.store.partitions.certificates import Certificate
from engine.store.pipelines import previews


def refuse_further_preview(connection: Connection, context: Context) -> None:
    """Refuse another preview if the limit of running ones is reached."""
    records = read_each(connection, previews.ids(connection))
    running = sum(_has_driver(record.pipeline, record.status) for record in records)
    if running >= context.previews_at_once:
        raise PreviewsBusyError(
            f"{running} previews run already, and {context.previews_at_once} may at once",
            hint="stop one, or wait: a preview ends when no client reads it; the setting preview.at_once is the limit",
        )


def refuse_preview_again(connection: Connection, record: JobRecord, changed: Pipeline, context: Context) -> None:
    """Refuse a change that would restart a stopped preview if the limit is reached."""
    was_at_rest = not _has_driver(record.pipeline, record.status)
    if was_at_rest and _has_driver(changed, record.status) and is_preview(connection, changed):
        refuse_further_preview(connection, context)


def is_preview(connection: Connection, pipeline: Pipeline) -> bool:
    """Whether a pipeline is a preview. The database is asked only about names of previews."""
    return disk.is_id(pipeline.name, "preview") and previews.until(connection, pipeline.id) is not None


def _has_driver(pipeline: Pipeline, status: Status) -> bool:
    """Whether there is a driver, or one will start since a run is desired."""
    return not status.state.is_terminal or (pipeline.stop == "none" and not is_settled(pipeline, status))


def run_behind(
    connection: Connection, namespace: str, record: JobRecord, certificate: Certificate | None
) -> ParentRun | None:
    """Return the run of a certificate; None if it is no longer stored."""
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
