"""Previews: pipelines that write nowhere, show their rows, and end without viewers.

created                   runs for a minute after its start
viewed                    runs for a minute from then on
no viewer for a minute    stopped immediately, then deleted with all its files

Delete pipelines: each deletion is recorded before anything is removed, so that a restarted control plane completes
it.

    record   delete the pipeline's records, and record the pending removal of pl_1, in one transaction
    remove   its directories
    record   the removal is complete

A crash after the first step leaves directories that are invisible; the next start removes them.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import Field

from engine.api import answers
from engine.api.http.bodies import Body, Udf
from engine.api.http.change_request import (
    ChangeRequestDep,
    DryRun,
    again,
    answer_with,
    earlier_answer,
    facts_of,
    record_answer,
)
from engine.api.http.problems import ContextDep, refusals
from engine.api.pipelines.deployments import Deployment, apply_deployment
from engine.control.context import Context
from engine.control.deletions import LEASE, carry_out, mark_deleted, refuse_deletion
from engine.errors import UnsupportedRequestError
from engine.jobs import disk
from engine.jobs.decisions.effects import effects_of_delete
from engine.store.jobs.records import read_record
from engine.store.pipelines import previews
from engine.values.sink_prefix import only_shown

ROUTER = APIRouter(prefix="/pipelines", tags=["pipelines"])

_INTERVAL = 1_000_000
_OFTEN_ENOUGH = timedelta(seconds=10)
"""A view so soon after another one is not recorded."""


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
    return apply_deployment(disk.make("preview"), deployment, request, context, must_be_new=True, preview_until=until)


def keep_preview(context: Context, pipeline_id: str) -> None:
    """Extend the lease of a preview, if the pipeline is one, since a client reads it."""
    instant = context.clock() + LEASE
    with context.database.reading() as connection:
        until = previews.until(connection, pipeline_id)
    if until is None or until > instant - _OFTEN_ENOUGH:
        return
    with context.database.writing() as connection:
        previews.prolong(connection, pipeline_id, instant)


DELETIONS_ROUTER = APIRouter(prefix="/pipelines", tags=["pipelines"])


@DELETIONS_ROUTER.delete(
    "/{pipeline}",
    status_code=204,
    response_class=Response,
    responses={200: {"model": answers.Effects}, **refusals(404, 409, 412)},
)
def delete(
    pipeline: str,
    request: ChangeRequestDep,
    context: ContextDep,
    with_savepoints: Annotated[bool, Query(description="Whether its savepoints may go, too.")] = False,
    dry_run: DryRun = False,
) -> Response:
    """Delete a stopped pipeline with its state and logs. If it has savepoints, the request must allow to delete
    them."""
    with context.database.writing() as connection:
        if (answer := earlier_answer(connection, context, request)) is not None:
            return again(answer)
        record = read_record(connection, pipeline)
        request.check(record.pipeline)
        refuse_deletion(connection, record, with_savepoints=with_savepoints)
        if dry_run:
            return answer_with(effects_of_delete(record, facts_of(connection, context, record, is_deleted=True)))
        mark_deleted(connection, context, record)
        response = record_answer(connection, context, request, 204, None)
    carry_out(context, record, request.caller)
    return response
