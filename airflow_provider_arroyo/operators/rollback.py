"""Roll a pipeline back to an earlier version.

versions    1 ─────────── 2 ─────────── 3, the query of 1
state       epoch 40      epoch 57      epoch 40, the last one of 1; a savepoint keeps 57
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo import approval, requests
from airflow_provider_arroyo.conditions import UntilState
from airflow_provider_arroyo.deployments import newest_run
from airflow_provider_arroyo.identity import AskedChange, idempotency_key, pushed_before, recall, remember
from airflow_provider_arroyo.operators.base import PipelineOperator, now, reached
from airflow_provider_arroyo.responses import JobState

if TYPE_CHECKING:
    from airflow.sdk import Context

MEMORY = "arroyo_rollback"
WAY = "rollback"


class RollbackOperator(PipelineOperator):
    """Roll a pipeline back to an earlier version and the last state of that version; it runs on from there.

    Retries do not roll it back again. The result has the number of the new version, the version and savepoint that it
    was rolled back to, and the sinks that are ahead of it because they are append-only.

    :param pipeline: name or id of the pipeline (templated).
    :param to: the version to roll back to; None takes the previous one (templated).
    """

    template_fields: Sequence[str] = (*PipelineOperator.template_fields, "to")

    def __init__(self, *, pipeline: str, to: int | None = None, **kwargs: Any) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        self.to = to

    def execute(self, context: Context) -> dict[str, Any]:
        """Request the rollback, and wait until the earlier version runs."""
        to = None if self.to is None else int(self.to)
        pipeline = self.send(requests.get_pipeline(self.pipeline))
        self.note(context, pipeline.id)
        key = idempotency_key(context, f"rollback {to}")
        earlier = recall(context, MEMORY, AskedChange)
        if earlier is None or earlier.key != key:
            # written down before it is asked for, so that a retry knows the version and the run that come before
            run = self.hold(newest_run(pipeline.id, now))
            earlier = AskedChange(pipeline.id, str(pipeline.version), run, str(pipeline.state), key)
            remember(context, MEMORY, earlier)
        back = self.ask(context, approval.roll_back_pipeline(pipeline.id, to, key=key))
        for sink in back.rollback.get("ahead", ()):
            self.log.warning("Sink %s cannot be taken back: %s", sink.get("table"), sink)
        context["ti"].xcom_push(key=WAY, value=back.rollback)
        if back.stop == "none":
            is_another = str(back.version) != earlier.digest
            before = JobState(earlier.before) if earlier.before else None
            wait = UntilState(pipeline.id, "running", earlier.run, before, pipeline.name) if is_another else None
            self.wait(wait or UntilState(pipeline.id, "running", title=pipeline.name), resume="execute_complete")
        return self._summary(context, pipeline.id)

    def execute_complete(self, context: Context, event: object = None) -> dict[str, Any]:
        """Complete the task when its trigger fires."""
        return self._summary(context, reached(event).pipeline)

    def _summary(self, context: Context, pipeline_id: str) -> dict[str, Any]:
        pipeline = self.send(requests.get_pipeline(pipeline_id))
        return {
            "pipeline_id": pipeline.id,
            "version": pipeline.version,
            "state": str(pipeline.state),
            "rollback": pushed_before(context, WAY),
        }
