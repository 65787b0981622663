"""Stored user-defined functions. They are validated without running them."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from engine.api.answers import Page
from engine.api.connections.stored_rules import WhoDep, in_use
from engine.api.http.bodies import Body, Udf
from engine.api.http.depends import ContextDep
from engine.api.http.problems import complaints_of, refusals
from engine.control.context import Context
from engine.errors import EngineError, RequestTooLargeError, UdfSyntaxError
from engine.jobs import disk
from engine.store import stored
from engine.store.stored import StoredFunction
from engine.values.instants import to_micros

ROUTER = APIRouter(prefix="/udfs", tags=["connections"])


class FunctionPost(Body):
    """A file of functions for all pipelines."""

    prefix: str = Field(default="", max_length=256, description="A folder to show it in; no part of its name.")
    definition: str = Field(min_length=1, description="The source text of the file.")
    description: str = Field(default="", max_length=4096, description="What it is for.")
    language: Literal["python"] = "python"


class StoredUdf(BaseModel):
    """A file of functions that every script may call."""

    id: str
    prefix: str = Field(description="A folder to show it in; no part of its name.")
    name: str = Field(description="The first function of the file.")
    names: list[str] = Field(description="All functions of the file.")
    created_at: int = Field(description="When it was made.")
    updated_at: int = Field(description="The same as `created_at`: a function is deleted and created again.")
    definition: str = Field(description="The source text of the file.")
    description: str = Field(description="What it is for.")
    language: Literal["python"] = "python"
    dylib_url: str | None = Field(default=None, description="Null: nothing is compiled.")
    created_by: str = Field(description="Who made it.")
    used_by: list[str] = Field(description="The pipelines that use it.")


class UdfVerdict(BaseModel):
    """The function, or all errors in it."""

    udf_name: str | None = Field(description="The first function of the file; null when something is wrong.")
    udf_names: list[str] = Field(description="All functions of the file.")
    errors: list[str] = Field(description="Everything that is wrong.")


@ROUTER.get("")
def list_all(context: ContextDep) -> Page[StoredUdf]:
    """List the stored files of functions, by name."""
    with context.database.reading() as connection:
        used = stored.users(connection)
        return Page(data=[_shown(file, list(used.get(file.id, ()))) for file in stored.read(connection)])


@ROUTER.post("", responses=refusals(400, 409))
def create(body: FunctionPost, who: WhoDep, context: ContextDep) -> StoredUdf:
    """Store a file of functions for all pipelines. It is parsed, and not run."""
    names = _names(body.definition, context)
    file = StoredFunction(disk.make("udf"), body.prefix, names, body.definition, body.description, context.clock(), who)
    with context.database.writing() as connection:
        stored.add(connection, file)
    return _shown(file, [])


@ROUTER.post("/validate", responses=refusals(400))
def validate(body: Udf, context: ContextDep) -> UdfVerdict:
    """Parse a file of functions without running it."""
    try:
        names = _names(body.definition, context)
    except RequestTooLargeError:
        raise
    except EngineError as error:
        wrong = [complaint.message for complaint in complaints_of(error)]
        return UdfVerdict(udf_name=None, udf_names=[], errors=wrong)
    return UdfVerdict(udf_name=names[0], udf_names=list(names), errors=[])


@ROUTER.delete("/{udf}", status_code=204, responses=refusals(404, 409))
def remove(udf: str, context: ContextDep) -> None:
    """Delete a file of functions; refused while a pipeline uses it."""
    with context.database.writing() as connection:
        file = stored.find(connection, udf)
        if users := stored.users(connection).get(file.id):
            raise in_use("function", file.name, users)
        stored.remove(connection, file)


def _names(definition: str, context: Context) -> tuple[str, ...]:
    """The functions of a file, in order; refused with everything that is wrong with it."""
    from engine.udf.declared import name_files  # noqa: PLC0415 - the server is there sooner
    from engine.udf.reading import read_udfs  # noqa: PLC0415

    if len(definition.encode()) > context.max_query_bytes:
        raise RequestTooLargeError(
            f"the file is longer than {context.max_query_bytes} bytes",
            hint="the setting api.max_query_bytes is the limit",
        )
    names = tuple(function.name for function in read_udfs(name_files([definition])).by_name.values())
    if not names:
        raise UdfSyntaxError("the file defines no function", hint="mark one with @udf")
    return names


def _shown(file: StoredFunction, users: list[str]) -> StoredUdf:
    return StoredUdf(
        id=file.id,
        prefix=file.prefix,
        name=file.name,
        names=list(file.names),
        created_at=to_micros(file.created_at),
        updated_at=to_micros(file.created_at),
        definition=file.definition,
        description=file.description,
        created_by=file.created_by,
        used_by=users,
    )
