"""The options of a Delta table."""

from __future__ import annotations

from pydantic import Field as Option

from engine.connectors.files.sink_options import FileSinkOptions
from engine.connectors.files.storage import Location, StorageOptions, WritablePath, read_location


class DeltaOptions(FileSinkOptions, StorageOptions):
    """Which table, how rows are spread over its files, and when a file becomes final: with every epoch, unless a
    `rolling_policy` says when. Each time the table gets one more version. Rows of files that are not final are kept
    with the pipeline's state."""

    path: WritablePath = Option(
        description="Directory of the table, which is created if it does not exist; or a bucket: "
        "`s3://bucket/prefix`, or on another server `s3::https://endpoint/bucket/prefix`."
    )

    @property
    def location(self) -> Location:
        """Return the location of `path`."""
        return read_location(self.path)
