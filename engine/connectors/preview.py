"""The last rows of a query, kept for whoever looks on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field as Option

from engine.connectors.base import Connector, Epoch, Options, SinkContext, Table
from engine.formats.base import RecordKind

if TYPE_CHECKING:
    from engine.connectors.line_writer import LineWriter


class PreviewOptions(Options):
    """How much to keep."""

    rows: int = Option(1000, ge=1, description="Number of newest rows to keep.")


class Preview:
    """Keeps the newest rows as JSON lines in the sink's own directory."""

    def __init__(self, table: Table, context: SinkContext) -> None:
        self._table = table
        self._directory = context.directory

    def open(self, epoch: Epoch, task: int) -> LineWriter:
        """A writer of one segment."""
        from engine.connectors.line_writer import line_writer  # noqa: PLC0415 - checks must not pay for Arrow

        return line_writer(self._table, self._directory, epoch, task)

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Put the epoch's rows behind those that are kept, and let the oldest go."""
        from engine.delivery.durable import replace_durably  # noqa: PLC0415 - see `open`
        from engine.delivery.file_ledger import permit_at_least_once  # noqa: PLC0415
        from engine.delivery.segments import drop_segments, from_messages  # noqa: PLC0415

        assert isinstance(self._table.options, PreviewOptions)
        permit = permit_at_least_once(self._directory, epoch)
        if permit is None:
            drop_segments(self._directory, epoch)
            return
        path = preview_file(self._directory)
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        segments = from_messages(messages)
        for segment in segments:
            lines += (self._directory / segment.path).read_bytes().splitlines(keepends=True)
        if segments:
            replace_durably(path, b"".join(lines[-self._table.options.rows :]))
        permit.record(sum(segment.rows for segment in segments))
        drop_segments(self._directory, epoch)


def preview_file(directory: Path) -> Path:
    """Where a preview sink with this directory keeps its rows."""
    return directory / "preview.jsonl"


PREVIEW = Connector(
    name="preview",
    summary="Keeps the newest rows for the control plane to show.",
    options={"sink": PreviewOptions},
    carries=frozenset({RecordKind.JSON}),
    default_format="json",
    open_sink=Preview,
    hidden=True,
    only_shows=True,
)
