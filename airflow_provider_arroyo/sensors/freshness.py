"""Wait until the output of a stream is fresh.

at_most = 10 minutes
clock             12:00     12:05     12:10
complete until    11:30     11:50     12:03
gate              closed    closed    open: later than the clock minus 10 minutes
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from airflow_provider_arroyo.conditions import GateTime
from airflow_provider_arroyo.durations import to_duration
from airflow_provider_arroyo.sensors.base import PipelineSensor


class FreshnessSensor(PipelineSensor):
    """Wait until the committed output of a pipeline is complete up to a moment ago.

    Unlike the instant of a `WatermarkSensor`, that moment moves with the clock, so a stream that is far behind has to
    catch up first. There is no certificate, since freshness does not last. The output of a finished job is always
    fresh.

    :param pipeline: name or id of the pipeline (templated).
    :param at_most: the largest age of the output.
    :param table: the sink to check (templated); by default all of them.
    :param by: `input` or `output` time, as in a `WatermarkSensor`.
    """

    template_fields: Sequence[str] = (*PipelineSensor.template_fields, "table")

    def __init__(
        self,
        *,
        pipeline: str,
        at_most: timedelta | float,
        table: str | None = None,
        by: GateTime = "input",
        **kwargs: Any,
    ) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        self.at_most = to_duration(at_most, "at_most")
        if self.at_most <= timedelta(0):
            raise ValueError(f"at_most is longer than nothing, not {at_most}")
        self.table = table
        self.by = by
        self._declare()
        self._start_in_triggerer()

    def _tables(self) -> list[tuple[str, str | None]]:
        return [(self.pipeline, self.table)]

    def condition(self) -> dict[str, Any]:
        """Return the condition for fresh output."""
        at_most = self.at_most.total_seconds()
        return {"kind": "fresh", "pipeline": self.pipeline, "at_most": at_most, "table": self.table, "by": self.by}
