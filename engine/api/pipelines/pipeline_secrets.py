"""Names of a pipeline's secrets. Values are never shown."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field

from engine.api.answers import Page, micros
from engine.api.http.problems import ContextDep, refusals
from engine.store.pipelines import pipeline_secrets, pipelines

ROUTER = APIRouter(prefix="/pipelines/{pipeline}/secrets", tags=["pipelines"], responses=refusals(404))


class Secret(BaseModel):
    """A secret that a pipeline was deployed with; its value is never shown."""

    name: str = Field(description="By which its script names it.")
    set_at: int | None = Field(description="When it was given this value; null of what was set before that was noted.")


@ROUTER.get("")
def list_all(pipeline: str, context: ContextDep) -> Page[Secret]:
    """List the names of a pipeline's secrets, in order."""
    with context.database.reading() as connection:
        times = pipeline_secrets.times(connection, pipelines.get(connection, pipeline).id)
    return Page(data=[Secret(name=name, set_at=micros(at)) for name, at in times.items()])
