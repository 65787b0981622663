"""Let a task wait for a person who approves or rejects a plan, like Airflow's human-in-the-loop operators.

The question contains the id of the plan. After the approval the task plans again, and continues only if the id is the
same: no other plan has been approved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from airflow_provider_arroyo.airflow_versions import TaskDeferred
from airflow_provider_arroyo.errors import UpgradeRefusedError
from airflow_provider_arroyo.identity import pushed_before
from airflow_provider_arroyo.requests import ApiCall, Json, UpgradeWish, path_of
from airflow_provider_arroyo.responses import Pipeline, read

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator, Context

APPROVE, REJECT = "Approve", "Reject"
ASKED = "arroyo_plan_to_approve"
"""XCom with the id of the plan that was shown."""


def ask(
    task: BaseOperator, context: Context, pipeline: str, plan: UpgradePlan, resume: str, limit: timedelta | None
) -> NoReturn:
    """Show the plan to a person, and continue in the method `resume` once there is an answer. This does not return."""
    from airflow.sdk.execution_time.hitl import upsert_hitl_detail  # noqa: PLC0415 - there from Airflow 3.1 on

    instance: Any = context["ti"]
    wait = _find_wait(instance, resume, limit)  # before anybody is asked in vain
    instance.xcom_push(key=ASKED, value=plan.id)
    upsert_hitl_detail(
        ti_id=instance.id,
        options=[APPROVE, REJECT],
        subject=f"Pipeline {pipeline} would lose state: approve plan {plan.id}?",
        body=plan.markdown or plan.text,
        defaults=None,
        multiple=False,
        params={},
    )
    task.log.info("Waiting for a person to approve plan %s", plan.id)
    raise wait


def _find_wait(instance: Any, resume: str, limit: timedelta | None) -> BaseException:
    """Return what a task raises to wait for the answer. Before Airflow 3.3 the triggerer looks for it."""
    try:
        from airflow.sdk.exceptions import TaskAwaitingInput  # noqa: PLC0415 - there from Airflow 3.3 on
    except ImportError:
        return _deferred(instance, resume, limit)
    return TaskAwaitingInput(method_name=resume, timeout=limit)


def _deferred(instance: Any, resume: str, limit: timedelta | None) -> TaskDeferred:
    """Return the deferral to the triggerer, which waits for the answer before Airflow 3.3."""
    from airflow.sdk.timezone import utcnow  # noqa: PLC0415

    try:
        from airflow.providers.standard.triggers.hitl import HITLTrigger  # noqa: PLC0415
    except ImportError as error:
        raise UpgradeRefusedError(
            "this Airflow cannot ask a person for an approval",
            code="upgrade.cannot_ask",
            hint="Upgrade apache-airflow-providers-standard, or name the plan with `accept_loss`.",
        ) from error
    until = None if limit is None else utcnow() + limit
    trigger = HITLTrigger(
        ti_id=instance.id, options=[APPROVE, REJECT], defaults=None, params={}, multiple=False, timeout_datetime=until
    )
    return TaskDeferred(trigger=trigger, method_name=resume)


def check_answer(task: BaseOperator, context: Context, event: Any) -> str:
    """Return the id of the plan that a person has approved; raise if it was rejected, or not answered in time."""
    asked = pushed_before(context, ASKED)
    if not isinstance(event, dict) or "error" in event:
        reason = event.get("error_type", "no answer") if isinstance(event, dict) else "no answer"
        raise UpgradeRefusedError(f"plan {asked} is not approved: {reason}", code="upgrade.not_approved")
    user = event.get("responded_by_user")
    name = user.get("name") if isinstance(user, dict) else getattr(user, "name", None)
    if event.get("chosen_options") != [APPROVE]:
        raise UpgradeRefusedError(
            f"plan {asked} was rejected by {name or 'a person'}",
            code="upgrade.rejected",
            hint="The pipeline runs on as it was.",
        )
    task.log.info("Plan %s was approved by %s", asked, name or "a person")
    return str(asked)


def check_same(approved: str, plan: UpgradePlan) -> None:
    """Raise unless the plan is the approved one. A plan that now loses nothing needs no approval."""
    if plan.id != approved and not plan.loses_nothing:
        raise UpgradeRefusedError(
            f"plan {approved} was approved, and it is plan {plan.id} by now: nothing is deployed",
            code="upgrade.plan_changed",
            hint=f"Clear the task to have the new plan approved:\n{plan.text}",
        )


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    """Effect of a new script on a pipeline's state; nothing was changed."""

    is_refused: bool
    loses_nothing: bool
    text: str
    id: str | None = None
    plan: dict[str, Any] = field(default_factory=dict)
    markdown: str = ""


@dataclass(frozen=True, slots=True)
class RolledBackPipeline(Pipeline):
    """A requested rollback of a pipeline: the version, the savepoint, and the sinks that stay ahead."""

    rollback: dict[str, Any] = field(default_factory=dict)


def plan_upgrade(
    pipeline: str, query: str, udfs: Sequence[str] | None = None, wish: UpgradeWish | None = None
) -> ApiCall[UpgradePlan]:
    """Preview what a deployment of this script would do to the pipeline's state."""
    chosen = wish or UpgradeWish()
    body: dict[str, Json] = {"query": query, "keep_state": list(chosen.keep_state), "reset": list(chosen.reset)}
    if chosen.hold_back:
        body["hold_back"] = list(chosen.hold_back)
    if udfs is not None:
        body["udfs"] = list(udfs)
    return ApiCall("POST", f"{path_of(pipeline)}/plan", partial(read, UpgradePlan), body=body)


def roll_back_pipeline(pipeline: str, to: int | None, *, key: str) -> ApiCall[RolledBackPipeline]:
    """Roll a pipeline back to an earlier version with its state; the answer comes before that is done."""
    body: dict[str, Json] = {} if to is None else {"to": to}
    return ApiCall("POST", f"{path_of(pipeline)}/rollback", partial(read, RolledBackPipeline), body=body, key=key)
