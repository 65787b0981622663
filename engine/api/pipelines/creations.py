"""Create pipelines, in the format of Arroyo's API."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import Field

from engine.api import answers
from engine.api.http.bodies import Tags, Udf
from engine.api.http.change_request import ChangeRequestDep
from engine.api.http.problems import ContextDep, refusals
from engine.api.pipelines.deployments import Deployment, Name, apply_deployment
from engine.api.pipelines.pipelines import Interval, JobSurroundings, Parallelism
from engine.errors import UnsupportedRequestError

ROUTER = APIRouter(prefix="/pipelines", tags=["pipelines"])

_INTERVAL = 10_000_000
"""Arroyo's default, since its clients expect a number."""


class PipelinePost(JobSurroundings):
    """A new pipeline."""

    name: Name = Field(description="What it is called; no other one may have this name.")
    query: str = Field(min_length=1, description="The SQL text.")
    udfs: tuple[Udf, ...] | None = Field(
        default=None, description="Files of Python functions that the query may use, all of them."
    )
    parallelism: Parallelism = Field(default=1, description="How many tasks run in parallel.")
    checkpoint_interval_micros: Interval | None = Field(
        default=None, description="The least time from one epoch to the next; 10 seconds when it is left out."
    )
    state_url: str | None = Field(default=None, description="Must be null: a new pipeline begins without a state.")
    tags: Tags | None = Field(default=None, description="Its labels, which group pipelines in lists.")

    def refuse_unsupported(self) -> None:
        """Refuse unsupported fields."""
        super().refuse_unsupported()
        if self.state_url is not None:
            raise UnsupportedRequestError(
                "a new pipeline begins without a state", hint="fork a savepoint to go on from it under another name"
            )


@ROUTER.post("", response_model=answers.DeployedPipeline, responses=refusals(400, 409, 412))
def create(body: PipelinePost, request: ChangeRequestDep, context: ContextDep) -> Response:
    """Create a pipeline. Refused if one of this name exists."""
    body.refuse_unsupported()
    deployment = Deployment(
        query=body.query,
        udfs=body.udfs,
        parallelism=body.parallelism,
        checkpoint_interval_micros=body.checkpoint_interval_micros or _INTERVAL,
        tags=body.tags,
    )
    return apply_deployment(body.name, deployment, request, context, must_be_new=True)
