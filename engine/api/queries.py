"""Queries that are not deployed: what is wrong with them, or what their plan looks like."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from engine.api.context import ContextDep
from engine.api.pipelines import Udf
from engine.api.problems import Complaint, complaints_of
from engine.errors import EngineError, RequestTooLargeError

ROUTER = APIRouter(prefix="/pipelines", tags=["pipelines"])


class Question(BaseModel):
    """A query to look at."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    query: str
    udfs: tuple[str | Udf, ...] = ()


class Verdict(BaseModel):
    """The picture of the plan, or else all complaints."""

    graph: dict[str, Any] | None = None
    errors: list[Complaint] | None = None


@ROUTER.post("/validate_query", response_model_exclude_none=True)
def validate(body: Question, context: ContextDep) -> Verdict:
    """Plan a query and run nothing."""
    if len(body.query.encode()) > context.max_query_bytes:
        raise RequestTooLargeError(f"a query may have {context.max_query_bytes} bytes at most")
    try:
        planned = context.plan(body.query, [udf if isinstance(udf, str) else udf.definition for udf in body.udfs])
    except EngineError as refused:
        return Verdict(errors=complaints_of(refused))
    return Verdict(graph=json.loads(planned.graph))
