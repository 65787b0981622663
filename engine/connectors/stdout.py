"""Print rows as lines on the standard output of the driver."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.connectors.base import Epoch, Options, SinkContext, Table
from engine.connectors.kinds import Connector, SinkKind
from engine.formats.base import RecordKind

if TYPE_CHECKING:
    from engine.connectors.line_writer import LineWriter


class StdoutOptions(Options):
    """Standard output has no options."""


class Stdout:
    """Prints an epoch's rows when it is committed. They are printed twice only if the process died while printing."""

    def __init__(self, table: Table, context: SinkContext) -> None:
        self._table = table
        self._directory = context.directory

    def open(self, epoch: Epoch, task: int) -> LineWriter:
        """Return a writer of one segment."""
        from engine.connectors.line_writer import line_writer  # noqa: PLC0415 - checks must not pay for Arrow

        return line_writer(self._table, self._directory, epoch, task)

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Print the epoch's segments."""
        from engine.delivery.file_ledger import permit_at_least_once  # noqa: PLC0415 - see `open`
        from engine.delivery.segments import drop_segments, from_messages, open_segment  # noqa: PLC0415

        permit = permit_at_least_once(self._directory, epoch)
        if permit is None:
            drop_segments(self._directory, epoch)
            return
        segments = from_messages(messages)
        for segment in segments:
            with open_segment(self._directory / segment.path) as lines:
                sys.stdout.write(lines.read().decode())
        sys.stdout.flush()
        permit.record(sum(segment.rows for segment in segments))
        drop_segments(self._directory, epoch)


STDOUT = Connector(
    name="stdout",
    summary="Prints each row as a line on standard output.",
    sink=SinkKind(
        options=StdoutOptions,
        open=Stdout,
        redirect=lambda options, prefix: options,  # every driver has its own
        records_stand_alone=True,
    ),
    carries=frozenset({RecordKind.JSON, RecordKind.TEXT}),
    default_format="json",
)
