"""Change the parallelism of a pipeline.

run 1, parallelism 2 ─── epoch 57 ─── stops
                                        run 2, parallelism 4 ─── epoch 58
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo import events, requests
from airflow_provider_arroyo.conditions import UntilState
from airflow_provider_arroyo.deployments import newest_run
from airflow_provider_arroyo.errors import JobEndedError
from airflow_provider_arroyo.events import settle
from airflow_provider_arroyo.identity import AskedChange, recall, remember
from airflow_provider_arroyo.operators.base import PipelineOperator, now, reached
from airflow_provider_arroyo.responses import JobState, Pipeline

if TYPE_CHECKING:
    from airflow.sdk import Context

MEMORY = "arroyo_rescale"


class RescaleOperator(PipelineOperator):
    """Change the parallelism of a running pipeline: it stops at a checkpoint and restarts from it.

    The task ends when the pipeline runs with the new parallelism. It does nothing if that is so already, or the
    pipeline is finished. A pipeline that is stopped or has failed is unchanged, and fails the task at once.

    :param pipeline: name or id of the pipeline (templated).
    :param parallelism: number of parallel tasks (templated).
    """

    template_fields: Sequence[str] = (*PipelineOperator.template_fields, "parallelism")

    def __init__(self, *, pipeline: str, parallelism: int, **kwargs: Any) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        self.parallelism = parallelism

    def execute(self, context: Context) -> dict[str, Any]:
        """Request the parallelism and wait until the next run is up."""
        parallelism = int(self.parallelism)
        pipeline = self.send(requests.get_pipeline(self.pipeline))
        self.note(context, pipeline.id)
        if pipeline.is_at_rest:
            return self._at_rest(pipeline)
        earlier = recall(context, MEMORY, AskedChange)
        if pipeline.parallelism != parallelism:
            # Written down before it is asked for, so that a retry knows which run it must not take for the new one.
            earlier = AskedChange(pipeline.id, str(parallelism), self.hold(newest_run(pipeline.id, now)))
            remember(context, MEMORY, earlier)
            self.ask(context, requests.rescale_pipeline(pipeline.id, parallelism))
        after_run = earlier.run if earlier is not None and earlier.digest == str(parallelism) else None
        wait = UntilState(pipeline.id, "running", after_run, pipeline.state, pipeline.name)
        self.wait(wait, resume="execute_complete")
        return self._summary(pipeline.id)

    def execute_complete(self, context: Context, event: object = None) -> dict[str, Any]:
        """Complete the task when its trigger fires."""
        return self._summary(reached(event).pipeline)

    def _at_rest(self, pipeline: Pipeline) -> dict[str, Any]:
        """Return the answer for a pipeline that will not run without another request. Only a finished one has nothing
        left to do."""
        if pipeline.state is JobState.FINISHED:
            return _describe(pipeline)
        end = self.hold(events.end_of(pipeline))
        if pipeline.state is JobState.STOPPED:
            hint = "Deploy it with the parallelism that it is to have; that starts it."
            end = replace(end, message="there is no run to rescale", hint=hint)
        settle(end)
        raise AssertionError("an end is always raised")

    def _summary(self, pipeline_id: str) -> dict[str, Any]:
        pipeline = self.send(requests.get_pipeline(pipeline_id))
        if pipeline.parallelism != int(self.parallelism):
            message = f"pipeline {pipeline.id} runs with parallelism {pipeline.parallelism}, not {self.parallelism}"
            raise JobEndedError(message, code="pipeline.not_rescaled", hint="Its events say why.")
        return _describe(pipeline)


def _describe(pipeline: Pipeline) -> dict[str, Any]:
    return {"pipeline_id": pipeline.id, "parallelism": pipeline.parallelism, "state": str(pipeline.state)}
