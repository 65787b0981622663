"""Rehearsals in responses."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from pydantic import BaseModel, Field

from engine.api.answers import micros
from engine.control.context import Context
from engine.jobs.processes.rehearsal_processes import folder_of
from engine.store.pipelines.rehearsals import Rehearsal as StoredRehearsal
from engine.store.pipelines.rehearsals import RehearsalState


class RehearsalFailure(BaseModel):
    """Reason why a rehearsal has no result."""

    code: str = Field(description="The code of the error.")
    message: str = Field(description="What is wrong.")
    hint: str | None = Field(description="What to do next.")


class Rehearsal(BaseModel):
    """A new query that is compared with the running one."""

    id: str
    pipeline_id: str = Field(description="Its pipeline, which is only read.")
    state: RehearsalState = Field(
        description="`waiting` for its turn, `running`, `done` once the rows are compared, `failed` when nothing was "
        "compared, `stopped` when it was called off."
    )
    step: str | None = Field(description="What it is at while it runs.")
    version: int | None = Field(description="The version of the pipeline that ran when it was asked for.")
    savepoint_id: str | None = Field(description="The savepoint that it goes on from; null is the newest epoch.")
    plan_id: str = Field(description="The plan by which the state is carried over.")
    creator: str | None = Field(description="Who has asked for it.")
    created_at: int = Field(description="When it was asked for.")
    started_at: int | None = Field(description="When it began to be played.")
    ended_at: int | None = Field(description="When it was over.")
    limit_micros: int = Field(description="How long it may be played.")
    differs: bool | None = Field(description="Whether any row differs; null when that is not known.")
    report: dict[str, Any] | None = Field(
        description="What was found: the rows that differ by sink, with examples, and between which positions of each "
        "table both queries have read."
    )
    text: str | None = Field(description="The report for people.")
    failure: RehearsalFailure | None = Field(description="Why nothing was compared.")


def show(stored: StoredRehearsal, context: Context) -> Rehearsal:
    """Return a rehearsal in the form of the API."""
    failure = None
    if stored.code is not None:
        failure = RehearsalFailure(code=stored.code, message=stored.message or "", hint=stored.hint)
    is_played = stored.state == "running"
    return Rehearsal(
        id=stored.id,
        pipeline_id=stored.pipeline_id,
        state=stored.state,
        step=folder_of(context.directory, stored.id).read_step() if is_played else None,
        version=stored.version,
        savepoint_id=stored.savepoint_id,
        plan_id=stored.plan_id,
        creator=stored.creator,
        created_at=micros(stored.created_at),
        started_at=micros(stored.started_at),
        ended_at=micros(stored.ended_at),
        limit_micros=stored.time_limit // timedelta(microseconds=1),
        differs=None if stored.report is None else bool(stored.report["differs"]),
        report=None if stored.report is None else dict(stored.report),
        text=stored.shown,
        failure=failure,
    )
