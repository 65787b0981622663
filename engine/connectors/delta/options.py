"""The options of a Delta table."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field as Option

from engine.connectors.files.sink_options import TimedFileSinkOptions
from engine.connectors.files.storage import Location, StorageOptions, WritablePath, read_location


class DeltaOptions(TimedFileSinkOptions, StorageOptions):
    """Location of the table, layout of its files, and when a file becomes final: with every epoch, unless a
    `rolling_policy` is set. Each time the table gets a new version. Rows in files that are not final are stored with
    the pipeline's state."""

    added: ClassVar[frozenset[str]] = frozenset({"time_pattern", "watermark_expiration"})

    path: WritablePath = Option(
        description="Directory of the table, which is created if it does not exist; or a bucket: "
        "`s3://bucket/prefix`, or on another server `s3::https://endpoint/bucket/prefix`."
    )

    @property
    def location(self) -> Location:
        """Return the location of `path`."""
        return read_location(self.path)
