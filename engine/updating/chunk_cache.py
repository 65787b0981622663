"""Cache of large chunks in a process, so that it need not read them from Spark in every epoch.

    epoch 1    reads chunk 7 of a shard, digest d7      from Spark, and caches it
    epoch 2    writes chunk 8, digest d8                caches it
    epoch 3    reads chunks 7 and 8                     nothing from Spark

The key is a digest and not the number: after a restore or a replay chunk 7 may differ. Chunks beyond the memory limit
are in memory-mapped files. A look-up only reads the pages that it needs. See
docs/decisions/updating-state-is-kept-in-buckets.md.
"""

from __future__ import annotations

import mmap
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

MOST_BYTES = 128 << 20
"""Memory limit per Python process of Spark. A million keys with a count and a sum are 64 MB."""
MOST_BYTES_ON_DISK = 4 << 30
"""Limit of the files. Ten million keys are 640 MB."""
_ROUNDS_UNUSED = 16
"""Number of rounds without use after which a chunk counts as unused: it was merged, or belongs to a shard of another
task."""


@dataclass(slots=True)
class _Kept:
    table: pa.Table
    used: int
    """Round of the last use."""
    is_on_disk: bool


class RecentChunks:
    """Chunks by digest. A new chunk only evicts unused ones: if all are used in turn, evicting the oldest would always
    evict the one that is needed next."""

    def __init__(
        self, most_bytes: int = MOST_BYTES, folder: Path | None = None, most_on_disk: int = MOST_BYTES_ON_DISK
    ) -> None:
        self._most = {False: most_bytes, True: 0 if folder is None else most_on_disk}
        self._bytes = {False: 0, True: 0}
        self._folder = folder
        self._kept: dict[str, _Kept] = {}
        self._round = 0

    def begin_round(self) -> None:
        """Begin a round; to be called once for every task."""
        self._round += 1

    def get(self, digest: str, load: Callable[[], pa.Table]) -> pa.Table:
        """Return the chunk with that digest, loaded if it is not cached."""
        if digest in self._kept:
            kept = self._kept[digest]
            kept.used = self._round
            return kept.table
        return self.keep(digest, load())

    def keep(self, digest: str, table: pa.Table) -> pa.Table:
        """Cache a chunk, if there is room for it; return the cached chunk."""
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
        """Drop a chunk that was deleted."""
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


LEAST_FREE = 1 << 30
"""Bytes of a disk to leave free."""


def mapped(table: pa.Table, folder: Path) -> pa.Table | None:
    """Write the table to an unnamed file and map it into memory; None if the disk has no room for it. The operating
    system deletes the file when the last user closes it, however the process ends."""
    try:
        if shutil.disk_usage(folder).free - table.nbytes < LEAST_FREE:
            return None
        with tempfile.TemporaryFile(dir=folder) as file:  # without a name from the start, where the system can do that
            with pa.ipc.new_stream(file, table.schema) as writer:
                writer.write_table(table)
            file.flush()
            pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        with pa.ipc.open_stream(pa.py_buffer(pages)) as reader:
            return reader.read_all()
    except OSError:  # a full disk: it is read from Spark, as before
        return None
