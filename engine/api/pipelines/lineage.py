"""Datasets of a pipeline and their column lineage, from the plan of its version."""

from __future__ import annotations

import json

from fastapi import APIRouter
from pydantic import Field
from sqlalchemy import Connection

from engine.api.http.change_request import STARTS, certificate_names, upgraded
from engine.api.http.problems import ContextDep, refusals
from engine.changes.show import with_expected
from engine.changes.verdict import Expected, of_restart, of_upgrade
from engine.control.lineage_events.events import version_datasets
from engine.jobs.decisions.spec import ShownUpgrade
from engine.openlineage.datasets import Datasets
from engine.store.jobs import checkpoints, runs
from engine.store.jobs.records import read_record
from engine.store.partitions import certificates
from engine.store.pipelines import pipelines

ROUTER = APIRouter(prefix="/pipelines", tags=["pipelines"])


class Lineage(Datasets):
    """Datasets of a version in OpenLineage's format."""

    pipeline_id: str = Field(description="The pipeline.")
    version: int = Field(description="The version whose plan it is: the newest.")
    namespace: str = Field(description="The namespace of the job in OpenLineage.")
    name: str = Field(description="What the job is called there.")


@ROUTER.get("/{pipeline}/lineage", responses=refusals(400, 404))
def show_lineage(pipeline: str, context: ContextDep) -> Lineage:
    """Show the sources and sinks of a pipeline, with column lineage."""
    with context.database.reading() as connection:
        pipeline_row = pipelines.get(connection, pipeline)
    datasets = version_datasets(context, pipeline_row.id, pipeline_row.name, pipeline_row.version)
    return Lineage(
        pipeline_id=pipeline_row.id,
        version=pipeline_row.version,
        namespace=context.lineage_namespace,
        name=pipeline_row.name,
        inputs=datasets.inputs,
        outputs=datasets.outputs,
    )


def with_expectations(
    connection: Connection, pipeline_id: str, shown: ShownUpgrade, *, is_other_query: bool
) -> ShownUpgrade:
    """Return the plan of a change with its expected effects, if it can be made and changes anything. `is_other_query`
    means that another state is built."""
    if shown.is_refused or json.loads(shown.content).get("is_same"):
        return shown
    expected = _expected(connection, pipeline_id, shown, is_other_query=is_other_query)
    return shown.with_texts(
        with_expected(shown.text, expected, "text"),
        with_expected(shown.markdown, expected, "markdown"),
        with_expected(shown.content, expected, "json"),
    )


def _expected(connection: Connection, pipeline_id: str, shown: ShownUpgrade, *, is_other_query: bool) -> Expected:
    record = read_record(connection, pipeline_id)
    voided = certificate_names(certificates.would_void_of(connection, pipeline_id, shown.repeated))
    if record.status.state.is_terminal:
        return Expected(None, "the job rests, and has no output that could pause", voided)
    job = record.status.job_id
    reports = checkpoints.latest(connection, job, 1)
    epoch, starts = reports[0].duration if reports else None, runs.starts(connection, job, STARTS)
    if not is_other_query:
        return of_restart(starts, epoch, voided)
    upgrades = runs.upgrade_starts(connection, job, upgraded(connection, pipeline_id), STARTS)
    return of_upgrade(upgrades, starts, epoch, voided)
