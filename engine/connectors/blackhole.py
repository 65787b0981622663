"""A sink that drops every row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.connectors.base import Epoch, Options, SinkContext, Table
from engine.connectors.kinds import Connector, SinkKind

if TYPE_CHECKING:
    import pyarrow as pa


class BlackholeOptions(Options):
    """A blackhole has no options."""


class Blackhole:
    """Drops the rows of an epoch."""

    def open(self, epoch: Epoch, task: int) -> Blackhole:
        """Return a writer for one task, which is the sink itself."""
        return self

    def write(self, rows: pa.RecordBatch) -> None:
        """Discard the rows."""

    def close(self) -> bytes:
        """Return an empty message."""
        return b""

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Do nothing: nothing was written, so there is nothing to decide."""


def _open_sink(table: Table, context: SinkContext) -> Blackhole:
    return Blackhole()


BLACKHOLE = Connector(
    name="blackhole",
    summary="Drops every row; useful for measurements and for trying things out.",
    sink=SinkKind(
        options=BlackholeOptions,
        open=_open_sink,
        records_stand_alone=True,
        drops_all=True,
    ),
)
