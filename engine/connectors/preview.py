"""Sink of a preview: stores the last rows of a query for display.

rows = 3; epoch 7 has emitted a and b, epoch 8 emits c and d

    #2          number of rows in total, then the newest of them         #4
    a                                                                    b
    b                                                                    c
                                                                         d

A client that has seen two rows gets c and d: the newest two. The file is limited to `MOST_BYTES`, whatever `rows` is,
since it is read as a whole at every epoch and by every client.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field as Option

from engine.connectors.base import Epoch, Options, SinkContext, Table
from engine.connectors.kinds import Connector, SinkKind
from engine.formats.base import RecordKind

if TYPE_CHECKING:
    from engine.connectors.line_writer import LineWriter


PREVIEW_FILE = "preview.jsonl"
MOST_BYTES = 8 * 1024 * 1024


class PreviewOptions(Options):
    """Number of rows to store."""

    rows: int = Option(1000, ge=1, description="Number of newest rows to keep, as far as they fit into 8 MiB.")


class Preview:
    """Stores the newest rows as JSON lines in the sink's own directory."""

    def __init__(self, table: Table, context: SinkContext) -> None:
        self._table = table
        self._directory = context.directory

    def open(self, epoch: Epoch, task: int) -> LineWriter:
        """Return a writer of one segment."""
        from engine.connectors.line_writer import line_writer  # noqa: PLC0415 - checks must not pay for Arrow

        return line_writer(self._table, self._directory, epoch, task)

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Append the epoch's rows to the stored ones, and drop the oldest."""
        from engine.delivery.durable import replace_durably  # noqa: PLC0415 - see `open`
        from engine.delivery.file_ledger import permit_at_least_once  # noqa: PLC0415
        from engine.delivery.segments import drop_segments, from_messages, open_segment  # noqa: PLC0415

        assert isinstance(self._table.options, PreviewOptions)
        permit = permit_at_least_once(self._directory, epoch)
        if permit is None:
            drop_segments(self._directory, epoch)
            return
        before = read_preview(self._directory)
        newest = _Newest(self._table.options.rows, before.total - len(before.lines))
        newest.take(before.lines)
        segments = from_messages(messages)
        for segment in segments:
            with open_segment(self._directory / segment.path) as lines:
                newest.take(lines)
        if segments:
            head = b"#%d\n" % newest.total
            replace_durably(_preview_file(self._directory), head + b"".join(line + b"\n" for line in newest.lines))
        permit.record(sum(segment.rows for segment in segments))
        drop_segments(self._directory, epoch)


@dataclass(slots=True)
class _Newest:
    """The newest lines, up to the limit, and the total number of lines."""

    rows: int | None
    total: int = 0
    lines: deque[bytes] = field(default_factory=deque)
    _bytes: int = 0

    def take(self, lines: Iterable[bytes]) -> None:
        """Append lines, each with or without its line end, and drop the oldest."""
        for line in lines:
            self.total += 1
            self.lines.append(line.rstrip(b"\n"))
            self._bytes += len(self.lines[-1]) + 1
            while self._bytes > MOST_BYTES or (self.rows is not None and len(self.lines) > self.rows):
                self._bytes -= len(self.lines.popleft()) + 1


@dataclass(frozen=True, slots=True)
class PreviewRows:
    """The newest rows of a preview sink as lines, and its total number of rows."""

    total: int
    lines: tuple[bytes, ...]

    def after(self, position: int) -> tuple[bytes, ...]:
        """Return the rows that are new to a reader who has seen that many; all of them if there were never so many."""
        fresh = self.total - position if 0 <= position <= self.total else self.total
        return self.lines[-fresh:] if fresh else ()


def read_preview(directory: Path) -> PreviewRows:
    """Return the stored rows of a preview sink with this directory; none before its first. An earlier version may have
    stored more than are read."""
    newest = _Newest(rows=None)
    try:
        with _preview_file(directory).open("rb") as file:
            head = file.readline(MOST_BYTES)
            if not head.startswith(b"#"):
                file.seek(0)  # an earlier version did not count
            newest.take(file)
    except FileNotFoundError:
        return PreviewRows(0, ())
    return PreviewRows(int(head[1:]) if head.startswith(b"#") else newest.total, tuple(newest.lines))


def _preview_file(directory: Path) -> Path:
    return directory / PREVIEW_FILE


PREVIEW = Connector(
    name="preview",
    summary="Keeps the newest rows for the control plane to show.",
    sink=SinkKind(
        options=PreviewOptions,
        open=Preview,
        records_stand_alone=True,
        only_shows=True,
    ),
    carries=frozenset({RecordKind.JSON}),
    default_format="json",
    hidden=True,
)
