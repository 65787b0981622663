"""Tables in unnamed, memory-mapped files."""

from __future__ import annotations

import mmap
import shutil
import tempfile
from pathlib import Path

import pyarrow as pa

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
