"""Output of a pipeline's sinks: the newest rows, dead letters, late rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from engine.api.answers import Page
from engine.api.http.problems import ContextDep, refusals
from engine.control.context import Context
from engine.errors import NotReadBackError, SinkNotFoundError
from engine.store.jobs.records import read_record
from engine.store.pipelines import versions

if TYPE_CHECKING:
    from engine.compile import Program
    from engine.connectors.base import Table

ROUTER = APIRouter(prefix="/pipelines/{pipeline}/written", tags=["pipelines"], responses=refusals(400, 404, 409))
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


@ROUTER.get("")
def list_tables(pipeline: str, context: ContextDep) -> Page[WrittenTable]:
    """List the tables that the newest version of a pipeline writes."""
    program = _program(pipeline, context)
    return Page(data=[_listed(program, program.tables[name]) for name in _written(program)])


@ROUTER.get("/{table}")
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
