"""Upgrade plans: the effect of another query on a pipeline's state. Changes nothing."""

from __future__ import annotations

from dataclasses import replace

from fastapi import APIRouter, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from engine.api import answers
from engine.api.http.bodies import Body, Udf, udf_texts
from engine.api.http.problems import ContextDep, refusals
from engine.api.pipelines.deployments import Names
from engine.api.pipelines.lineage import with_expectations
from engine.control.plan_deployment import check_starts, plan_whole, starts_of
from engine.jobs.decisions import intend
from engine.jobs.decisions.spec import ShownUpgrade, Spec, Upgrade, is_bound_alike
from engine.store.jobs.records import read_record
from engine.store.pipelines import versions


class OtherQuery(Body):
    """Another query for a pipeline, with the same options for losses as a deployment."""

    query: str = Field(min_length=1, description="The SQL text.")
    udfs: tuple[str | Udf, ...] | None = Field(
        default=None, description="Files of Python functions that the query may use; those of the pipeline by default."
    )
    keep_state: Names = Field(
        default=(), description="Operators whose state stays although the rows before it have changed their meaning."
    )
    reset: Names = Field(default=(), description="Operators, sources and sinks that may lose their state or place.")
    hold_back: Names = Field(
        default=(),
        description="Operators with an added aggregate whose open windows are suppressed, instead "
        "of emitted with NULL.",
    )
    settings: dict[str, str] | None = None
    """Each request defines which of them it uses."""

    def to_spec(self, current: Spec) -> Spec:
        """Return the pipeline's version with this query; omitted fields keep their current value."""
        spec = replace(current, query=self.query)
        if self.udfs is not None:
            spec = replace(spec, udfs=udf_texts(self.udfs))
        return spec if self.settings is None else replace(spec, settings=self.settings)


ROUTER = APIRouter(prefix="/pipelines/{pipeline}", tags=["pipelines"], responses=refusals(404))


class PlanRequest(OtherQuery):
    """Another query for a pipeline, with the same options for losses as a deployment."""

    settings: dict[str, str] | None = Field(
        default=None,
        description="The settings of its runs; `start_from` sets where tables begin. The settings of the pipeline "
        "by default.",
    )


@ROUTER.post("/plan", response_model=answers.UpgradePlan, responses=refusals(400, 409))
def plan(pipeline: str, body: PlanRequest, context: ContextDep) -> Response:
    """Preview the effect of a query on the pipeline's state. Changes nothing. A deployment that loses something must
    name the id of this plan."""
    with context.database.reading() as connection:
        record = read_record(connection, pipeline)
        intend.refuse_while_restored(record.pipeline)  # else this would be the plan for the state that goes
        current = versions.get(connection, record.pipeline.id, record.pipeline.version)
    whole, planned = plan_whole(body.to_spec(current.spec), context)  # refuses what cannot be run, with every complaint
    spec = whole.spec
    state, wish = (
        context.directory.state(record.pipeline.id),
        Upgrade(body.keep_state, body.reset, hold_back=body.hold_back),
    )
    check_starts(context, state, spec, wish)
    shown = context.planner.upgrade(state, spec.query, spec.udfs, wish, starts_of(spec))
    if shown is not None:
        is_other = not is_bound_alike(current, planned)
        with context.database.reading() as connection:
            shown = with_expectations(connection, record.pipeline.id, shown, is_other_query=is_other)
    return JSONResponse(_answer(shown).model_dump(mode="json"))


def _answer(shown: ShownUpgrade | None) -> answers.UpgradePlan:
    if shown is None:
        nothing = "there is no state yet\n"
        return answers.UpgradePlan(
            id=None, is_refused=False, loses_nothing=True, text=nothing, markdown=nothing, plan={"verdicts": []}
        )
    return answers.upgrade_plan(shown)
