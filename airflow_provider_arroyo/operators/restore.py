"""Restore a pipeline to a savepoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo import requests, savepoints
from airflow_provider_arroyo.conditions import UntilState
from airflow_provider_arroyo.deployments import newest_run
from airflow_provider_arroyo.identity import AskedChange, idempotency_key, recall, remember
from airflow_provider_arroyo.operators.base import PipelineOperator, now, reached
from airflow_provider_arroyo.responses import JobState

if TYPE_CHECKING:
    from airflow.sdk import Context

MEMORY = "arroyo_restore"


class RestoreOperator(PipelineOperator):
    """Restore a pipeline to a savepoint and let it continue from there. A stopped pipeline stays stopped.

    Retries do not restore it again.

    :param pipeline: name or id of the pipeline (templated).
    :param savepoint: id of the savepoint, such as `SavepointOperator` pushes (templated).
    :param allow_replay: accept that append-only sinks get output again.
    :param with_version: also restore the query that the savepoint belongs to.
    """

    template_fields: Sequence[str] = (*PipelineOperator.template_fields, "savepoint")

    def __init__(
        self,
        *,
        pipeline: str,
        savepoint: str,
        allow_replay: bool = False,
        with_version: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        self.savepoint = savepoint
        self.allow_replay = allow_replay
        self.with_version = with_version

    def execute(self, context: Context) -> dict[str, Any]:
        """Request the restore, and wait until the pipeline runs."""
        pipeline = self.send(requests.get_pipeline(self.pipeline))
        self.note(context, pipeline.id)
        action = f"restore {self.savepoint} {self.allow_replay} {self.with_version}"
        key = idempotency_key(context, action)
        earlier = recall(context, MEMORY, AskedChange)
        if earlier is None or earlier.key != key:
            # written down before it is asked for, so that a retry knows which run it must not take for the new one
            run = self.hold(newest_run(pipeline.id, now))
            earlier = AskedChange(pipeline.id, action, run, str(pipeline.state), key)
            remember(context, MEMORY, earlier)
        request = savepoints.restore_savepoint(
            pipeline.id, self.savepoint, allow_replay=self.allow_replay, with_version=self.with_version, key=key
        )
        if self.ask(context, request).stop == "none":
            before = JobState(earlier.before) if earlier.before else None
            self.wait(UntilState(pipeline.id, "running", earlier.run, before, pipeline.name), resume="execute_complete")
        return self._summary(pipeline.id)

    def execute_complete(self, context: Context, event: object = None) -> dict[str, Any]:
        """Complete the task when its trigger fires."""
        return self._summary(reached(event).pipeline)

    def _summary(self, pipeline_id: str) -> dict[str, Any]:
        pipeline = self.send(requests.get_pipeline(pipeline_id))
        return {
            "pipeline_id": pipeline.id,
            "version": pipeline.version,
            "state": str(pipeline.state),
            "savepoint_id": self.savepoint,
        }
