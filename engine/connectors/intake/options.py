"""Options of all tables that read through an intake log."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from pydantic import Field as Option

from engine import types
from engine.connectors.base import Options
from engine.schema import Field
from engine.values.option_values import ByteCount


class IntakeOptions(Options):
    """Size of the intake log, and when to give up."""

    max_log_bytes: ByteCount = Option(
        1024 * 1024 * 1024,
        alias="intake.max_bytes",
        ge=1024 * 1024,
        description="Maximum size of the intake log on the disk of the state directory.",
    )
    when_full: Literal["wait", "drop_oldest"] = Option(
        "wait",
        alias="intake.when_full",
        description="What happens when the intake log is full: nothing is received until there is room (`wait`), or "
        "the oldest messages that no epoch has read are dropped and counted (`drop_oldest`).",
    )
    retention: timedelta = Option(
        timedelta(hours=1),
        alias="intake.retention",
        ge=timedelta(0),
        description="How long messages are stored after the epoch that has read them, so that a savepoint can be "
        "restored.",
    )
    on_data_loss: Literal["fail", "continue"] = Option(
        "fail",
        description="What happens when a pipeline is restored to a position whose messages are no longer stored: it "
        "fails, or continues with the messages that are.",
    )
    retry_timeout: timedelta = Option(
        timedelta(minutes=5),
        alias="source.retry_timeout",
        description="How long the server may be away before the pipeline stops with an error that can be retried.",
    )
    max_rows: int = Option(
        500_000, alias="source.max_rows_per_epoch", gt=0, description="Maximum number of messages in an epoch."
    )


RECEIVED = "received_time"
RECEIVED_FIELD = Field(RECEIVED, types.TIMESTAMP, nullable=False)
"""Metadata of every message: when it was received."""

LIMITS = (
    "A receiver in the driver writes all messages into an intake log in the state directory, and makes them durable. "
    "After that, rows between two positions are always the same, so exactly-once sinks have each message once.",
    "A table has one receiver, whatever the parallelism. Messages are removed from the log once the epoch that has "
    "read them is committed, and `intake.retention` has passed.",
    "Another state directory, such as that of a fork, has a log of its own, which begins empty.",
    "On a cluster, the executors must see the state directory.",
)
"""Promises of the intake log: sentences for the reference pages."""
