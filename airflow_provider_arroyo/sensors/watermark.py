"""Wait until a stream has passed an instant."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo.calls import GateTime
from airflow_provider_arroyo.gate_instants import past_or_end_of_interval
from airflow_provider_arroyo.sensors.base import PipelineSensor
from airflow_provider_arroyo.waits import UntilWatermark, Wait

if TYPE_CHECKING:
    from airflow.sdk import Context


END_OF_INTERVAL = "{{ data_interval_end if data_interval_end is defined else '' }}"
"""Where a run has none, the triggerer leaves it to a worker to say so."""


class WatermarkSensor(PipelineSensor):
    """Wait until the committed output of a pipeline is complete up to an instant of event time.

    What windows say up to that instant then stays as it is. Output without windows may still be added to by rows that
    come behind the watermark. A job that has come to the end of its input has passed every instant; one that was
    stopped or has failed before the instant fails the sensor. Of sessions it is not known how far their input is
    complete: a gate on them is refused unless it is `by="output"`.

    :param pipeline: name or id of the pipeline (templated).
    :param past: the instant, aware or in UTC, as a datetime or in ISO form (templated); by default the end of the run's
        data interval.
    :param table: the sink that is waited for (templated); by default all of them.
    :param by: "input": all rows before the instant that were read are in the output. "output": the output holds all
        that it will ever hold with a time of its own before the instant: the windows and sessions that end by then.
    """

    template_fields: Sequence[str] = (*PipelineSensor.template_fields, "past", "table")

    def __init__(
        self,
        *,
        pipeline: str,
        past: datetime | str | None = None,
        table: str | None = None,
        by: GateTime = "input",
        **kwargs: Any,
    ) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        self.past = past
        self.table = table
        self.by = by
        self._start_in_triggerer("watermark", past=END_OF_INTERVAL if past is None else past, table=table, by=by)

    def wait(self, context: Context) -> Wait:
        """The output complete up to the instant."""
        task = context["ti"]
        past = past_or_end_of_interval(self.past, context, type(self).__name__)
        return UntilWatermark(self.pipeline, past, self.table, self.by, task.dag_id, task.run_id)
