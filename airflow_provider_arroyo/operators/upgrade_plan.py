"""Preview the effect of a new script on a pipeline's state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo import approval
from airflow_provider_arroyo.approval import UpgradePlan
from airflow_provider_arroyo.deployments import shown_plan
from airflow_provider_arroyo.durations import to_optional_duration
from airflow_provider_arroyo.errors import UpgradeRefusedError
from airflow_provider_arroyo.operators.base import PipelineOperator, now
from airflow_provider_arroyo.requests import UpgradeWish

if TYPE_CHECKING:
    from airflow.sdk import Context


class UpgradePlanOperator(PipelineOperator):
    """Preview the effect of a new script on a pipeline's state; change nothing.

    The log has the plan as a table; the result has `id`, `loses_nothing`, `is_refused`, `text`, `plan`. The task fails
    if the script cannot take over the state, and, unless `on_loss` says otherwise, if something would be lost. A person
    can then check the plan and deploy with its id as `accept_loss`.

    :param pipeline: name or id of the pipeline (templated).
    :param sql: the script, or the name of a `.sql` file next to the DAG (templated).
    :param udfs: Python sources with functions for the script, or names of `.py` files next to the DAG, all of them;
        None takes those of the pipeline.
    :param keep_state: ids of operators whose state stays although the rows before it have changed (templated).
    :param reset: ids of operators, and sources and sinks, that may lose their state or position (templated).
    :param hold_back: ids of operators with an added aggregate whose open windows are suppressed, instead of emitted
        with NULL (templated).
    :param on_loss: `fail`; `report`: the task succeeds, and downstream tasks decide; or `approve`: the task waits for a
        person, in Airflow's list of required actions, and fails if the plan is rejected or has changed by then.
    :param approval_timeout: longest wait for the approval; None waits forever.
    """

    template_fields: Sequence[str] = (*PipelineOperator.template_fields, "sql", "keep_state", "reset", "hold_back")
    template_fields_renderers = {"sql": "sql"}  # noqa: RUF012 - as Airflow declares it
    template_ext: Sequence[str] = (".sql",)

    def __init__(
        self,
        *,
        pipeline: str,
        sql: str,
        udfs: Sequence[str] | None = None,
        keep_state: Sequence[str] = (),
        reset: Sequence[str] = (),
        hold_back: Sequence[str] = (),
        on_loss: str = "fail",
        approval_timeout: timedelta | float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        if on_loss not in ("fail", "report", "approve"):
            raise ValueError(f"on_loss is fail, report or approve, not {on_loss!r}")
        self.sql = sql
        self.udfs = udfs
        self.keep_state = keep_state
        self.reset = reset
        self.hold_back = hold_back
        self.on_loss = on_loss
        self.approval_timeout = to_optional_duration(approval_timeout, "approval_timeout")

    def execute(self, context: Context) -> dict[str, Any]:
        """Request the plan, and show it; if approval is required, to a person."""
        self.note(context, self.pipeline)
        plan = self._plan()
        if not plan.loses_nothing and self.on_loss == "fail":
            raise UpgradeRefusedError(
                "the script would lose state of the pipeline", code="upgrade.loses", hint=plan.text
            )
        if not plan.loses_nothing and self.on_loss == "approve":
            approval.ask(self, context, self.pipeline, plan, "execute_approved", self.approval_timeout)
        return asdict(plan)

    def execute_approved(self, context: Context, event: Any = None) -> dict[str, Any]:
        """Return the plan after a person's approval; the approved plan must still be the current one."""
        approved = approval.check_answer(self, context, event)
        plan = self._plan()
        approval.check_same(approved, plan)
        return asdict(plan)

    def _plan(self) -> UpgradePlan:
        """Return the plan; raise if it cannot be carried out."""
        wish = UpgradeWish(keep_state=tuple(self.keep_state), reset=tuple(self.reset), hold_back=tuple(self.hold_back))
        plan = self.hold(shown_plan(self.pipeline, self.sql, self.sources_of(self.udfs), wish, now))
        self.log.info("%s", plan.text)
        if plan.is_refused:
            raise UpgradeRefusedError(
                "the script cannot take over the state of the pipeline", code="upgrade.refused", hint=plan.text
            )
        return plan
