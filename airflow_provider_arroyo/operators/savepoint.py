"""Take a savepoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo import calls
from airflow_provider_arroyo.errors import JobEndedError
from airflow_provider_arroyo.identity import CountBefore, idempotency_key, recall, remember
from airflow_provider_arroyo.operators.base import PipelineOperator, reached
from airflow_provider_arroyo.waits import UntilSavepoint

if TYPE_CHECKING:
    from airflow.sdk import Context


MEMORY = "arroyo_savepoint_failures"


class SavepointOperator(PipelineOperator):
    """Keep a copy of a pipeline's state, without stopping it; a retry finds the copy that an earlier try began.

    Pushes `savepoint_id` and `savepoint_path`, and returns them with the epoch, the watermark and the size.

    :param pipeline: name or id of the pipeline (templated).
    :param savepoint_label: a name for people (templated).
    """

    template_fields: Sequence[str] = (*PipelineOperator.template_fields, "savepoint_label")

    def __init__(self, *, pipeline: str, savepoint_label: str | None = None, **kwargs: Any) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        self.savepoint_label = savepoint_label

    def execute(self, context: Context) -> dict[str, Any]:
        """Ask for it and wait until it is complete."""
        pipeline = self.send(calls.get_pipeline(self.pipeline)).id
        self.note(context, pipeline)
        key = idempotency_key(context, f"savepoint {self.savepoint_label} {_failures(context)}")
        savepoint = self.send(calls.take_savepoint(pipeline, label=self.savepoint_label, key=key))
        context["ti"].xcom_push(key="savepoint_id", value=savepoint.id)
        if savepoint.state != "completed":
            with _counting_failures(context):
                self.wait(UntilSavepoint(pipeline, savepoint.id), resume="execute_complete")
        return self._publish(context, pipeline, savepoint.id)

    def execute_complete(self, context: Context, event: object = None) -> dict[str, Any]:
        """Back from the triggerer."""
        with _counting_failures(context):
            pipeline = reached(event).pipeline
        savepoint = context["ti"].xcom_pull(task_ids=self.task_id, key="savepoint_id")
        return self._publish(context, pipeline, str(savepoint))

    def _publish(self, context: Context, pipeline: str, savepoint_id: str) -> dict[str, Any]:
        savepoint = self.send(calls.get_savepoint(pipeline, savepoint_id))
        context["ti"].xcom_push(key="savepoint_path", value=savepoint.path)
        return {
            "savepoint_id": savepoint.id,
            "path": savepoint.path,
            "epoch": savepoint.epoch,
            "watermark": savepoint.watermark and savepoint.watermark.isoformat(),
            "bytes": savepoint.bytes,
        }


def _failures(context: Context) -> int:
    """How many savepoints of this task have failed. Each further one needs a key of its own: the old key is answered
    with the savepoint that failed."""
    failures = recall(context, MEMORY, CountBefore)
    return 0 if failures is None else failures.count


@contextmanager
def _counting_failures(context: Context) -> Iterator[None]:
    try:
        yield
    except JobEndedError:
        remember(context, MEMORY, CountBefore(_failures(context) + 1))
        raise
