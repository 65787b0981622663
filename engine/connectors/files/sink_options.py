"""Options for written files: partitioning, rolling policy and names."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import ClassVar

from pydantic import Field as Option
from pydantic import field_validator, model_validator

from engine.connectors.base import Options
from engine.connectors.existing import Existing, existing_option
from engine.connectors.files.names import Strategy
from engine.delivery.rolling import RollingPolicy
from engine.values.option_values import ByteCount


class FileSinkOptions(Options):
    """Options for the distribution of rows over files."""

    changeable: ClassVar[frozenset[str]] = frozenset({"existing"})

    existing: Existing = existing_option("keeps existing files, and adds to them")
    fields: tuple[str, ...] = Option(
        (),
        alias="partitioning.fields",
        description="Columns to partition by; each value becomes a directory `column=value`.",
    )
    file_size: ByteCount | None = Option(
        None,
        gt=0,
        alias="rolling_policy.file_size",
        description="Size at which a file becomes final. It may grow beyond that by the rows of one epoch.",
    )
    interval: timedelta | None = Option(
        None, alias="rolling_policy.interval", description="How long after its first row a file becomes final."
    )
    inactivity_interval: timedelta | None = Option(
        None,
        alias="rolling_policy.inactivity_interval",
        description="How long after its last row a file becomes final.",
    )
    shuffle_by_partition: bool = Option(
        False,
        alias="shuffle_by_partition.enabled",
        description="Accepted for compatibility and ignored: all tasks always write into one file per directory.",
    )
    prefix: str = Option("", alias="filename.prefix", description="Beginning of every file name.")
    suffix: str | None = Option(
        None, alias="filename.suffix", description="End of every file name, instead of the format's own suffix."
    )
    strategy: Strategy = Option(
        "serial",
        alias="filename.strategy",
        description="What the rest of a file name is: the number of the epoch, or a random id. Names with "
        "`uuid_v7` and `ulid` sort by time.",
    )

    @property
    def policy(self) -> RollingPolicy:
        """Return the policy that finishes files."""
        return RollingPolicy(self.file_size, self.interval, self.inactivity_interval)

    @property
    def wakes_after(self) -> timedelta | None:
        """Return how long the input may be silent before an epoch is needed to finish files."""
        waits = [wait for wait in (self.interval, self.inactivity_interval) if wait is not None]
        return max(min(waits) / 2, timedelta(seconds=1)) if waits else None

    @field_validator("interval", "inactivity_interval")
    @classmethod
    def _is_positive(cls, value: timedelta | None) -> timedelta | None:
        if value is not None and value <= timedelta(0):
            raise ValueError("must be greater than zero")
        return value

    @field_validator("prefix", "suffix")
    @classmethod
    def _is_name(cls, value: str | None) -> str | None:
        if value is not None and "/" in value:
            raise ValueError("must be a part of a file name, without '/'")
        return value


class TimedFileSinkOptions(FileSinkOptions):
    """The options of file sinks, with directories named by event time."""

    time_pattern: str | None = Option(
        None,
        alias="partitioning.time_pattern",
        description="Directory for each event time, as a `strftime` pattern such as `%Y/%m/%d`.",
    )
    watermark_expiration: bool | None = Option(
        None,
        alias="rolling_policy.watermark_expiration",
        description="Whether the files of a time directory become final when the watermark has passed its "
        "end. The default is true if another `rolling_policy` keeps files open.",
    )

    @property
    def policy(self) -> RollingPolicy:
        """Return the policy that finishes files."""
        policy = super().policy
        if self.watermark_expiration is None:
            return replace(policy, at_watermark=self.time_pattern is not None and not policy.is_every_epoch)
        return replace(policy, at_watermark=self.watermark_expiration)

    @field_validator("time_pattern")
    @classmethod
    def _stays_inside(cls, value: str | None) -> str | None:
        if value is not None and (value.startswith("/") or ".." in value.split("/")):
            raise ValueError("must name a directory below `path`")
        return value

    @model_validator(mode="after")
    def _time_is_known(self) -> TimedFileSinkOptions:
        if self.watermark_expiration and self.time_pattern is None:
            raise ValueError("'rolling_policy.watermark_expiration' needs 'partitioning.time_pattern'")
        return self


class MarkedFileSinkOptions(TimedFileSinkOptions):
    """The options of file sinks whose time directories are marked once they are complete."""

    complete_marker: bool = Option(
        True,
        alias="partitioning.complete_marker",
        description="Whether an empty file `_SUCCESS` is added to a time directory when the watermark has "
        "passed its end and all its files are final. Rows that arrive later, if the query lets "
        "them through, are still added to it.",
    )
