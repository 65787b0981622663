"""Encode a single text column as raw text."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


class RawTextEncoder:
    """Encodes text as UTF-8; NULL is an empty record."""

    def encode_lines(self, rows: pa.RecordBatch) -> bytes:
        """Return one line per row, each ended by a newline."""
        values = pc.fill_null(rows.column(0), "")
        if not len(values):
            return b""
        joined = pc.binary_join(pa.ListArray.from_arrays([0, len(values)], values), "\n")[0].as_py()
        return f"{joined}\n".encode()

    def encode_messages(self, rows: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per row."""
        return rows.column(0).cast(pa.binary())
