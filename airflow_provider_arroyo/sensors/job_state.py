"""Wait for the state of a job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_provider_arroyo.sensors.base import PipelineSensor


class StreamingJobSensor(PipelineSensor):
    """Wait until the job of a pipeline is in a state.

    The sensor fails if the job ends in another state. A job whose input has ended counts as running and as stopped,
    too.

    :param pipeline: name or id of the pipeline (templated).
    :param state: `running`, `finished` (its input has ended), `stopped`, or `failed` (its restarts are used up)
        (templated).
    """

    template_fields: Sequence[str] = (*PipelineSensor.template_fields, "state")

    def __init__(self, *, pipeline: str, state: str = "running", **kwargs: Any) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        self.state = state
        self._declare()
        self._start_in_triggerer()

    def condition(self) -> dict[str, Any]:
        """Return the condition for a state of the job."""
        return {"kind": "state", "pipeline": self.pipeline, "goal": self.state}
