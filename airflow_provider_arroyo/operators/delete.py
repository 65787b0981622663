"""Delete a pipeline."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo import events, requests
from airflow_provider_arroyo.conditions import UntilState
from airflow_provider_arroyo.errors import BUSY, DELETED_PIPELINE, UNKNOWN_PIPELINE, JobEndedError, RefusedError
from airflow_provider_arroyo.operators.base import PipelineOperator, now, reached
from airflow_provider_arroyo.protocols import Conversation, Pause, ask_until_answered

if TYPE_CHECKING:
    from airflow.sdk import Context


class DeletePipelineOperator(PipelineOperator):
    """Stop a pipeline, if it runs, and delete it with its state and logs. Its output stays.

    The task succeeds if the pipeline does not exist, or fails while it stops, so it serves as a teardown. While a
    savepoint is being taken, the task waits.

    :param pipeline: name or id of the pipeline (templated).
    :param with_savepoints: also delete its savepoints; otherwise a pipeline with savepoints is refused.
    """

    def __init__(self, *, pipeline: str, with_savepoints: bool = False, **kwargs: Any) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        self.with_savepoints = with_savepoints

    def execute(self, context: Context) -> dict[str, Any]:
        """Stop the pipeline, wait until it is stopped, and delete it."""
        try:
            pipeline = self.send(requests.get_pipeline(self.pipeline))
            self.note(context, pipeline.id)
            if not pipeline.is_at_rest:
                self.send(requests.stop_pipeline(pipeline.id, "checkpoint"))
                self.wait(UntilState(pipeline.id, "stopped", title=pipeline.name), resume="execute_complete")
        except JobEndedError as error:
            self.log.warning("It has stopped: %s", error)
        except RefusedError as error:
            return self._missing(error)
        return self._delete(pipeline.id)

    def execute_complete(self, context: Context, event: object = None) -> dict[str, Any]:
        """Complete the task when its trigger fires: delete the stopped pipeline, and no other that has its name by
        now."""
        try:
            reached(event)
        except JobEndedError as error:
            self.log.warning("It has stopped: %s", error)
        except RefusedError as error:
            return self._missing(error)
        return self._delete(events.from_json(event).pipeline)

    def _delete(self, pipeline_id: str) -> dict[str, Any]:
        limit = self.wait_timeout
        deadline = None if limit is None else now() + limit
        poll = timedelta(seconds=self.poll_interval)
        try:
            self.hold(_delete(pipeline_id, deadline, poll, with_savepoints=self.with_savepoints))
        except RefusedError as error:
            return self._missing(error)
        return {"pipeline_id": pipeline_id, "deleted": True}

    def _missing(self, error: RefusedError) -> dict[str, Any]:
        """Return the answer for a pipeline that does not exist; raise any other refusal."""
        if error.code not in (UNKNOWN_PIPELINE, DELETED_PIPELINE):
            raise error
        self.log.info("There is no pipeline %s: nothing to delete", self.pipeline)
        return {"pipeline_id": None, "deleted": False}


def _delete(pipeline: str, deadline: datetime | None, poll: timedelta, *, with_savepoints: bool) -> Conversation[None]:
    """Delete the pipeline as soon as that is possible; at the deadline, raise what prevented it."""
    while True:
        try:
            yield from ask_until_answered(requests.delete_pipeline(pipeline, with_savepoints=with_savepoints), now)
            return
        except RefusedError as error:
            if error.code != BUSY or (deadline is not None and now() >= deadline):
                raise
        yield Pause(poll)
