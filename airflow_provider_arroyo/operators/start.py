"""Start a pipeline that was stopped, or has failed.

run 3 ─── epoch 57 ─── stops      start ─── run 4 ─── epoch 58
a retry after that                run 4 is the one: nothing is requested
a retry after a user stopped it   pipeline.stopped: the user's decision counts
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo import requests
from airflow_provider_arroyo.conditions import UntilState
from airflow_provider_arroyo.deployments import newest_run
from airflow_provider_arroyo.errors import StoppedMeanwhileError
from airflow_provider_arroyo.identity import AskedChange, idempotency_key, recall, remember
from airflow_provider_arroyo.operators.base import PipelineOperator, now, reached
from airflow_provider_arroyo.responses import JobState, Pipeline

if TYPE_CHECKING:
    from airflow.sdk import Context

MEMORY = "arroyo_start"


class StartStreamingJobOperator(PipelineOperator):
    """Start a pipeline that was stopped or has failed, from its last checkpoint, and wait until it runs.

    Its script stays as it is: deploy it with `StreamingSqlOperator` to change it. A pipeline that already runs, or has
    read its input to the end, is left alone, and the task succeeds. One that is being stopped starts again afterwards.

    :param pipeline: name or id of the pipeline (templated).
    """

    def __init__(self, *, pipeline: str, **kwargs: Any) -> None:
        super().__init__(pipeline=pipeline, **kwargs)

    def execute(self, context: Context) -> dict[str, Any]:
        """Start the pipeline unless it runs, and wait until it does."""
        pipeline = self.send(requests.get_pipeline(self.pipeline))
        self.note(context, pipeline.id)
        if pipeline.state is JobState.FINISHED:
            return _describe(pipeline)
        run = self.hold(newest_run(pipeline.id, now))
        key = idempotency_key(context, "start")
        earlier = recall(context, MEMORY, AskedChange)
        if earlier is None or earlier.key != key:
            earlier = None
        if pipeline.is_at_rest or pipeline.stop != "none":
            if earlier is not None and earlier.run != run and pipeline.stop != "none":
                raise _stopped_meanwhile(pipeline)
            # written down before it is asked for, so that a retry knows which run it must not take for the new one
            earlier = AskedChange(pipeline.id, "start", run, str(pipeline.state), key)
            remember(context, MEMORY, earlier)
            self.ask(context, requests.start_pipeline(pipeline.id, key=f"{key} {run}"))
            pipeline = self.send(requests.get_pipeline(pipeline.id))
            if pipeline.stop != "none":  # the answer was that of an earlier try
                raise _stopped_meanwhile(pipeline)
        before = None if earlier is None or earlier.before is None else JobState(earlier.before)
        after_run = None if earlier is None else earlier.run
        self.wait(UntilState(pipeline.id, "running", after_run, before, pipeline.name), resume="execute_complete")
        return self._summary(pipeline.id)

    def execute_complete(self, context: Context, event: object = None) -> dict[str, Any]:
        """Complete the task when its trigger fires."""
        return self._summary(reached(event).pipeline)

    def _summary(self, pipeline_id: str) -> dict[str, Any]:
        return _describe(self.send(requests.get_pipeline(pipeline_id)))


def _stopped_meanwhile(pipeline: Pipeline) -> StoppedMeanwhileError:
    return StoppedMeanwhileError(
        f"pipeline {pipeline.name} was stopped by {pipeline.who_stopped_it}, after this task had started it"
    )


def _describe(pipeline: Pipeline) -> dict[str, Any]:
    return {
        "pipeline_id": pipeline.id,
        "name": pipeline.name,
        "state": str(pipeline.state),
        "version": pipeline.version,
    }
