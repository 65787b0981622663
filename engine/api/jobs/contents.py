"""Content of a pipeline on disk, read while its job runs: its state, and the newest rows, dead letters and late rows
of its sinks."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from engine.api import answers
from engine.api.answers import Page
from engine.api.http.problems import ContextDep, refusals
from engine.control.context import Context
from engine.errors import NotReadBackError, SinkNotFoundError
from engine.jobs.processes.probes import RowsOrder
from engine.store.jobs.records import read_record
from engine.store.pipelines import versions

if TYPE_CHECKING:
    from engine.compile import Program
    from engine.connectors.base import Table


STATE_ROUTER = APIRouter(prefix="/pipelines/{pipeline}/state", tags=["pipelines"], responses=refusals(404))


@STATE_ROUTER.get("", response_model=answers.StateSummary, responses=refusals(400, 409))
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


@STATE_ROUTER.get("/rows", responses=refusals(400, 409))
def read_state_rows(
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
    from engine.inspection.rows import refuse_without_value  # noqa: PLC0415 - the server is there sooner
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


WRITTEN_ROUTER = APIRouter(
    prefix="/pipelines/{pipeline}/written", tags=["pipelines"], responses=refusals(400, 404, 409)
)
Role = Literal["rows", "dead letters", "late rows"]


class WrittenTable(BaseModel):
    """A table that a pipeline writes."""

    name: str = Field(description="What the script calls it.")
    connector: str = Field(description="Its connector.")
    role: Role = Field(description="What is in it.")
    sources: list[str] = Field(description="Of dead letters: the tables whose records they are.")
    unreadable: str | None = Field(description="Why what is in it cannot be shown; null when it can.")


class WrittenRows(Page[dict[str, Any]]):
    """Newest rows of a sink, newest last."""

    role: Role = Field(description="What they are.")
    left_out: str | None = Field(
        description="Why rows before these are not shown, though more were asked for; null where there are none."
    )
    replay: str | None = Field(
        description="Of dead letters: a script that reads their records again, to be mended and run; null where there "
        "is none."
    )


@WRITTEN_ROUTER.get("")
def list_tables(pipeline: str, context: ContextDep) -> Page[WrittenTable]:
    """List the tables that the newest version of a pipeline writes."""
    program = _program(pipeline, context)
    return Page(data=[_listed(program, program.tables[name]) for name in _written(program)])


@WRITTEN_ROUTER.get("/{table}")
def read_rows(
    pipeline: str, table: str, context: ContextDep, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> WrittenRows:
    """Show the newest rows that a sink has written to files of this machine, as JSON or Parquet. Only final rows are
    shown."""
    from engine.connectors.newest import newest_rows, place_of_rows  # noqa: PLC0415 - the server is there sooner
    from engine.sql.stored.checking import replay_script  # noqa: PLC0415 - the same

    program = _program(pipeline, context)
    written = {name.lower(): name for name in _written(program)}
    if table.lower() not in written:
        raise SinkNotFoundError(
            f"the pipeline has no sink {table!r}", hint=f"its sinks are {', '.join(sorted(written.values()))}"
        )
    sink = program.tables[written[table.lower()]]
    place = place_of_rows(sink)
    role = _role(program, sink.name)
    sources = [program.declared.get(name, program.tables[name]) for name in _sources(program, sink.name)]
    replay = replay_script(sink, place, sources) if role == "dead letters" else None
    newest = newest_rows(place, limit)
    return WrittenRows(data=newest.rows, role=role, left_out=newest.left_out, replay=replay)


def _program(pipeline: str, context: Context) -> Program:
    from engine.compile import compile_script  # noqa: PLC0415 - the server is there sooner
    from engine.udf.declared import name_files  # noqa: PLC0415 - the same

    with context.database.reading() as connection:
        record = read_record(connection, pipeline)
        version = versions.get(connection, record.pipeline.id, record.pipeline.version)
    udfs = name_files(version.spec.udfs)
    return compile_script(version.spec.query, udfs=udfs, connections=context.connections)


def _written(program: Program) -> list[str]:
    return sorted({*(write.table for write in program.writes), *program.dead_letter_tables})


def _listed(program: Program, table: Table) -> WrittenTable:
    from engine.connectors.newest import place_of_rows  # noqa: PLC0415 - the server is there sooner

    unreadable: str | None = None
    try:
        place_of_rows(table)
    except NotReadBackError as error:
        unreadable = error.message
    return WrittenTable(
        name=table.name,
        connector=table.connector,
        role=_role(program, table.name),
        sources=sorted(_sources(program, table.name)),
        unreadable=unreadable,
    )


def _sources(program: Program, table: str) -> Collection[str]:
    return [name for name in program.dead_letter_tables.get(table, ()) if program.tables[name].direction == "source"]


def _role(program: Program, table: str) -> Role:
    from engine.plan.nodes import LateRows  # noqa: PLC0415 - the server is there sooner
    from engine.plan.tree import walk  # noqa: PLC0415 - the same

    if table in program.dead_letter_tables:
        return "dead letters"
    writes = [write for write in program.writes if write.table == table]
    is_late = any(isinstance(node, LateRows) for write in writes for node in walk(write))
    return "late rows" if is_late else "rows"
