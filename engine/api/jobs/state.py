"""Inspect the state of a pipeline on disk, without Spark, while its job runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse

from engine.api import answers
from engine.api.http.problems import ContextDep, refusals
from engine.jobs.processes.probes import RowsOrder
from engine.store.jobs.records import read_record
from engine.store.pipelines import versions

ROUTER = APIRouter(prefix="/pipelines/{pipeline}/state", tags=["pipelines"], responses=refusals(404))


@ROUTER.get("", response_model=answers.StateSummary, responses=refusals(400, 409))
def get(
    pipeline: str,
    context: ContextDep,
    count: Annotated[bool, Query(description="Count rows however much state there is, which reads all of it.")] = False,
) -> Response:
    """Show the state of the newest committed epoch. Unknown values are null, and `unknown` has the reason."""
    from engine.inspection.summary import summarize_state, summary_to_json  # noqa: PLC0415 - the server is there sooner
    from engine.udf.declared import name_files  # noqa: PLC0415

    with context.database.reading() as connection:
        record = read_record(connection, pipeline)
        version = versions.get(connection, record.pipeline.id, record.pipeline.version)
    summary = summarize_state(
        context.directory.state(record.pipeline.id),
        counts_all=count,
        udfs=name_files(version.spec.udfs),
        connections=context.connections,
    )
    return JSONResponse({**summary_to_json(summary), "name": record.pipeline.name})


@ROUTER.get("/rows", responses=refusals(400, 409))
def read_rows(
    pipeline: str,
    context: ContextDep,
    operator: Annotated[str, Query(max_length=256, description="The id of the operator, as the state shows it.")],
    key: Annotated[
        list[str] | None,
        Query(max_length=16, description="Show only rows with this value in this column: `COLUMN=VALUE`."),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> answers.Page[answers.StateRow]:
    """Show rows of an operator's state in the newest committed epoch. A separate process reads them, which takes some
    seconds if it needs Spark. One request is processed at a time."""
    from engine.inspection.row_names import refuse_without_value  # noqa: PLC0415 - the server is there sooner
    from engine.udf.declared import name_files  # noqa: PLC0415

    refuse_without_value(key or ())
    with context.database.reading() as connection:
        record = read_record(connection, pipeline)
        version = versions.get(connection, record.pipeline.id, record.pipeline.version)
    udfs = [(file.name, file.text) for file in name_files(version.spec.udfs)]
    directory = str(context.directory.state(record.pipeline.id))
    order = RowsOrder(directory, operator, key or (), limit + 1, udfs, context.connections)
    rows = context.read_state_rows(order)
    return answers.Page(data=[answers.StateRow(**row) for row in rows[:limit]], has_more=len(rows) > limit)
