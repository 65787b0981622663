"""Hand over from a pipeline to its reprocessed copy.

    POST   /pipelines/orders-again/hand-over    once it has caught up, orders continues with its query and its state
    GET    /pipelines/orders-again/hand-over    progress
    DELETE /pipelines/orders-again/hand-over    cancel; not once orders has the new state

The name, the targets, the versions, savepoints and events stay those of orders, so its readers need no change. The
steps are in `engine/control/upgrades/hand_over_steps.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from sqlalchemy import Connection

from engine.api import answers
from engine.api.http.change_request import ChangeRequest, ChangeRequestDep, DryRun, note, note_asking_run
from engine.api.http.problems import ContextDep, refusals
from engine.control.context import Context
from engine.control.upgrades.hand_over_plans import plan_hand_over, refuse_other_values
from engine.control.upgrades.hand_over_steps import let_go
from engine.errors import HandOverError, PipelineNotFoundError
from engine.jobs.actors import JobRecord
from engine.jobs.decisions import intend
from engine.jobs.decisions.spec import ShownUpgrade
from engine.store.jobs.records import read_record
from engine.store.pipelines import pipelines, reprocessings
from engine.store.pipelines.reprocessings import HandOverStep, Reprocessing
from engine.values.instants import to_micros

ROUTER = APIRouter(prefix="/pipelines/{pipeline}/hand-over", tags=["pipelines"], responses=refusals(404))

AcceptOtherValues = Annotated[
    bool,
    Query(
        description="Whether rows that change may be taken back with the values that were recomputed, also where "
        "the original had written others."
    ),
]


class HandOver(BaseModel):
    """The hand-over from a pipeline to its reprocessed copy."""

    pipeline: str = Field(description="The one whose name and places are handed over.")
    copy_name: str = Field(description="The one that has read its input again.")
    step: HandOverStep = Field(description="The current step; `apart` if no hand-over was requested.")
    since: int = Field(description="When it came there, or when the two began to stand still for each other.")
    waits_for: str | None = Field(description="What it waits for, or why it was given up.")
    savepoint_id: str | None = Field(description="The savepoint of the copy that the original goes on from.")
    version: int | None = Field(description="The version of the original that goes on from it.")
    says: list[str] = Field(description="Its effects, in sentences; only on request.")
    plan: answers.UpgradePlan | None = Field(
        description="The effect on the state of the copy and on the sinks; only on request."
    )


@dataclass(frozen=True, slots=True)
class _Plan:
    row: Reprocessing
    origin: JobRecord
    copy: JobRecord
    shown: ShownUpgrade
    says: tuple[str, ...]

    def answer(self, row: Reprocessing) -> HandOver:
        """Return the hand-over in the form of the API."""
        content = _shown(row, self.origin.pipeline.name, self.copy.pipeline.name)
        return content.model_copy(update={"says": list(self.says), "plan": answers.upgrade_plan(self.shown)})


@ROUTER.get("")
def get(pipeline: str, context: ContextDep) -> HandOver:
    """Show the progress of a hand-over."""
    with context.database.reading() as connection:
        row, origin, copy = _pair(connection, pipeline)
        return _shown(row, origin.pipeline.name, copy.pipeline.name)


@ROUTER.post("", status_code=202, response_model=HandOver, responses=refusals(400, 409, 412))
def hand_over(
    pipeline: str,
    request: ChangeRequestDep,
    context: ContextDep,
    dry_run: DryRun = False,
    accept_other_values: AcceptOtherValues = False,
) -> HandOver:
    """Hand over: once this pipeline has caught up, the original continues with its query and state, at exactly the next
    row. Idempotent."""
    with context.database.reading() as connection:
        row, origin, copy = _pair(connection, pipeline)
        request.check(copy.pipeline)
    if row.is_under_way or (row.step == "over" and _rests(copy)):
        return _shown(row, origin.pipeline.name, copy.pipeline.name)
    plan = _plan(context, row, origin, copy, accept_other_values=accept_other_values)
    if dry_run:
        return plan.answer(row)
    with context.database.writing() as connection:
        asked = ask(connection, context, request, plan)
    context.changed(copy.pipeline.id)
    return plan.answer(asked)


@ROUTER.delete("", responses=refusals(409, 412))
def stay_apart(pipeline: str, request: ChangeRequestDep, context: ContextDep) -> HandOver:
    """Cancel a hand-over: both pipelines continue as before. Refused once the original has the new state; then roll
    back."""
    with context.database.writing() as connection:
        row, origin, copy = _pair(connection, pipeline)
        request.check(copy.pipeline)
        if row.step in ("switching", "over"):
            raise HandOverError(
                f"pipeline {origin.pipeline.name!r} has the query and the state of {copy.pipeline.name!r} already",
                hint=f"`arroyo rollback {origin.pipeline.name}` brings back what it had",
            )
        asked = row
        if row.is_under_way:
            let_go(connection, context, row, origin, copy)
            asked = replace(row, step="apart", since=context.clock(), told=None, asked_by=request.who)
            reprocessings.put(connection, asked)
            for record in (origin, copy):
                told = f"hand-over from {origin.pipeline.name} to {copy.pipeline.name} cancelled"
                note(connection, context, request, record.pipeline.job_id, told)
    context.changed(row.origin_id)
    context.changed(row.copy_id)
    return _shown(asked, origin.pipeline.name, copy.pipeline.name)


def _plan(
    context: Context, row: Reprocessing, origin: JobRecord, copy: JobRecord, *, accept_other_values: bool
) -> _Plan:
    """Validate a hand-over completely; raise with the reason if it cannot be done."""
    for record in (origin, copy):
        refuse_one_at_rest(record)
        intend.refuse_while_restored(record.pipeline)
    with context.database.reading() as connection:
        refuse_another(connection, row)
    plan = plan_hand_over(context, origin.pipeline, copy.pipeline)
    if not accept_other_values:
        refuse_other_values(context, plan.spec, origin.pipeline.name)
    return _Plan(row, origin, copy, plan.shown, says(origin.pipeline.name, copy.pipeline.name, plan.told))


def ask(connection: Connection, context: Context, request: ChangeRequest, plan: _Plan) -> Reprocessing:
    """Store the request, unless one of the two pipelines was changed since it was planned."""
    row, origin, copy = _pair(connection, plan.copy.pipeline.id)
    if (row, origin.pipeline, copy.pipeline) != (plan.row, plan.origin.pipeline, plan.copy.pipeline):
        raise HandOverError("one of the two has changed in between", hint="send the request again")
    refuse_another(connection, row)
    asked = Reprocessing(
        row.copy_id,
        row.origin_id,
        "waiting",
        context.clock(),
        origin_version=origin.pipeline.version,
        copy_version=copy.pipeline.version,
        asked_by=request.who,
    )
    reprocessings.put(connection, asked)
    for record in (origin, copy):
        names = f"from {origin.pipeline.name} to {copy.pipeline.name}"
        told = f"hand-over {names} requested; it begins once {copy.pipeline.name} has caught up"
        note(connection, context, request, record.pipeline.job_id, told)
    if request.asking_run is not None:  # of the copy, from where the runs that follow of the original have it
        note_asking_run(connection, context, request, copy.pipeline)
    return asked


def _rests(record: JobRecord) -> bool:
    """Whether a pipeline is stopped, and no run is requested. A hand-over leaves the copy like this; if it runs again,
    it is to take over once more."""
    return record.pipeline.stop != "none" or record.status.state.is_terminal


def refuse_one_at_rest(record: JobRecord) -> None:
    """Refuse a hand-over if one of the two pipelines does not run."""
    if _rests(record):
        raise HandOverError(
            f"pipeline {record.pipeline.name!r} is {record.status.state}, but both pipelines must run",
            hint="start it first",
        )


def refuse_another(connection: Connection, row: Reprocessing) -> None:
    """Refuse a second hand-over with one of the same pipelines."""
    for pipeline_id in (row.origin_id, row.copy_id):
        for other in reprocessings.under_way(connection, pipeline_id):
            if other.copy_id != row.copy_id:
                name = pipelines.get(connection, other.copy_id).name
                raise HandOverError(
                    f"pipeline {name!r} has a pending hand-over", hint="wait until it is done, or cancel it"
                )


def _pair(connection: Connection, pipeline: str) -> tuple[Reprocessing, JobRecord, JobRecord]:
    copy = read_record(connection, pipeline)
    row = reprocessings.find(connection, copy.pipeline.id)
    if row is None:
        raise HandOverError(
            f"pipeline {copy.pipeline.name!r} does not read the input of another one again",
            hint="`arroyo reprocess PIPELINE --from T1 --into PREFIX` makes one that does",
        )
    try:
        return row, read_record(connection, row.origin_id), copy
    except PipelineNotFoundError:
        raise HandOverError(
            f"the pipeline whose input {copy.pipeline.name!r} reads again was deleted",
            hint="deploy the query without the prefix under the name that you want",
        ) from None


def _shown(row: Reprocessing, origin: str, copy: str) -> HandOver:
    return HandOver(
        pipeline=origin,
        copy_name=copy,
        step=row.step,
        since=to_micros(row.since),
        waits_for=row.told,
        savepoint_id=row.savepoint_id,
        version=row.new_version,
        says=[],
        plan=None,
    )


def says(origin: str, copy: str, told: Sequence[str]) -> tuple[str, ...]:
    """Describe the effects of a hand-over, in sentences."""
    return (
        f"once {copy} has caught up, both stop, and {copy} reads up to the exact position of {origin}",
        f"then {origin} runs the query of {copy} with its state, from the next row, and writes to its own sinks",
        f"{origin} is paused while two drivers start; {copy} stays stopped, and can be deleted",
        "rows that either pipeline has written are kept",
        f"the current state of {origin} is saved: `arroyo rollback {origin}` restores it",
        *told,
    )
