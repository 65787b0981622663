"""Wait until a stream has passed an instant."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo.sensors.base import PipelineSensor
from airflow_provider_arroyo.waits import UntilWatermark, Wait

if TYPE_CHECKING:
    from airflow.sdk import Context


class WatermarkSensor(PipelineSensor):
    """Wait until all rows before an instant of event time are in the committed output of a pipeline.

    What a batch task then reads up to that instant will not be added to any more. A job that has come to the end of
    its input has passed every instant; one that was stopped or has failed before the instant fails the sensor.

    :param pipeline: name or id of the pipeline (templated).
    :param past: the instant, aware or in UTC, as a datetime or in ISO form (templated).
    """

    template_fields: Sequence[str] = (*PipelineSensor.template_fields, "past")

    def __init__(self, *, pipeline: str, past: datetime | str, **kwargs: Any) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        self.past = past

    def wait(self, context: Context) -> Wait:
        """The watermark past the instant."""
        return UntilWatermark(self.pipeline, to_instant(self.past, "past"))


def to_instant(value: datetime | str, name: str) -> datetime:
    """The value as an aware instant; without a zone it is in UTC."""
    try:
        instant = value if isinstance(value, datetime) else datetime.fromisoformat(value.strip())
    except ValueError:
        raise ValueError(f"{name} is a time like 2026-01-31T05:00:00Z, not {value!r}") from None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
