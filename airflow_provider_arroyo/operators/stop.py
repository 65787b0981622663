"""Stop a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from airflow_provider_arroyo import calls
from airflow_provider_arroyo.operators.base import PipelineOperator, reached
from airflow_provider_arroyo.waits import UntilState

if TYPE_CHECKING:
    from airflow.sdk import Context

Mode = Literal["checkpoint", "graceful", "immediate", "force"]


class StopStreamingJobOperator(PipelineOperator):
    """Stop a pipeline and wait until it is at rest. Deployed again, it goes on where it has stopped.

    A pipeline that is finished or stopped already is left alone. One that has failed fails the task with its reason.

    :param pipeline: name or id of the pipeline (templated).
    :param mode: `checkpoint` finishes the epoch in hand; `immediate` gives it up, to be repeated at the next start.
    """

    template_fields: Sequence[str] = (*PipelineOperator.template_fields, "mode")

    def __init__(self, *, pipeline: str, mode: Mode = "checkpoint", **kwargs: Any) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        self.mode = mode

    def execute(self, context: Context) -> dict[str, Any]:
        """Ask for it and wait until it is at rest."""
        if self.mode not in get_args(Mode):
            raise ValueError(f"mode is one of {', '.join(get_args(Mode))}, not {self.mode!r}")
        pipeline = self.send(calls.get_pipeline(self.pipeline))
        self.note(context, pipeline.id)
        if not pipeline.is_at_rest:
            self.send(calls.stop_pipeline(pipeline.id, self.mode))
        self.wait(UntilState(pipeline.id, "stopped"), resume="execute_complete")
        return self._summary(pipeline.id)

    def execute_complete(self, context: Context, event: object = None) -> dict[str, Any]:
        """Back from the triggerer."""
        return self._summary(reached(event).pipeline)

    def _summary(self, pipeline: str) -> dict[str, Any]:
        progress = self.send(calls.get_watermark(pipeline))
        watermark = progress.watermark and progress.watermark.isoformat()
        return {"pipeline_id": pipeline, "state": str(progress.state), "epoch": progress.epoch, "watermark": watermark}
