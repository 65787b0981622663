"""Change how many tasks work on a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo import calls
from airflow_provider_arroyo.deployments import newest_run
from airflow_provider_arroyo.errors import JobEndedError
from airflow_provider_arroyo.identity import Remembered, recall, remember
from airflow_provider_arroyo.operators.base import PipelineOperator, now, reached
from airflow_provider_arroyo.waits import UntilState

if TYPE_CHECKING:
    from airflow.sdk import Context

MEMORY = "arroyo_rescale"


class RescaleOperator(PipelineOperator):
    """Let a running pipeline go on with another parallelism: it stops at a checkpoint and starts from it again.

    Ends when the pipeline runs with the new parallelism; does nothing when it does so already.

    :param pipeline: name or id of the pipeline (templated).
    :param parallelism: how many tasks shall work on it (templated).
    """

    template_fields: Sequence[str] = (*PipelineOperator.template_fields, "parallelism")

    def __init__(self, *, pipeline: str, parallelism: int, **kwargs: Any) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        self.parallelism = parallelism

    def execute(self, context: Context) -> dict[str, Any]:
        """Ask for it and wait until the next run is there."""
        wanted = int(self.parallelism)
        found = self.send(calls.get_pipeline(self.pipeline))
        self.note(context, found.id)
        remembered = recall(context, MEMORY)
        if found.parallelism != wanted:
            # Written down before it is asked for, so that a retry knows which run it must not take for the new one.
            remembered = Remembered(found.id, str(wanted), self.talk(newest_run(found.id, now)))
            remember(context, MEMORY, remembered)
            self.send(calls.rescale_pipeline(found.id, wanted))
        after_run = remembered.run if remembered is not None and remembered.digest == str(wanted) else None
        wait = UntilState(found.id, "running", after_run, found.state)
        self.wait(wait, resume="execute_complete")
        return self._summary(found.id)

    def execute_complete(self, context: Context, event: object = None) -> dict[str, Any]:
        """Back from the triggerer."""
        return self._summary(reached(event).pipeline)

    def _summary(self, pipeline: str) -> dict[str, Any]:
        found = self.send(calls.get_pipeline(pipeline))
        if found.parallelism != int(self.parallelism):
            message = f"pipeline {found.id} runs with parallelism {found.parallelism}, not {self.parallelism}"
            raise JobEndedError(message, code="pipeline.not_rescaled", hint="Its events say why.")
        return {"pipeline_id": found.id, "parallelism": found.parallelism, "state": str(found.state)}
