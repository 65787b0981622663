"""Completions for an editor: functions, and the options of tables."""

from __future__ import annotations

import types
from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from fastapi import APIRouter
from pydantic import BaseModel, Field

from engine.api.answers import graph
from engine.api.http.bodies import Body, Udf, udf_texts
from engine.api.http.problems import Complaint, ContextDep, complaints_of, refusals
from engine.connectors import offered_connectors
from engine.connectors.options import TableOptions
from engine.control.stored_objects import with_stored
from engine.errors import EngineError, RequestTooLargeError
from engine.formats import FORMATS
from engine.functions import AGGREGATES, FUNCTIONS, OVER, AggregateFunction, Function
from engine.jobs.decisions.spec import Spec
from engine.values.declared_settings import Setting
from engine.values.run_settings import HISTORY, RUN_SETTINGS
from engine.values.spark_settings import ALLOWED

ROUTER = APIRouter(tags=["connectors"])


class CallableName(BaseModel):
    """Name of a function or an aggregate."""

    name: str = Field(description="The name.")
    usage: str = Field(description="How it is called.")
    description: str = Field(description="What it gives.")


class OptionName(BaseModel):
    """Option of a `WITH` clause."""

    name: str = Field(description="The name; one with a dot needs quotes.")
    description: str = Field(description="What it is for.")
    choices: list[str] = Field(description="The values that it may have; empty where these are not few.")


class RunSettingName(BaseModel):
    """Setting of a pipeline's runs."""

    name: str = Field(description="The name.")
    description: str = Field(description="What it does.")
    accepts: str = Field(description="The values that it may have.")
    default: str = Field(description="Its default, in words.")
    choices: list[str] = Field(description="All its values; empty if there are many.")
    group: Literal["general", "history", "cluster"] = Field(description="The kind of runs that it is for.")


class Completions(BaseModel):
    """Completions for a script."""

    functions: list[CallableName] = Field(description="Whatever is called with brackets.")
    table_options: list[OptionName] = Field(description="The options that every table has.")
    connector_options: dict[str, list[OptionName]] = Field(description="Those of each connector, in any direction.")
    connector_formats: dict[str, list[str]] = Field(description="The formats that tables of each connector may have.")
    format_options: dict[str, list[OptionName]] = Field(description="Those of each format.")
    run_settings: list[RunSettingName] = Field(description="The settings of a pipeline's runs.")
    spark_settings: list[str] = Field(description="The settings of Spark that a pipeline may set by their own names.")


@ROUTER.get("/completions")
def list_completions() -> Completions:
    """List what the editor can complete: functions, and the options of tables, connectors and formats."""
    return _completions()


@cache
def _completions() -> Completions:
    offered = offered_connectors()
    return Completions(
        functions=sorted(_called(), key=lambda called: (called.name, called.usage)),
        table_options=list(_options(TableOptions)),
        connector_options={connector.name: _merged(*connector.options.values()) for connector in offered},
        connector_formats={connector.name: sorted(connector.formats) for connector in offered},
        format_options={
            form.name: [option for option in _options(form.options) if option.name != "format"] for form in FORMATS
        },
        run_settings=[_run_setting(declared) for declared in RUN_SETTINGS.values()],
        spark_settings=sorted(ALLOWED),
    )


def _run_setting(declared: Setting) -> RunSettingName:
    words = declared.kind.accepts.split(" or ")
    is_of_cluster = declared.is_of_cluster or declared.name == "state_url"
    return RunSettingName(
        name=declared.name,
        description=declared.about,
        accepts=declared.kind.accepts,
        default=declared.default,
        choices=words if all(word.isalpha() for word in words) and len(words) > 1 else [],
        group="cluster" if is_of_cluster else "history" if declared in HISTORY else "general",
    )


def _called() -> Iterator[CallableName]:
    declared: list[Function | AggregateFunction] = [*FUNCTIONS.values(), *AGGREGATES.values()]
    for function in declared:
        for name in (function.name, *function.aliases):
            usage = function.usage.replace(f"{function.name}(", f"{name}(")
            if name.isidentifier() and usage.startswith(f"{name}("):
                yield CallableName(name=name, usage=usage, description=function.doc)
    for ranking in OVER.values():
        yield CallableName(name=ranking.name, usage=ranking.usage, description=ranking.doc)


def _merged(*models: type[BaseModel]) -> list[OptionName]:
    """Return the options of all directions, each once."""
    return list({option.name: option for model in models for option in _options(model)}.values())


def _options(model: type[BaseModel]) -> Iterator[OptionName]:
    for name, info in model.model_fields.items():
        choices = _choices(info.annotation)
        yield OptionName(name=info.alias or name, description=info.description or "", choices=choices)


def _choices(annotation: Any) -> list[str]:
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _choices(inside[0])
    if origin is Literal:
        return [str(value) for value in inside]
    if origin in (Union, types.UnionType):
        return [choice for option in inside for choice in _choices(option)]
    return ["true", "false"] if annotation is bool else []


VALIDATE_QUERY_ROUTER = APIRouter(prefix="/pipelines", tags=["pipelines"])


class Question(Body):
    """A query to check."""

    query: str = Field(description="The SQL text.")
    udfs: tuple[str | Udf, ...] | None = Field(
        default=None, description="Files of Python functions that the query may use."
    )


class Verdict(BaseModel):
    """The graph of the plan, or all errors of the query."""

    graph: dict[str, Any] | None = Field(
        default=None, description="The plan, as nodes and edges; null when something is wrong."
    )
    errors: list[Complaint] = Field(default=[], description="Everything that is wrong.")


@VALIDATE_QUERY_ROUTER.post("/validate_query", responses=refusals(400))
def validate(body: Question, context: ContextDep) -> Verdict:
    """Plan a query without running it."""
    if len(body.query.encode()) > context.max_query_bytes:
        raise RequestTooLargeError(
            f"the query is longer than {context.max_query_bytes} bytes",
            hint="the setting api.max_query_bytes is the limit",
        )
    whole = with_stored(context, Spec(body.query, udf_texts(body.udfs or ())))
    try:
        with whole.places_as_sent():
            planned = context.planner.plan(whole.spec.query, whole.spec.udfs)
    except EngineError as error:
        return Verdict(errors=complaints_of(error))
    return Verdict(graph=graph(planned.graph, 1))
