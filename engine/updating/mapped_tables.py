"""Tables in files without a name, of which the operating system keeps in memory what is read."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pyarrow as pa

LEAST_FREE = 1 << 30
"""Bytes of a disk that are left to others."""


def mapped(table: pa.Table, folder: Path) -> pa.Table | None:
    """The same table out of a file; None where the disk has no room for it. The file has no name, so it is gone as soon
    as nobody has the table any more, however the process ends."""
    try:
        if shutil.disk_usage(folder).free - table.nbytes < LEAST_FREE:
            return None
        with tempfile.NamedTemporaryFile(dir=folder, prefix="chunk-") as file:
            with pa.ipc.new_stream(file, table.schema) as writer:
                writer.write_table(table)
            file.flush()
            with pa.ipc.open_stream(pa.memory_map(file.name)) as reader:
                return reader.read_all()
    except OSError:  # a full disk: it is read from Spark, as before
        return None
