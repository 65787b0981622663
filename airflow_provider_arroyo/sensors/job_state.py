"""Wait for the state of a job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from airflow_provider_arroyo.sensors.base import PipelineSensor
from airflow_provider_arroyo.waits import UntilState, Wait

if TYPE_CHECKING:
    from airflow.sdk import Context

Goal = Literal["running", "finished", "stopped", "failed"]


class StreamingJobSensor(PipelineSensor):
    """Wait until the job of a pipeline is in a state.

    A job that comes to rest in another state than the one that is waited for fails the sensor; one whose input has
    ended counts as running and as stopped, too.

    :param pipeline: name or id of the pipeline (templated).
    :param state: `running`, `finished` (its input has ended), `stopped`, or `failed` (its restarts are used up)
        (templated).
    """

    template_fields: Sequence[str] = (*PipelineSensor.template_fields, "state")

    def __init__(self, *, pipeline: str, state: str = "running", **kwargs: Any) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        self.state = state

    def wait(self, context: Context) -> Wait:
        """The state."""
        if self.state not in get_args(Goal):
            raise ValueError(f"state is one of {', '.join(get_args(Goal))}, not {self.state!r}")
        return UntilState(self.pipeline, cast("Goal", self.state))
