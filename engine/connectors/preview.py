"""The last rows of a query, kept for whoever looks on.

rows = 3; epoch 7 has brought a and b, epoch 8 brings c and d

    #2          how many rows there were in all, then the newest of them         #4
    a                                                                            b
    b                                                                            c
                                                                                 d

Whoever has seen two rows is shown c and d: the newest two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field as Option

from engine.connectors.base import Connector, Epoch, Options, SinkContext, Table
from engine.formats.base import RecordKind

if TYPE_CHECKING:
    from engine.connectors.line_writer import LineWriter


PREVIEW_FILE = "preview.jsonl"


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
        kept = read_preview(self._directory)
        lines, total = list(kept.lines), kept.total
        segments = from_messages(messages)
        for segment in segments:
            fresh = (self._directory / segment.path).read_bytes().splitlines()
            total += len(fresh)
            lines = [*lines, *fresh][-self._table.options.rows :]
        if segments:
            head = b"#%d\n" % total
            replace_durably(_preview_file(self._directory), head + b"".join(line + b"\n" for line in lines))
        permit.record(sum(segment.rows for segment in segments))
        drop_segments(self._directory, epoch)


@dataclass(frozen=True, slots=True)
class PreviewRows:
    """The newest rows of a preview sink as lines, and how many rows it was given in all."""

    total: int
    lines: tuple[bytes, ...]

    def after(self, seen: int) -> tuple[bytes, ...]:
        """The rows that are new to somebody who has seen so many; all of them if there were never so many."""
        fresh = self.total - seen if 0 <= seen <= self.total else self.total
        return self.lines[-fresh:] if fresh else ()


def read_preview(directory: Path) -> PreviewRows:
    """The rows that a preview sink with this directory has kept; none before its first."""
    try:
        lines = tuple(_preview_file(directory).read_bytes().splitlines())
    except FileNotFoundError:
        return PreviewRows(0, ())
    if lines and lines[0].startswith(b"#"):
        return PreviewRows(int(lines[0][1:]), lines[1:])
    return PreviewRows(len(lines), lines)  # an earlier version did not count


def _preview_file(directory: Path) -> Path:
    return directory / PREVIEW_FILE


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
