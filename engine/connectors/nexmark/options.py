"""Options of a table of Nexmark events."""

from __future__ import annotations

from datetime import datetime, timedelta

from pydantic import Field as Option
from pydantic import model_validator

from engine.connectors.base import Options
from engine.values.option_values import MicrosOrInterval

NATURAL_SPACING = timedelta(microseconds=100)
"""Distance of event times without a rate."""


class NexmarkOptions(Options):
    """Rate and number of events."""

    event_rate: float | None = Option(
        None,
        gt=0,
        description="Events per second. It may be left out only with `message_count`: then events come as "
        "fast as possible.",
    )
    runtime: float | None = Option(None, gt=0, description="Seconds until the last event.")
    message_count: int | None = Option(None, ge=0, description="Number of events. The default is no limit.")
    seed: int = Option(0, description="Seed of the random values; different seeds give different events.")
    start_time: datetime | None = Option(
        None, description="Event time of the first event. The default is the time at which the pipeline first started."
    )
    event_time_interval: MicrosOrInterval | None = Option(
        None,
        description="Interval between event times; a bare number is in microseconds. The default follows from "
        "`event_rate`, or is 100 microseconds without one.",
    )

    @model_validator(mode="after")
    def _ends_or_has_a_rate(self) -> NexmarkOptions:
        if self.event_rate is None and self.message_count is None:
            raise ValueError("option 'event_rate' is required, unless 'message_count' is set")
        if self.event_rate is None and self.runtime is not None:
            raise ValueError("option 'runtime' needs 'event_rate'")
        return self
