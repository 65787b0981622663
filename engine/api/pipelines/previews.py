"""Previews: pipelines that write nowhere, show their rows, and end without viewers.

created                   runs for a minute after its start
viewed                    runs for a minute from then on
no viewer for a minute    stopped immediately, then deleted with all its files
"""

from __future__ import annotations

from datetime import timedelta

from fastapi import APIRouter, Response
from pydantic import Field

from engine.api import answers
from engine.api.http.bodies import Body, Udf
from engine.api.http.change_request import ChangeRequestDep
from engine.api.http.depends import ContextDep
from engine.api.http.problems import refusals
from engine.api.pipelines.deletions import delete_for_good
from engine.api.pipelines.deployments import Deployment, bring_about
from engine.control.context import Context
from engine.errors import UnsupportedRequestError
from engine.jobs import disk
from engine.jobs.authors import CONTROL_PLANE
from engine.jobs.decisions import intend
from engine.jobs.decisions.spec import StopRequest
from engine.jobs.decisions.states import State
from engine.store.jobs.records import read_record
from engine.store.pipelines import pipelines, previews
from engine.values.sink_prefix import only_shown

ROUTER = APIRouter(prefix="/pipelines", tags=["pipelines"])

LEASE = timedelta(seconds=60)
"""Lifetime of a preview without viewers."""
_INTERVAL = 1_000_000
_OFTEN_ENOUGH = timedelta(seconds=10)
"""A view so soon after another one is not recorded."""
_LONGEST_START = timedelta(minutes=10)
"""Longest start of a run before the preview is abandoned."""


class PreviewPost(Body):
    """A query to preview."""

    query: str = Field(min_length=1, description="The SQL text.")
    udfs: tuple[Udf, ...] | None = Field(
        default=None, description="Files of Python functions that the query may use, all of them."
    )
    enable_sinks: bool = Field(default=False, description="Must be false: a preview writes to no sink.")


@ROUTER.post("/preview", response_model=answers.DeployedPipeline, responses=refusals(400, 409, 412))
def preview(body: PreviewPost, request: ChangeRequestDep, context: ContextDep) -> Response:
    """Run a query without writing: each sink shows its rows instead, like a table with the connector `preview`. The
    preview is deleted a minute after the last client has read it, and lists do not show it."""
    if body.enable_sinks:
        raise UnsupportedRequestError(
            "a preview writes to no sink", hint="leave `enable_sinks` out, or deploy the pipeline"
        )
    deployment = Deployment(query=only_shown(body.query), udfs=body.udfs, checkpoint_interval_micros=_INTERVAL)
    until = context.clock() + LEASE
    return bring_about(disk.make("preview"), deployment, request, context, must_be_new=True, preview_until=until)


def keep_preview(context: Context, pipeline_id: str) -> None:
    """Somebody looks at a pipeline: if it is a preview, it is kept for a while."""
    instant = context.clock() + LEASE
    with context.database.reading() as connection:
        until = previews.until(connection, pipeline_id)
    if until is None or until > instant - _OFTEN_ENOUGH:
        return
    with context.database.writing() as connection:
        previews.prolong(connection, pipeline_id, instant)


def end_preview(context: Context, pipeline_id: str) -> None:
    """Stop a preview at which nobody looks, or delete it once it is at rest. One that is not up yet gets its minute."""
    with context.database.writing() as connection:
        record = read_record(connection, pipeline_id)
        now = context.clock()
        is_coming = record.status.state in (State.CREATED, State.SCHEDULING) and record.pipeline.stop == "none"
        if is_coming and now < record.pipeline.created_at + _LONGEST_START:
            previews.prolong(connection, pipeline_id, now + LEASE)
            return
        if not record.status.state.is_terminal and record.pipeline.stop != "immediate":
            by = StopRequest(CONTROL_PLANE, now)
            pipelines.update(connection, intend.ask_stop(record.pipeline, record.status, "immediate", by))
    if record.status.state.is_terminal:
        delete_for_good(context, pipeline_id, CONTROL_PLANE)
    else:
        context.changed(pipeline_id)
