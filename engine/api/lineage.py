"""What a pipeline reads and writes, and which columns come from which: read off the plan of its version."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from engine.api.context import ContextDep
from engine.api.problems import refusals
from engine.openlineage.datasets import Datasets, datasets_of
from engine.openlineage.names import JOB_NAMESPACE, JobName
from engine.store import versions
from engine.store.records import read_record

ROUTER = APIRouter(prefix="/pipelines", tags=["pipelines"])


class Lineage(Datasets):
    """The datasets of a version, as OpenLineage writes them."""

    pipeline_id: str = Field(description="The pipeline.")
    version: int = Field(description="The version whose plan it is: the newest.")
    namespace: str = Field(description="The namespace of the job in OpenLineage.")
    name: str = Field(description="What the job is called there.")


@ROUTER.get("/{pipeline}/lineage", responses=refusals(400, 404))
def show_lineage(pipeline: str, context: ContextDep) -> Lineage:
    """Show what a pipeline reads and writes, and which columns each column that it writes comes from, and how."""
    from engine.compile import compile_script  # noqa: PLC0415 - the server is there sooner
    from engine.udf.declared import name_files  # noqa: PLC0415

    with context.database.reading() as connection:
        record = read_record(connection, pipeline)
        version = versions.get(connection, record.pipeline.id, record.pipeline.version)
    program = compile_script(version.spec.query, udfs=name_files(version.spec.udfs), connections=context.connections)
    job = JobName(JOB_NAMESPACE, record.pipeline.name)
    datasets = datasets_of(program, job)
    return Lineage(
        pipeline_id=record.pipeline.id,
        version=version.number,
        namespace=job.namespace,
        name=job.name,
        inputs=datasets.inputs,
        outputs=datasets.outputs,
    )
