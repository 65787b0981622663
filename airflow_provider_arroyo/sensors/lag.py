"""Wait until a stream has caught up, or falls behind.

at_least = 5 minutes, steady = 10 minutes, slack = 1 minute
clock    12:00     12:04     12:05     12:06     12:14
lag      6 min     7 min     4 min     6 min     8 min
gate     closed                                  open: the lag was too small for a minute only
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow_provider_arroyo.durations import to_duration, to_optional_duration
from airflow_provider_arroyo.sensors.base import PipelineSensor

NOTHING = timedelta(0)


class LagSensor(PipelineSensor):
    """Wait until the lag of a pipeline's committed output is within a bound, and stays so for some time.

    Use `at_most` for a stream that catches up, and `at_least` for one that falls behind, for example before a
    `RescaleOperator`. The lag is computed from the newest thousand committed epochs. The lag of a silent source grows.

    :param pipeline: name or id of the pipeline (templated).
    :param at_most: the largest lag; this or `at_least`.
    :param at_least: the smallest lag.
    :param steady: how long the lag must have been within the bound; by default only now.
    :param slack: by how much the lag may exceed the bound within that time without a restart of the wait.
    """

    def __init__(
        self,
        *,
        pipeline: str,
        at_most: timedelta | float | None = None,
        at_least: timedelta | float | None = None,
        steady: timedelta | float = NOTHING,
        slack: timedelta | float = NOTHING,
        **kwargs: Any,
    ) -> None:
        super().__init__(pipeline=pipeline, **kwargs)
        if (at_most is None) is (at_least is None):
            raise ValueError("give either at_most or at_least")
        self.at_most = to_optional_duration(at_most, "at_most")
        self.at_least = to_optional_duration(at_least, "at_least")
        self.steady = to_duration(steady, "steady")
        self.slack = to_duration(slack, "slack")
        lengths = {"at_most": self.at_most, "at_least": self.at_least, "steady": self.steady, "slack": self.slack}
        if negative := [name for name, length in lengths.items() if length is not None and length < NOTHING]:
            raise ValueError(f"{negative[0]} must not be negative")
        self._declare()
        self._start_in_triggerer()

    def condition(self) -> dict[str, Any]:
        """Return the condition for the lag."""
        lengths = {"at_most": self.at_most, "at_least": self.at_least, "steady": self.steady, "slack": self.slack}
        seconds = {name: length.total_seconds() for name, length in lengths.items() if length is not None}
        return {"kind": "lag", "pipeline": self.pipeline, "bounds": seconds}
