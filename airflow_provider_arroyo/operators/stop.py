"""Stop a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from airflow_provider_arroyo import events, requests, watermarks
from airflow_provider_arroyo.conditions import UntilState
from airflow_provider_arroyo.errors import DELETED_PIPELINE, UNKNOWN_PIPELINE, RefusedError
from airflow_provider_arroyo.operators.base import PipelineOperator, reached
from airflow_provider_arroyo.responses import JobState, Pipeline

if TYPE_CHECKING:
    from airflow.sdk import Context

Mode = Literal["checkpoint", "graceful", "immediate", "force"]


class StopStreamingJobOperator(PipelineOperator):
    """Stop a pipeline and wait until it has stopped. A later deployment continues from its state.

    A pipeline that has already stopped or failed is unchanged, and the task succeeds; the result has the reason as
    `failure`. So it serves as a teardown. A pipeline that fails while it stops fails the task, since its last epoch may
    be missing; a retry succeeds.

    :param pipeline: name or id of the pipeline (templated).
    :param mode: `checkpoint` finishes the current epoch; `immediate` aborts it, and the next start runs it again.
    :param missing_ok: succeed if the pipeline does not exist.
    """

    template_fields: Sequence[str] = (*PipelineOperator.template_fields, "mode")

    def __init__(self, *, pipeline: str, mode: Mode = "checkpoint", missing_ok: bool = True, **kwargs: Any) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        self.mode = mode
        self.missing_ok = missing_ok

    def execute(self, context: Context) -> dict[str, Any]:
        """Request the stop and wait until the pipeline is stopped."""
        if self.mode not in get_args(Mode):
            raise ValueError(f"mode is one of {', '.join(get_args(Mode))}, not {self.mode!r}")
        try:
            pipeline = self.send(requests.get_pipeline(self.pipeline))
            self.note(context, pipeline.id)
            if not pipeline.is_at_rest:
                self.send(requests.stop_pipeline(pipeline.id, self.mode))
                self.wait(UntilState(pipeline.id, "stopped", title=pipeline.name), resume="execute_complete")
            return self._summary(pipeline.id)
        except RefusedError as error:
            return self._missing(error)

    def execute_complete(self, context: Context, event: object = None) -> dict[str, Any]:
        """Complete the task when its trigger fires."""
        try:
            return self._summary(reached(event).pipeline)
        except RefusedError as error:
            return self._missing(error)

    def _summary(self, pipeline_id: str) -> dict[str, Any]:
        pipeline = self.send(requests.get_pipeline(pipeline_id))
        progress = self.send(watermarks.get_watermark(pipeline.id))
        return {
            "pipeline_id": pipeline.id,
            "state": str(progress.state),
            "epoch": progress.epoch,
            "watermark": progress.watermark and progress.watermark.isoformat(),
            "failure": self._failure(pipeline),
        }

    def _failure(self, pipeline: Pipeline) -> str | None:
        """Return why the pipeline has failed; None if it has not."""
        if pipeline.state is not JobState.FAILED:
            return None
        end = self.hold(events.end_of(pipeline))
        failure = f"{end.code}: {end.message}"
        self.log.warning("Pipeline %s has stopped because it failed: %s", pipeline.id, failure)
        return failure

    def _missing(self, error: RefusedError) -> dict[str, Any]:
        """Return the answer for a pipeline that does not exist, or no longer; raise any other refusal."""
        if error.code not in (UNKNOWN_PIPELINE, DELETED_PIPELINE) or not self.missing_ok:
            raise error
        self.log.info("There is no pipeline %s: nothing to stop", self.pipeline)
        return {"pipeline_id": None, "state": None, "epoch": None, "watermark": None, "failure": None}
