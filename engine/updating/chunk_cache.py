"""Large chunks that a process has read or written before, so that it need not be handed them in every epoch.

    epoch 1    reads chunk 7 of a bucket, digest d7     from Spark, and keeps it
    epoch 2    writes chunk 8, digest d8                keeps it
    epoch 3    reads chunks 7 and 8                     nothing from Spark

Digests, not numbers: after a restore or a replay chunk 7 may be another one. See
docs/decisions/updating-state-is-kept-in-buckets.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES = 128 << 20
"""In each of Spark's Python processes. A million keys with a count and a sum are 64 MB."""
_ROUNDS_UNUSED = 16
"""After so many rounds in which nobody asked for it a chunk is out of use: merged, or a bucket of another task."""


class RecentChunks:
    """Chunks by the digest of their bytes, so that none is ever taken for another. One that is new makes room for
    itself only among those out of use: what is asked for in turn would else always be pushed out before its turn."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._tables: dict[str, tuple[pa.Table, int]] = {}
        self._bytes = 0
        self._round = 0

    def begin_round(self) -> None:
        """To be called once for every task."""
        self._round += 1

    def get(self, digest: str, load: Callable[[], pa.Table]) -> pa.Table:
        """The chunk with that digest, loaded if it is not here."""
        if digest in self._tables:
            table, _ = self._tables[digest]
            self._tables[digest] = table, self._round
            return table
        table = load()
        self.keep(digest, table)
        return table

    def keep(self, digest: str, table: pa.Table) -> None:
        """Keep a chunk, if there is room for it."""
        if digest in self._tables:
            return
        if self._bytes + table.nbytes > self._most_bytes:
            self._forget_unused()
        if self._bytes + table.nbytes <= self._most_bytes:
            self._tables[digest] = table, self._round
            self._bytes += table.nbytes

    def forget(self, digest: str) -> None:
        """Drop a chunk that is gone."""
        table, _ = self._tables.pop(digest, (None, 0))
        if table is not None:
            self._bytes -= table.nbytes

    def _forget_unused(self) -> None:
        for digest in [name for name, (_, used) in self._tables.items() if used + _ROUNDS_UNUSED < self._round]:
            self.forget(digest)
