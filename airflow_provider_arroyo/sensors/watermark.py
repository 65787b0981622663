"""Wait until a stream has passed an instant.

past = 05:00              rows before 05:00 may still arrive      no more of these rows arrive
watermark                 04:40     04:55                         05:02
epochs                ───┴─────────┴─────────────────────────────┴──────
gate                      closed    closed                        open, with the certificate of that epoch
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_args

from airflow_provider_arroyo.conditions import GateTime, Need, Wait, from_json, in_run
from airflow_provider_arroyo.durations import past_or_end_of_interval
from airflow_provider_arroyo.sensors.base import PipelineSensor

if TYPE_CHECKING:
    from airflow.sdk import Context


END_OF_INTERVAL = "{{ data_interval_end if data_interval_end is defined else '' }}"
"""Default of `past`. For a run without a data interval, the triggerer lets a worker raise the error."""


class WatermarkSensor(PipelineSensor):
    """Wait until the committed output of a pipeline, or of several, is complete up to an instant of event time.

    Windows up to that instant do not change any further. Output without windows may still get rows that arrive behind
    the watermark. A job whose input has ended has passed every instant; one that stops or fails before the instant
    fails the sensor. The completeness of sessions by input time is unknown: use `by="output"` for them.

    With several pipelines, the gate opens when all have passed at the same poll; a pipeline that ends before fails the
    sensor. With `need="any"` the first one opens it, and it fails when all have ended. The result has under `pipelines`
    an entry for each pipeline that has passed, by its name in the list.

    :param pipeline: name or id of the pipeline, `pipeline/table` for one of its sinks, or a list of such (templated).
    :param past: the instant, aware or in UTC, as a datetime or in ISO form (templated); by default the end of the run's
        data interval.
    :param table: the sink to wait for (templated); by default all of them. In a list, it applies to all entries without
        a sink.
    :param by: `input`: the output contains all rows before the instant that were read. `output`: all output with a time
        before the instant is final: the windows and sessions that end by then.
    :param need: for a list: `all`, or `any`.
    """

    template_fields: Sequence[str] = (*PipelineSensor.template_fields, "past", "table")

    def __init__(
        self,
        *,
        pipeline: str | Sequence[str],
        past: datetime | str | None = None,
        table: str | None = None,
        by: GateTime = "input",
        need: Need = "all",
        **kwargs: Any,
    ) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        if need not in get_args(Need):
            raise ValueError(f"need is {' or '.join(get_args(Need))}, not {need!r}")
        self.past = past
        self.table = table
        self.by = by
        self.need = need
        self._declare()
        self._start_in_triggerer()

    def _tables(self) -> list[tuple[str, str | None]]:
        entries = [self.pipeline] if isinstance(self.pipeline, str) else self.pipeline
        parts = [entry.partition("/") for entry in entries]
        return [(pipeline, table if slash else self.table) for pipeline, slash, table in parts]

    def condition(self) -> dict[str, Any]:
        """Return the condition for output that is complete up to the instant."""
        return {
            "kind": "watermark",
            "pipeline": self.pipeline,
            "past": END_OF_INTERVAL if self.past is None else self.past,
            "table": self.table,
            "by": self.by,
            "need": self.need,
        }

    def wait(self, context: Context) -> Wait:
        """Return the condition, with the DAG run that gets the certificates."""
        task = context["ti"]
        past = past_or_end_of_interval(self.past, context, type(self).__name__)
        return in_run(from_json({**self.condition(), "past": past}), task.dag_id, task.run_id)
