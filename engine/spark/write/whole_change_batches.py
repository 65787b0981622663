"""Delay changelog rows on their way to a sink until the rows of one change are in the same batch.

    input batches    -(1, a)  +(1, b)  -(2, c)     +(2, d)  -(3, e)        with the ids 1, 2 and 3
    output batches   -(1, a)  +(1, b)              -(2, c)  +(2, d)        and the rows of 3 at the end

A sink folds the changelog rows of a batch by id: a retraction alone would become a deletion, and its insert a creation.
See docs/decisions/changes-are-folded-at-the-sink.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.plan.tree import ROW_ID

if TYPE_CHECKING:
    import pyarrow as pa

    from engine.connectors.base import SegmentWriter

MOST_ROWS = 131_072
"""Number of rows to collect before some are written: a batch is in memory as a whole."""


class WholeChanges:
    """Passes large batches to a writer, and never separates a retraction from the insert that follows it."""

    def __init__(self, writer: SegmentWriter) -> None:
        self._writer = writer
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0

    def write(self, rows: pa.RecordBatch) -> None:
        """Take some rows."""
        self._waiting.append(rows)
        self._rows += rows.num_rows
        if self._rows >= MOST_ROWS:
            whole = self._together()
            ids = whole.column(ROW_ID).to_numpy(zero_copy_only=False)
            earlier = (ids != ids[-1]).nonzero()[0]
            cut = int(earlier[-1]) + 1 if len(earlier) else whole.num_rows
            self._writer.write(whole.slice(0, cut))
            self._waiting, self._rows = [whole.slice(cut)], whole.num_rows - cut

    def close(self) -> bytes:
        """Write the rest, and return the messages of all that was written."""
        if self._rows:
            self._writer.write(self._together())
        return self._writer.close()

    def _together(self) -> pa.RecordBatch:
        import pyarrow as pa  # noqa: PLC0415 - only tasks need it

        return pa.concat_batches(self._waiting)
