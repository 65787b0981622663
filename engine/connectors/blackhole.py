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
        """Return a writer for one task; nothing distinguishes it from the sink."""
        return self

    def write(self, rows: pa.RecordBatch) -> None:
        """Forget the rows."""

    def close(self) -> bytes:
        """Say nothing."""
        return b""

    def commit(self, epoch: Epoch, messages: Sequence[bytes]) -> None:
        """Nothing was written, so nothing is to be decided."""


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
