"""Large chunks that a process has read or written before, so that it need not be handed them in every epoch.

    epoch 1    reads chunk 7 of a bucket, digest d7     from Spark, and keeps it
    epoch 2    writes chunk 8, digest d8                keeps it
    epoch 3    reads chunks 7 and 8                     nothing from Spark

Digests, not numbers: after a restore or a replay chunk 7 may be another one. What finds no room in memory lies in files
that are mapped, out of which only the pages are read that a look-up touches. See
docs/decisions/updating-state-is-kept-in-buckets.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.updating.mapped_tables import mapped

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES = 128 << 20
"""In each of Spark's Python processes. A million keys with a count and a sum are 64 MB."""
MOST_BYTES_ON_DISK = 4 << 30
"""The same in files. Ten million keys are 640 MB."""
_ROUNDS_UNUSED = 16
"""After so many rounds in which nobody asked for it a chunk is out of use: merged, or a bucket of another task."""


@dataclass(slots=True)
class _Kept:
    table: pa.Table
    used: int
    """The round in which it was asked for last."""
    is_on_disk: bool


class RecentChunks:
    """Chunks by the digest of their bytes, so that none is ever taken for another. One that is new makes room for
    itself only among those out of use: what is asked for in turn would else always be pushed out before its turn."""

    def __init__(
        self, most_bytes: int = MOST_BYTES, folder: Path | None = None, most_on_disk: int = MOST_BYTES_ON_DISK
    ) -> None:
        self._most = {False: most_bytes, True: 0 if folder is None else most_on_disk}
        self._bytes = {False: 0, True: 0}
        self._folder = folder
        self._kept: dict[str, _Kept] = {}
        self._round = 0

    def begin_round(self) -> None:
        """To be called once for every task."""
        self._round += 1

    def get(self, digest: str, load: Callable[[], pa.Table]) -> pa.Table:
        """The chunk with that digest, loaded if it is not here."""
        if digest in self._kept:
            kept = self._kept[digest]
            kept.used = self._round
            return kept.table
        return self.keep(digest, load())

    def keep(self, digest: str, table: pa.Table) -> pa.Table:
        """Keep a chunk, if there is room for it; the chunk, as it is kept."""
        if digest in self._kept:
            return self._kept[digest].table
        if not self._has_room(table):
            self._forget_unused()
        if self._has_room(table):
            self._add(digest, table, is_on_disk=False)
        elif self._bytes[True] + table.nbytes <= self._most[True] and self._folder is not None:
            in_file = mapped(table, self._folder)
            if in_file is not None:
                self._add(digest, in_file, is_on_disk=True)
                return in_file
        return table

    def forget(self, digest: str) -> None:
        """Drop a chunk that is gone."""
        kept = self._kept.pop(digest, None)
        if kept is not None:
            self._bytes[kept.is_on_disk] -= kept.table.nbytes

    def _has_room(self, table: pa.Table) -> bool:
        return bool(self._bytes[False] + table.nbytes <= self._most[False])

    def _add(self, digest: str, table: pa.Table, *, is_on_disk: bool) -> None:
        self._kept[digest] = _Kept(table, self._round, is_on_disk)
        self._bytes[is_on_disk] += table.nbytes

    def _forget_unused(self) -> None:
        for digest in [name for name, kept in self._kept.items() if kept.used + _ROUNDS_UNUSED < self._round]:
            self.forget(digest)
