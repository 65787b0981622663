"""Datasets of a pipeline and their column lineage, from the plan of its version."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from engine.api.http.depends import ContextDep
from engine.api.http.problems import refusals
from engine.control.context import Context
from engine.openlineage.datasets import Datasets, datasets_of
from engine.openlineage.names import JobName
from engine.store.pipelines import pipelines, versions

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


def version_datasets(context: Context, pipeline_id: str, name: str, number: int) -> Datasets:
    """Return the tables that a version of a pipeline reads and writes; refuse if that is no longer known."""
    from engine.compile import compile_script  # noqa: PLC0415 - the server is there sooner
    from engine.udf.declared import name_files  # noqa: PLC0415

    with context.database.reading() as connection:
        pipelines.get(connection, pipeline_id)
        spec = versions.get(connection, pipeline_id, number).spec
    program = compile_script(spec.query, udfs=name_files(spec.udfs), connections=context.connections)
    return datasets_of(program, JobName(context.lineage_namespace, name))
