"""Validate a query without deploying it: its errors, or the graph of its plan."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from engine.api.answers import graph
from engine.api.connections.stored_text import with_stored
from engine.api.http.bodies import Body, Udf, udf_texts
from engine.api.http.depends import ContextDep
from engine.api.http.problems import Complaint, complaints_of, refusals
from engine.errors import EngineError, RequestTooLargeError
from engine.jobs.decisions.spec import Spec

ROUTER = APIRouter(prefix="/pipelines", tags=["pipelines"])


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


@ROUTER.post("/validate_query", responses=refusals(400))
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
