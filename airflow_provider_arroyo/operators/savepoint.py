"""Take a savepoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo import requests, savepoints
from airflow_provider_arroyo.conditions import UntilProven, UntilSavepoint
from airflow_provider_arroyo.errors import JobEndedError
from airflow_provider_arroyo.identity import CountBefore, idempotency_key, pushed_before, recall, remember
from airflow_provider_arroyo.operators.base import PipelineOperator, reached

if TYPE_CHECKING:
    from airflow.sdk import Context


MEMORY = "arroyo_savepoint_failures"


class SavepointOperator(PipelineOperator):
    """Copy a pipeline's state without stopping it; a retry finds the savepoint that an earlier try began.

    Pushes `savepoint_id` and `savepoint_path`, and returns them with the epoch, the watermark and the size; after a
    restore test also its time.

    :param pipeline: name or id of the pipeline (templated).
    :param savepoint_label: a label for people (templated).
    :param drill: also run a restore test, which restores it into a scratch directory and reads every row of its state;
        the task fails if the test does, and a retry takes another savepoint.
    """

    template_fields: Sequence[str] = (*PipelineOperator.template_fields, "savepoint_label")

    def __init__(
        self, *, pipeline: str, savepoint_label: str | None = None, drill: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        self.savepoint_label = savepoint_label
        self.drill = drill

    def execute(self, context: Context) -> dict[str, Any]:
        """Request a savepoint and wait until it is complete."""
        pipeline = self.send(requests.get_pipeline(self.pipeline)).id
        self.note(context, pipeline)
        key = idempotency_key(context, f"savepoint {self.savepoint_label} {_failures(context)}")
        savepoint = self.send(savepoints.take_savepoint(pipeline, label=self.savepoint_label, key=key))
        context["ti"].xcom_push(key="savepoint_id", value=savepoint.id)
        if savepoint.state != "completed":
            with _counting_failures(context):
                self.wait(UntilSavepoint(pipeline, savepoint.id), resume="execute_complete")
        return self._prove(context, pipeline, savepoint.id)

    def execute_complete(self, context: Context, event: object = None) -> dict[str, Any]:
        """Continue when the trigger fires, since the savepoint is completed."""
        with _counting_failures(context):
            pipeline = reached(event).pipeline
        return self._prove(context, pipeline, self._savepoint(context))

    def execute_proven(self, context: Context, event: object = None) -> dict[str, Any]:
        """Complete the task when the trigger of the restore test fires."""
        with _counting_failures(context):
            pipeline = reached(event).pipeline
        return self._publish(context, pipeline, self._savepoint(context))

    def _savepoint(self, context: Context) -> str:
        return str(pushed_before(context, "savepoint_id"))

    def _prove(self, context: Context, pipeline: str, savepoint_id: str) -> dict[str, Any]:
        """Run the restore test of the completed savepoint, if requested."""
        if self.drill:
            with _counting_failures(context):
                self.wait(UntilProven(pipeline, savepoint_id), resume="execute_proven")
        return self._publish(context, pipeline, savepoint_id)

    def _publish(self, context: Context, pipeline: str, savepoint_id: str) -> dict[str, Any]:
        savepoint = self.send(savepoints.get_savepoint(pipeline, savepoint_id))
        context["ti"].xcom_push(key="savepoint_path", value=savepoint.path)
        proof = {"proven_at": savepoint.proven_at.isoformat()} if self.drill and savepoint.proven_at else {}
        return {
            "savepoint_id": savepoint.id,
            "path": savepoint.path,
            "epoch": savepoint.epoch,
            "watermark": savepoint.watermark and savepoint.watermark.isoformat(),
            "bytes": savepoint.bytes,
            **proof,
        }


def _failures(context: Context) -> int:
    """Count the failed savepoints of this task. Each further one needs a key of its own, since the old key returns the
    failed one."""
    failures = recall(context, MEMORY, CountBefore)
    return 0 if failures is None else failures.count


@contextmanager
def _counting_failures(context: Context) -> Iterator[None]:
    try:
        yield
    except JobEndedError:
        remember(context, MEMORY, CountBefore(_failures(context) + 1))
        raise
